/**
 * A model on the local runtime (Ollama). The runtime may relay a model to a vendor, and its address
 * does not show that.
 *
 * - The tag's name, the list of models, or an answer may show a vendor. From then on, the model
 *   gets no private request.
 * - Before that, a probe of the list must show that the model is here. A private request waits for
 *   the probe, and fails if the probe fails.
 * - After a minute without a private answer, one private request goes first, after a probe of the
 *   model itself.
 */
import { isCloudTag } from '../../../domain/model-words.ts';
import { failure, type Failure } from '../../../domain/failure.ts';
import { endingsOfBase } from '../../../domain/model-habits.ts';
import type { Outcome, Try } from '../../../domain/outcome.ts';
import { earlier, later, type SteadyTime } from '../../../lib/clock.ts';
import type { HttpResult } from '../../../lib/http-client/exchange.ts';
import { unlessStopped, type Stop } from '../../../lib/stop.ts';
import type { Sensitivity } from '../../../domain/sensitivity.ts';
import type { ContextSizes, Model, ModelCheck, ModelRequest, Vision } from '../model.ts';
import {
  BaseUrl,
  isListed,
  isThere,
  answerOfProbe,
  callProvider,
  failureOfProbe,
  outcomeOf,
  probeProvider,
  refusesPrivate,
  answerIn,
  type CallResult,
  type FromWire,
  type RuntimeOptions,
} from '../provider-call.ts';
import { failureOf } from '../errors.ts';
import { callable } from '../parsing.ts';
import type { Entry, RelayDetection } from '../relay-detection.ts';
import { StreamReceiver, ThinkingHabit } from '../streaming.ts';
import {
  LocalStream,
  contextBy,
  findTag,
  fromWire,
  namesVendor,
  refusesThink,
  seesBy,
  toWire,
  vendorShownBy,
} from './wire.ts';

/** The result of a probe of the list of models. */
type ProbeResult = {
  readonly check: ModelCheck;
  /** Why the place of the model is still unknown; null: it is known. */
  readonly failure: Failure | null;
};

/** Whether a private call may be sent. */
type Admission =
  | Exclude<Entry, { readonly kind: 'wait' }>
  | { readonly kind: 'closed'; readonly failure: Failure };

export function createLocalRuntime(options: RuntimeOptions): Model {
  return new LocalRuntime(options);
}

class LocalRuntime implements Model {
  readonly name;
  readonly provider = 'local_runtime';
  readonly modelId;
  readonly locality;
  readonly mayForward = true;
  readonly #options: RuntimeOptions;
  readonly #base: BaseUrl<Urls>;
  readonly #relay: RelayDetection;
  readonly #thinking: ThinkingHabit;
  /** False after the runtime refused the field `think`. */
  #sendsThink = true;
  /** The running probe, if any. All private requests that need a probe wait for it. */
  #probing: Promise<ProbeResult> | null = null;

  constructor(options: RuntimeOptions) {
    this.name = options.name;
    this.modelId = options.modelId;
    this.locality = options.locality;
    this.#options = options;
    const { baseUrl } = options;
    const shorter = baseUrl.replace(endingsOfBase.local_runtime, '');
    this.#base = new BaseUrl(urlsAt(baseUrl), shorter === baseUrl ? null : urlsAt(shorter));
    this.#relay = options.relay;
    this.#thinking = new ThinkingHabit(options.modelId);
    if (isCloudTag(options.modelId)) this.#relay.markAway();
  }

