/** A model behind an OpenAI-compatible API, on this machine or elsewhere. */
import type { Outcome, Try } from '../../../domain/outcome.ts';
import type { SteadyTime } from '../../../lib/clock.ts';
import type { HttpResult } from '../../../lib/http-client/exchange.ts';
import { endingsOfBase } from '../../../domain/model-habits.ts';
import { LoadOnce } from '../../../lib/load-once.ts';
import type { Stop } from '../../../lib/stop.ts';
import type { Sensitivity } from '../../../domain/sensitivity.ts';
import type { Model, ModelCheck, ModelRequest, Vision } from '../model.ts';
import {
  answerOfProbe,
  callProvider,
  failureOfProbe,
  outcomeOf,
  answerIn,
  probeProvider,
  refusesPrivate,
  BaseUrl,
  isListed,
  isThere,
  type CallResult,
  type RuntimeOptions,
} from '../provider-call.ts';
import { errorIn } from '../errors.ts';
import { callable } from '../parsing.ts';
import { StreamReceiver, ThinkingHabit } from '../streaming.ts';
import {
  acceptsAll,
  adapted,
  findModel,
  fromWire,
  refusesStream,
  seesBy,
  toWire,
  wantsStream,
  type Accepts,
} from './wire.ts';

/** Loaded at its first use, because its parser is a package that a start does not need. */
const streams = new LoadOnce(() => import('./stream.ts'));

async function streamTo(
  onText: NonNullable<ModelRequest['onText']>,
  thinking: ThinkingHabit,
  mayCall: boolean,
): Promise<StreamReceiver> {
  const { HostedStream } = await streams.get();
  return new StreamReceiver(new HostedStream(), onText, thinking, mayCall);
}

export function createHostedRuntime(options: RuntimeOptions): Model {
  return new HostedRuntime(options);
}

class HostedRuntime implements Model {
  readonly name;
  readonly provider = 'hosted_runtime';
  readonly modelId;
  readonly locality;
  readonly mayForward = false;
  readonly #options: RuntimeOptions;
  readonly #base: BaseUrl<Urls>;
  /** The accepted parts of a request, as far as refusals have shown. */
  #accepts = acceptsAll;
  readonly #thinking: ThinkingHabit;
  /** False after the provider refused to stream; `always` after it refused answers without it. */
  #streams: boolean | 'always' = true;

  constructor(options: RuntimeOptions) {
    this.name = options.name;
    this.modelId = options.modelId;
    this.locality = options.locality;
    this.#options = options;
    this.#thinking = new ThinkingHabit(options.modelId);
    const { baseUrl } = options;
    this.#base = new BaseUrl(urlsAt(baseUrl), otherUrls(baseUrl));
  }

