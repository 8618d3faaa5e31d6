/** A model behind the hosted API, wherever it runs. */
import type { Outcome, Try } from '../../domain/outcome.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { HttpResult } from '../../lib/http-client.ts';
import { endingsOfBase } from '../../domain/model-habits.ts';
import { LoadOnce } from '../../lib/load-once.ts';
import type { Stop } from '../../lib/stop.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { Model, ModelCheck, ModelRequest, Sees } from '../model.ts';
import { answerOfLook, callProvider, failureOfLook, outcomeOf } from '../provider-call.ts';
import { isNotThere, lookAtProvider, refusesPrivate } from '../provider-call.ts';
import type { CallResult, RuntimeOptions } from '../provider-call.ts';
import { Listening, ThinkingHabit } from '../streaming.ts';
import {
  acceptsAll,
  adapted,
  findModel,
  fromWire,
  refusesStream,
  seesBy,
  toWire,
  wantsStream,
} from './wire.ts';

/** Its parser is a package, which a start does without. */
const streams = new LoadOnce(() => import('./stream.ts'));

async function listenTo(
  onText: NonNullable<ModelRequest['onText']>,
  thinking: ThinkingHabit,
): Promise<Listening> {
  const { HostedStream } = await streams.get();
  return new Listening(new HostedStream(), onText, thinking);
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
  #base: Base;
  /** Another base where the API may be, if not at the first; kept once it was found there. */
  #otherBase: Base | null;
  /** What its refusals have shown so far. */
  #accepts = acceptsAll;
  readonly #thinking: ThinkingHabit;
  /** False once it has refused to stream; `always` once it has refused all else. */
  #streams: boolean | 'always' = true;

  constructor(options: RuntimeOptions) {
    this.name = options.name;
    this.modelId = options.modelId;
    this.locality = options.locality;
    this.#options = options;
    this.#base = baseOf(options.baseUrl);
    this.#thinking = new ThinkingHabit(options.modelId);
    this.#otherBase = otherBaseOf(options.baseUrl);
  }

  async ask(asked: ModelRequest, stop: Stop): Promise<Outcome> {
    const request = this.#streams === false ? unstreamed(asked) : asked;
    const refused = refusesPrivate(this.#options, request);
    if (refused !== null) return refused;
    const tries: Try[] = [];
    const first = await this.#askAt(this.#base, request, stop, tries);
    const otherBase = this.#otherBase;
    if (first.answer === null || otherBase === null || !isNotThere(first.answer)) {
      return outcomeOf(first.parsed, tries);
    }
    const { parsed, answer } = await this.#askAt(otherBase, request, stop, tries);
    if (answer !== null && !isNotThere(answer)) this.#settleAt(otherBase);
    return outcomeOf(parsed, tries);
  }

  /** Where it refuses a part of the request that it need not have, it is asked without that. */
  async #askAt(
    { chatUrl: url }: Pick<Base, 'chatUrl'>,
    request: ModelRequest,
    stop: Stop,
    tries: Try[],
  ): Promise<CallResult> {
    const onText = request.onText ?? (this.#streams === 'always' ? heardByNobody : undefined);
    for (let accepts = this.#accepts; ; this.#accepts = accepts) {
      const listening = onText === undefined ? null : await listenTo(onText, this.#thinking);
      const body = toWire(
        this.modelId,
        { ...request, ...(onText && { onText }) },
        this.#options.outputTokensMax,
        accepts,
      );
      const call = { url, body, fromWire, listening };
      const result = await callProvider(this.#options, call, request, stop, tries);
      const { answer, parsed } = result;
      if (answer === null || parsed.kind === 'answer') return result;
      const other = adapted(accepts, request, answer);
      if (other !== null) {
        accepts = other;
      } else if (listening === null && wantsStream(answer.status, answer.body)) {
        this.#streams = 'always';
        return this.#askAt({ chatUrl: url }, request, stop, tries);
      } else if (this.#mayGoWhole(listening) && refusesStream(answer.status, answer.body)) {
        const whole = await this.#askAt({ chatUrl: url }, unstreamed(request), stop, tries);
        // What fails in both ways says nothing of streams.
        if (whole.answer?.status === 200) this.#streams = false;
        return whole;
      } else {
        return result;
      }
    }
  }

  /** Who refuses a whole answer and a stream is asked for neither a third time. */
  #mayGoWhole(listening: Listening | null): boolean {
    return listening !== null && this.#streams !== 'always';
  }

  async check(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<ModelCheck> {
    const result = await this.#list(sensitivity, deadlineAt);
    const failed = failureOfLook(result);
    if (failed !== null) return { kind: 'failed', failure: failed };
    const hasModel = result.kind === 'answer' ? findModel(result.body, this.modelId) : null;
    const runs = this.locality === 'local' ? 'here' : 'elsewhere';
    return { kind: 'reached', hasModel, runs, others: [] };
  }

  sees(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<Sees> {
    return this.#options.sight.sees(async () => {
      const told = answerOfLook(await this.#list(sensitivity, deadlineAt));
      if (told === 'unreached') return told;
      return told.status === 200 ? seesBy(told.body, this.modelId) : null;
    });
  }

  /** What `GET /models` answers, at the base where it is. */
  async #list(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<HttpResult> {
    const look = ({ modelsUrl }: Base): Promise<HttpResult> =>
      lookAtProvider(this.#options, modelsUrl, sensitivity, deadlineAt);
    const first = await look(this.#base);
    const otherBase = this.#otherBase;
    if (otherBase === null || first.kind === 'fault' || !isNotThere(first)) return first;
    const second = await look(otherBase);
    if (second.kind === 'answer' && second.status === 200) this.#settleAt(otherBase);
    return second;
  }

  #settleAt(base: Base): void {
    this.#base = base;
    this.#otherBase = null;
  }
}

const heardByNobody = (): void => {};

function unstreamed({ onText: _onText, ...request }: ModelRequest): ModelRequest {
  return request;
}

type Base = { readonly chatUrl: URL; readonly modelsUrl: URL };

function baseOf(url: string): Base {
  return { chatUrl: new URL(`${url}/chat/completions`), modelsUrl: new URL(`${url}/models`) };
}

/** Where the API may be, if it is not where it was said to be: below `/v1`, or one level up. */
function otherBaseOf(url: string): Base | null {
  const { pathname } = new URL(url);
  if (pathname === '/') return baseOf(`${url}/v1`);
  const shorter = url.replace(endingsOfBase.hosted_runtime, '');
  return shorter === url ? null : baseOf(shorter);
}