  async ask(request: ModelRequest, stop: Stop): Promise<Outcome> {
    const refused = refusesPrivate(this.#options, request);
    if (refused !== null) return refused;
    return request.sensitivity === 'private'
      ? this.#askPrivately(request, stop)
      : this.#call(request, stop, []);
  }

  async #askPrivately(request: ModelRequest, stop: Stop): Promise<Outcome> {
    const tries: Try[] = [];
    const entry = await this.#enter(request, stop, tries);
    if (entry.kind === 'closed') return { kind: 'failed', failure: entry.failure, tries };
    try {
      const outcome = await this.#call(request, stop, tries, () => {
        this.#relay.answered(this.#options.steady());
        if (entry.kind === 'first') entry.over();
      });
      if (this.#relay.state === 'away') {
        const failedTries = tries.map((one) => ({ ...one, failed: leftMachine.kind }));
        return { kind: 'failed', failure: leftMachine, tries: failedTries };
      }
      if (outcome.kind === 'answer') this.#relay.answered(this.#options.steady());
      return outcome;
    } finally {
      if (entry.kind === 'first') entry.over();
    }
  }

  /** @param shownHere called when a part of the answer shows that the model runs here */
  async #call(
    request: ModelRequest,
    stop: Stop,
    tries: Try[],
    shownHere: () => void = () => {},
  ): Promise<Outcome> {
    const { onText } = request;
    const askAt = async (urls: Urls): Promise<CallResult> => {
      const sendsThink = this.#sendsThink;
      const { outputTokensMax, contextTokens } = this.#options;
      const body = toWire(this.modelId, request, outputTokensMax, sendsThink, contextTokens);
      const stream = new LocalStream();
      let isShown = false;
      const onPart = (whole: string): void => {
        if (!isShown && namesVendor(stream.fields)) this.#relay.markAway();
        if (this.#relay.state === 'away' && request.sensitivity === 'private') return;
        if (!isShown) shownHere();
        isShown = true;
        onText?.(whole);
      };
      const mayCall = callable(request).length > 0;
      const receiver =
        onText === undefined ? null : new StreamReceiver(stream, onPart, this.#thinking, mayCall);
      const call = { url: urls.chatUrl, body, fromWire: this.#parse, receiver };
      const result = await callProvider(this.#options, call, request, stop, tries);
      const { answer } = result;
      if (!sendsThink || answer === null || !refusesThink(answer.status, answer.body))
        return result;
      this.#sendsThink = false;
      return askAt(urls);
    };
    const { parsed } = await this.#base.ask(askAt, ({ answer }) => answer, isThere);
    return outcomeOf(parsed, tries);
  }

  async check(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<ModelCheck> {
    const isPrivate = sensitivity === 'private';
    const probing = isPrivate
      ? this.#probeNear(deadlineAt)
      : this.#probeList(sensitivity, deadlineAt);
    return (await probing).check;
  }

  sees(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<Vision> {
    return this.#options.sight.sees(async () => {
      const body = JSON.stringify({ model: this.modelId });
      const url = this.#base.urls.showUrl;
      const result = await probeProvider(this.#options, url, sensitivity, deadlineAt, body);
      const answer = answerOfProbe(result);
      // 404: the runtime does not have the model yet.
      if (answer === 'unreached' || answer.status === 404) return 'unreached';
      return answer.status === 200 ? seesBy(answer.body) : null;
    });
  }

  async context(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<ContextSizes | null> {
    const { showUrl, psUrl } = this.#base.urls;
    const body = JSON.stringify({ model: this.modelId });
    const probes = [
      probeProvider(this.#options, showUrl, sensitivity, deadlineAt, body),
      probeProvider(this.#options, psUrl, sensitivity, deadlineAt),
    ];
    const [shown, running] = (await Promise.all(probes)).map((result) => {
      return result.kind === 'answer' && result.status === 200 ? result.body : null;
    });
    return contextBy(shown ?? null, running ?? null, this.modelId);
  }

  readonly #parse: FromWire = (...answer) => {
    const chatAnswer = fromWire(...answer);
    if (chatAnswer.namesVendor) this.#relay.markAway();
    return chatAnswer.parsed;
  };

  /**
   * Waits until the private call may be sent. The model must be known to be here, and one of these
   * must be true:
   *
   * - the model answered a private call within the last minute
   * - this call goes first, after a probe
   * - the first call takes too long, and this call has made a probe of its own
   * @param tries gets one more entry if the wait fails
   */
  async #enter(request: ModelRequest, stop: Stop, tries: Try[]): Promise<Admission> {
    const { now, steady, timeoutMs } = this.#options;
    const startedAt = now();
    const since = steady();
    const ownEnd = earlier(request.deadlineAt, later(since, timeoutMs));
    const refusal = (why: Failure): Admission => {
      tries.push({ startedAt, ms: steady() - since, failed: why.kind });
      return { kind: 'closed', failure: why };
    };
    for (;;) {
      const closed = await this.#whyClosed(request, stop, tries);
      if (closed !== null) return { kind: 'closed', failure: closed };
      const entry = this.#relay.enter(steady());
      if (entry.kind === 'go') return entry;
      const afterProbe = async (allowed: Admission): Promise<Admission> => {
        const why = await unlessStopped(this.#probeModel(ownEnd), stop);
        if (why === null && !stop.stopped && this.#relay.state === 'here') return allowed;
        if (allowed.kind === 'first') allowed.over();
        if (this.#relay.state === 'away') return { kind: 'closed', failure: leftMachine };
        return refusal(why ?? failure('cancelled'));
      };
      if (entry.kind === 'first') return afterProbe(entry);
      const { deadlines } = this.#options;
      const waitEnd = Promise.withResolvers<void>();
      const end = deadlines.at(earlier(entry.endsAt, request.deadlineAt), () => waitEnd.resolve());
      await unlessStopped(Promise.race([entry.until, waitEnd.promise]), stop);
      end.cancel();
      if (stop.stopped) return refusal(failure('cancelled'));
      if (steady() >= request.deadlineAt) return refusal(failure('deadline'));
      if (steady() >= entry.endsAt) return afterProbe({ kind: 'go' });
    }
  }

  /**
   * Probes the model itself, just before a private request.
   * @returns why the request may not be sent; null: it may
   */
  async #probeModel(deadlineAt: SteadyTime): Promise<Failure | null> {
    const body = JSON.stringify({ model: this.modelId });
    const result = await probeProvider(
      this.#options,
      this.#base.urls.showUrl,
      'private',
      deadlineAt,
      body,
    );
    const failed = failureOfProbe(result);
    if (failed !== null) return failed;
    if (result.kind === 'fault') return failure('answer_too_large', { detail: unreadableModel });
    const { status } = result;
    if (status === 200) {
      const isAway = vendorShownBy(result.body);
      if (isAway === true) this.#relay.markAway();
      return isAway === null ? { ...failureOf(status, '', null), detail: unreadableModel } : null;
    }
    // Ollama answers 200 or 404. Another runtime refuses the request, and its address decides.
    const isRefused = status >= 400 && status < 500 && status !== 408 && status !== 429;
    return isRefused ? null : { ...failureOf(status, '', null), detail: unreadableModel };
  }

  /**
   * Why no private request may be sent; null: the model is known to be here. A probe may take as
   * long as an answer.
   * @param tries gets one more entry if no probe shows the place of the model
   */
  async #whyClosed(
    { deadlineAt }: ModelRequest,
    stop: Stop,
    tries: Try[],
  ): Promise<Failure | null> {
    const { now, steady, timeoutMs } = this.#options;
    const startedAt = now();
    const since = steady();
    const ownEnd = earlier(deadlineAt, later(since, timeoutMs));
    // A probe that began before this request counts only if it shows the place of the model.
    let isNew = this.#probing === null;
    let probeFailure = failure('cancelled');
    while (this.#relay.state === 'unknown' && !stop.stopped) {
      const result = await unlessStopped(this.#probing ?? this.#probeNear(ownEnd), stop);
      probeFailure = result?.failure ?? probeFailure;
      // The probe of another request may have had less time.
      const isShort = probeFailure.kind === 'timeout' && steady() < ownEnd;
      if (isNew && !isShort) break;
      isNew = true;
    }
    const { state } = this.#relay;
    if (state !== 'unknown') return state === 'here' ? null : leftMachine;
    const failed =
      probeFailure.kind === 'timeout' && steady() >= deadlineAt
        ? failure('deadline')
        : probeFailure;
    tries.push({ startedAt, ms: steady() - since, failed: failed.kind });
    return failed;
  }

  /** A probe for which private requests may wait. */
  #probeNear(deadlineAt: SteadyTime): Promise<ProbeResult> {
    const probing = this.#probeList('private', deadlineAt).finally(() => {
      if (this.#probing === probing) this.#probing = null;
    });
    this.#probing = probing;
    return probing;
  }

  /** Requests `GET /api/tags`. */
  #list(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<HttpResult> {
    const probe = ({ tagsUrl }: Urls): Promise<HttpResult> =>
      probeProvider(this.#options, tagsUrl, sensitivity, deadlineAt);
    return this.#base.ask(probe, answerIn, isListed);
  }

  /** A probe for public requests may go anywhere, so it cannot show that a model is here. */
  async #probeList(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<ProbeResult> {
    const result = await this.#list(sensitivity, deadlineAt);
    const failed = failureOfProbe(result);
    if (failed !== null) return { check: { kind: 'failed', failure: failed }, failure: failed };
    const found = result.kind === 'answer' ? findTag(result.body, this.modelId) : null;
    if (found?.namesVendor === true) this.#relay.markAway();
    const listFailure = listFailureOf(result, found);
    if (listFailure === null && sensitivity === 'private') this.#relay.markHere();
    const { state } = this.#relay;
    const runs = state === 'away' ? 'elsewhere' : state;
    const { hasModel = null, others = [] } = found ?? {};
    return {
      check: { kind: 'reached', hasModel, runs, others },
      failure: state === 'unknown' ? listFailure : null,
    };
  }
}

type Urls = {
  readonly chatUrl: URL;
  readonly tagsUrl: URL;
  readonly showUrl: URL;
  readonly psUrl: URL;
};

function urlsAt(url: string): Urls {
  const at = (name: string): URL => new URL(`${url}/api/${name}`);
  return { chatUrl: at('chat'), tagsUrl: at('tags'), showUrl: at('show'), psUrl: at('ps') };
}

/**
 * Why a probe does not show that the runtime has the model; null: it does. A server without this
 * path is another kind of runtime, which relays nothing, so its address is enough.
 */
function listFailureOf(result: HttpResult, found: ReturnType<typeof findTag>): Failure | null {
  if (result.kind === 'fault') return failure('answer_too_large', { detail: unreadableList });
  const { status } = result;
  if (status === 404) return null;
  if (status !== 200 || found === null)
    return { ...failureOf(status, '', null), detail: unreadableList };
  return found.hasModel ? null : failure('not_found', { status, detail: missingModel });
}

const unreadableList = 'the list of models could not be read, so nothing private is sent';
const unreadableModel =
  'what the runtime says of the model could not be read, so nothing private is sent';
const missingModel = 'the runtime does not list the model, so nothing private is sent to it';
const leftMachine = failure('left_machine');
