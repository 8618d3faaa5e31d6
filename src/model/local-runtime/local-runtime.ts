/**
 * A model on the local runtime, which may hand a model on to a vendor without saying so in its
 * address. Whatever shows that (the tag's name, the list of models, an answer) is remembered, and
 * nothing private is sent to that model from then on. Until a look at the list has shown that the
 * model is here, a private request waits for one, and fails as the look does.
 */
import { isCloudTag } from '../../domain/cloud-tag.ts';
import { failure, type Failure } from '../../domain/failure.ts';
import { endingsOfBase } from '../../domain/model-habits.ts';
import type { Outcome, Try } from '../../domain/outcome.ts';
import { earlier, later, type SteadyTime } from '../../lib/clock.ts';
import type { HttpResult } from '../../lib/http-client.ts';
import { unlessStopped, type Stop } from '../../lib/stop.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { Model, ModelCheck, ModelRequest, Sees } from '../model.ts';
import { failureOf } from '../errors.ts';
import { answerOfLook, callProvider, failureOfLook, outcomeOf } from '../provider-call.ts';
import { lookAtProvider, refusesPrivate } from '../provider-call.ts';
import type { CallResult, FromWire, RuntimeOptions } from '../provider-call.ts';
import type { RelayDetection } from '../relay-detection.ts';
import { Listening, ThinkingHabit } from '../streaming.ts';
import { LocalStream } from './stream.ts';
import { findTag, fromWire, refusesThink, seesBy, toWire } from './wire.ts';