  async ask(given: ModelRequest, stop: Stop): Promise<Outcome> {
    const request = this.#streams === false ? unstreamed(given) : given;
    const refused = refusesPrivate(this.#options, request);
    if (refused !== null) return refused;
    const tries: Try[] = [];
    const askAt = (urls: Urls): Promise<CallResult> => this.#askAt(urls, request, stop, tries);
    const { parsed } = await this.#base.ask(askAt, ({ answer }) => answer, isThere);
    return outcomeOf(parsed, tries);
  }

  /** If the provider refuses an optional part of the request, asks again without that part. */
  async #askAt(
    { chatUrl: url }: Pick<Urls, 'chatUrl'>,
    request: ModelRequest,
    stop: Stop,
    tries: Try[],
  ): Promise<CallResult> {
    const onText = request.onText ?? (this.#streams === 'always' ? ignoreText : undefined);
    const mayCall = callable(request).length > 0;
    /** The state before the last change, and the words of that refusal. */
    let before: { readonly accepts: Accepts; readonly words: string } | null = null;
    for (let accepts = this.#accepts; ; this.#accepts = accepts) {
      const receiver =
        onText === undefined ? null : await streamTo(onText, this.#thinking, mayCall);
      const body = toWire(
        this.modelId,
        { ...request, ...(onText && { onText }) },
        this.#options.outputTokensMax,
        accepts,
        this.#cacheKeyFor(request, url),
      );
      const call = { url, body, fromWire, receiver };
      const result = await callProvider(this.#options, call, request, stop, tries);
      const { answer, parsed } = result;
      if (answer === null || parsed.kind === 'answer') return result;
      const other = adapted(accepts, request, answer);
      if (other !== null) {
        before = { accepts, words: errorIn(answer.body).words };
        accepts = other;
      } else if (receiver === null && wantsStream(answer.status, answer.body)) {
        this.#streams = 'always';
        return this.#askAt({ chatUrl: url }, request, stop, tries);
      } else if (this.#mayTryUnstreamed(receiver) && refusesStream(answer.status, answer.body)) {
        const whole = await this.#askAt({ chatUrl: url }, unstreamed(request), stop, tries);
        // A failure with and without a stream says nothing about streams.
        if (whole.answer?.status === 200) this.#streams = false;
        return whole;
      } else {
        // A change without effect is undone: it says nothing about other requests.
        const isVain = before !== null && before.words === errorIn(answer.body).words;
        if (isVain && this.#accepts === accepts) this.#accepts = before!.accepts;
        return result;
      }
    }
  }

  /**
   * Requests with the same key go to the machine with their beginning in its cache
   * (developers.openai.com/api/docs/guides/prompt-caching). Other providers may refuse the field,
   * as Gemini does (picoclaw#790).
   */
  #cacheKeyFor({ sensitivity, conversation }: ModelRequest, { hostname }: URL): string | null {
    if (sensitivity !== 'public' || hostname !== 'api.openai.com') return null;
    return conversation === undefined ? null : this.#options.cacheKeyOf(conversation);
  }

  /** Whether to try without a stream. A provider that refuses both gets no third request. */
  #mayTryUnstreamed(receiver: StreamReceiver | null): boolean {
    return receiver !== null && this.#streams !== 'always';
  }

  async check(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<ModelCheck> {
    const result = await this.#list(sensitivity, deadlineAt);
    const failed = failureOfProbe(result);
    if (failed !== null) return { kind: 'failed', failure: failed };
    const found = result.kind === 'answer' ? findModel(result.body, this.modelId) : null;
    const { hasModel = null, others = [] } = found ?? {};
    const runs = this.locality === 'local' ? 'here' : 'elsewhere';
    return { kind: 'reached', hasModel, runs, others };
  }

  sees(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<Vision> {
    return this.#options.sight.sees(async () => {
      const answer = answerOfProbe(await this.#list(sensitivity, deadlineAt));
      if (answer === 'unreached') return answer;
      return answer.status === 200 ? seesBy(answer.body, this.modelId) : null;
    });
  }

  /** Requests `GET /models`. */
  #list(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<HttpResult> {
    const probe = ({ modelsUrl }: Urls): Promise<HttpResult> =>
      probeProvider(this.#options, modelsUrl, sensitivity, deadlineAt);
    return this.#base.ask(probe, answerIn, isListed);
  }
}

const ignoreText = (): void => {};

function unstreamed({ onText: _onText, ...request }: ModelRequest): ModelRequest {
  return request;
}

type Urls = { readonly chatUrl: URL; readonly modelsUrl: URL };

function urlsAt(url: string): Urls {
  return { chatUrl: new URL(`${url}/chat/completions`), modelsUrl: new URL(`${url}/models`) };
}

/** The second address of the API: below `/v1`, or one level up; null: there is none. */
function otherUrls(url: string): Urls | null {
  const { pathname } = new URL(url);
  if (pathname === '/') return urlsAt(`${url}/v1`);
  const shorter = url.replace(endingsOfBase.hosted_runtime, '');
  return shorter === url ? null : urlsAt(shorter);
}