/** What a look says to who asks whether the model is there, and to a private request. */
type Look = {
  readonly check: ModelCheck;
  /** Why it does not know where the model runs; null: it does. */
  readonly failure: Failure | null;
};

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
  #base: Base;
  /** Where the API may be if it is not where it was said to be; null: nowhere else. */
  #otherBase: Base | null;
  readonly #relay: RelayDetection;
  readonly #thinking: ThinkingHabit;
  /** False once it has refused to be told not to think. */
  #saysThink = true;
  /** The look under way, if any: every private request that needs a look waits for it. */
  #looking: Promise<Look> | null = null;

  constructor(options: RuntimeOptions) {
    this.name = options.name;
    this.modelId = options.modelId;
    this.locality = options.locality;
    this.#options = options;
    this.#base = baseOf(options.baseUrl);
    const shorter = options.baseUrl.replace(endingsOfBase.local_runtime, '');
    this.#otherBase = shorter === options.baseUrl ? null : baseOf(shorter);
    this.#relay = options.relay;
    this.#thinking = new ThinkingHabit(options.modelId);
    if (isCloudTag(options.modelId)) this.#relay.shownAway();
  }

  async ask(request: ModelRequest, stop: Stop): Promise<Outcome> {
    const refused = refusesPrivate(this.#options, request);
    if (refused !== null) return refused;
    const tries: Try[] = [];
    const isPrivate = request.sensitivity === 'private';
    const closed = isPrivate ? await this.#whyClosed(request, stop, tries) : null;
    if (closed !== null) return { kind: 'failed', failure: closed, tries };
    const { onText } = request;
    const askAt = async (base: Base): Promise<CallResult> => {
      const says = this.#saysThink;
      const body = toWire(this.modelId, request, this.#options.outputTokensMax, says);
      const listening =
        onText === undefined ? null : new Listening(new LocalStream(), onText, this.#thinking);
      const call = { url: base.chatUrl, body, fromWire: this.#hear, listening };
      const result = await callProvider(this.#options, call, request, stop, tries);
      const { answer } = result;
      if (!says || answer === null || !refusesThink(answer.status, answer.body)) return result;
      this.#saysThink = false;
      return askAt(base);
    };
    const first = await askAt(this.#base);
    const otherBase = this.#otherBase;
    const isElsewhere = first.answer?.status === 404 && otherBase !== null;
    const { parsed, answer } = isElsewhere ? await askAt(otherBase) : first;
    if (isElsewhere && answer !== null && answer.status !== 404) this.#settleAt(otherBase);
    if (isPrivate && this.#relay.state === 'away') {
      const told = tries.map((one) => ({ ...one, failed: leftMachine.kind }));
      return { kind: 'failed', failure: leftMachine, tries: told };
    }
    return outcomeOf(parsed, tries);
  }

  async check(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<ModelCheck> {
    const isPrivate = sensitivity === 'private';
    const look = isPrivate ? this.#lookNear(deadlineAt) : this.#look(sensitivity, deadlineAt);
    return (await look).check;
  }

  sees(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<Sees> {
    return this.#options.sight.sees(async () => {
      const body = JSON.stringify({ model: this.modelId });
      const url = this.#base.showUrl;
      const look = await lookAtProvider(this.#options, url, sensitivity, deadlineAt, body);
      const told = answerOfLook(look);
      // The model is not there yet.
      if (told === 'unreached' || told.status === 404) return 'unreached';
      return told.status === 200 ? seesBy(told.body) : null;
    });
  }

  readonly #hear: FromWire = (...answer) => {
    const { parsed, namesVendor } = fromWire(...answer);
    if (namesVendor) this.#relay.shownAway();
    return parsed;
  };

  /**
   * Why nothing private may be sent; null where the model was shown to be here. A look may take as
   * long as an answer.
   * @param tries gets one more entry where no look told
   */
  async #whyClosed(
    { deadlineAt }: ModelRequest,
    stop: Stop,
    tries: Try[],
  ): Promise<Failure | null> {
    const { now, steady, timeoutMs } = this.#options;
    const [startedAt, since] = [now(), steady()];
    const ownEnd = earlier(deadlineAt, later(since, timeoutMs));
    // What a look tells that began before this request is old, unless it shows where the model is.
    let isNew = this.#looking === null;
    let told = failure('cancelled');
    while (this.#relay.state === 'unknown' && !stop.stopped) {
      const look = await unlessStopped(this.#looking ?? this.#lookNear(ownEnd), stop);
      told = look?.failure ?? told;
      // Another's look may have had less time than this request has.
      const isShort = told.kind === 'timeout' && steady() < ownEnd;
      if (isNew && !isShort) break;
      isNew = true;
    }
    const { state } = this.#relay;
    if (state !== 'unknown') return state === 'here' ? null : leftMachine;
    const failed = told.kind === 'timeout' && steady() >= deadlineAt ? failure('deadline') : told;
    tries.push({ startedAt, ms: steady() - since, failed: failed.kind });
    return failed;
  }

  /** A look that private requests may wait for. */
  #lookNear(deadlineAt: SteadyTime): Promise<Look> {
    const looking = this.#look('private', deadlineAt).finally(() => {
      if (this.#looking === looking) this.#looking = null;
    });
    this.#looking = looking;
    return looking;
  }

  /** What `GET /api/tags` answers, at the base where it is. */
  async #list(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<HttpResult> {
    const look = ({ tagsUrl }: Base): Promise<HttpResult> =>
      lookAtProvider(this.#options, tagsUrl, sensitivity, deadlineAt);
    const first = await look(this.#base);
    const otherBase = this.#otherBase;
    if (otherBase === null || first.kind === 'fault' || first.status !== 404) return first;
    const second = await look(otherBase);
    if (second.kind === 'answer' && second.status === 200) this.#settleAt(otherBase);
    return second;
  }

  #settleAt(base: Base): void {
    this.#base = base;
    this.#otherBase = null;
  }

  /** One for public requests may go anywhere, so it can show no model to be here. */
  async #look(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<Look> {
    const result = await this.#list(sensitivity, deadlineAt);
    const failed = failureOfLook(result);
    if (failed !== null) return { check: { kind: 'failed', failure: failed }, failure: failed };
    const found = result.kind === 'answer' ? findTag(result.body, this.modelId) : null;
    if (found?.namesVendor === true) this.#relay.shownAway();
    const why = whyUnshown(result, found);
    if (why === null && sensitivity === 'private') this.#relay.shownHere();
    const { state } = this.#relay;
    const runs = state === 'away' ? 'elsewhere' : state;
    const { hasModel = null, others = [] } = found ?? {};
    return {
      check: { kind: 'reached', hasModel, runs, others },
      failure: state === 'unknown' ? why : null,
    };
  }
}

type Base = { readonly chatUrl: URL; readonly tagsUrl: URL; readonly showUrl: URL };

function baseOf(url: string): Base {
  const at = (name: string): URL => new URL(`${url}/api/${name}`);
  return { chatUrl: at('chat'), tagsUrl: at('tags'), showUrl: at('show') };
}

/**
 * Why a look does not show that the runtime has the model; null where it does. A server without
 * this path is another kind of runtime, which hands nothing on: its address tells all there is.
 */
function whyUnshown(result: HttpResult, found: ReturnType<typeof findTag>): Failure | null {
  if (result.kind === 'fault') return failure('answer_too_large', { detail: unshown });
  const { status } = result;
  if (status === 404) return null;
  if (status !== 200 || found === null) return { ...failureOf(status, '', null), detail: unshown };
  return found.hasModel ? null : failure('not_found', { status, detail: unlisted });
}

const unshown = 'the list of models could not be read, so nothing private is sent';
const unlisted = 'the runtime does not list the model, so nothing private is sent to it';
const leftMachine = failure('left_machine');
