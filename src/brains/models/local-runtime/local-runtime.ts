/**
 * A model on the local runtime, which may hand a model on to a vendor without saying so in its
 * address. Whatever shows that (the tag's name, the list of models, an answer) is remembered, and
 * nothing private is sent to that model from then on. Until a look at the list has shown that the
 * model is here, a private request waits for one, and fails as the look does. After a minute
 * without a private answer one private request goes first, after a look at the model itself.
 */
import { isCloudTag } from '../../../domain/model-words.ts';
import { failure, type Failure } from '../../../domain/failure.ts';
import { endingsOfBase } from '../../../domain/model-habits.ts';
import type { Outcome, Try } from '../../../domain/outcome.ts';
import { earlier, later, type SteadyTime } from '../../../lib/clock.ts';
import type { HttpResult } from '../../../lib/http-client.ts';
import { unlessStopped, type Stop } from '../../../lib/stop.ts';
import type { Sensitivity } from '../../../domain/sensitivity.ts';
import type { ContextSeen, Model, ModelCheck, ModelRequest, Sees } from '../model.ts';
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
import type { Entry, RelayDetection } from '../relay-detection.ts';
import { Listening, ThinkingHabit } from '../streaming.ts';
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

/** What a look says to who asks whether the model is there, and to a private request. */
type Look = {
  readonly check: ModelCheck;
  /** Why it does not know where the model runs; null: it does. */
  readonly failure: Failure | null;
};

/** What a private call is told before it is sent. */
type Admitted =
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
  /** False once it has refused to be told not to think. */
  #saysThink = true;
  /** The look under way, if any: every private request that needs a look waits for it. */
  #looking: Promise<Look> | null = null;

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
    if (isCloudTag(options.modelId)) this.#relay.shownAway();
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
        const told = tries.map((one) => ({ ...one, failed: leftMachine.kind }));
        return { kind: 'failed', failure: leftMachine, tries: told };
      }
      if (outcome.kind === 'answer') this.#relay.answered(this.#options.steady());
      return outcome;
    } finally {
      if (entry.kind === 'first') entry.over();
    }
  }

  /** @param shown is called when a piece of the answer shows that the model runs here */
  async #call(
    request: ModelRequest,
    stop: Stop,
    tries: Try[],
    shown: () => void = () => {},
  ): Promise<Outcome> {
    const { onText } = request;
    const askAt = async (urls: Urls): Promise<CallResult> => {
      const says = this.#saysThink;
      const { outputTokensMax, contextTokens } = this.#options;
      const body = toWire(this.modelId, request, outputTokensMax, says, contextTokens);
      const stream = new LocalStream();
      let isShown = false;
      const told = (whole: string): void => {
        if (!isShown && namesVendor(stream.fields)) this.#relay.shownAway();
        if (this.#relay.state === 'away' && request.sensitivity === 'private') return;
        if (!isShown) shown();
        isShown = true;
        onText?.(whole);
      };
      const listening = onText === undefined ? null : new Listening(stream, told, this.#thinking);
      const call = { url: urls.chatUrl, body, fromWire: this.#hear, listening };
      const result = await callProvider(this.#options, call, request, stop, tries);
      const { answer } = result;
      if (!says || answer === null || !refusesThink(answer.status, answer.body)) return result;
      this.#saysThink = false;
      return askAt(urls);
    };
    const { parsed } = await this.#base.ask(askAt, ({ answer }) => answer, isThere);
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
      const url = this.#base.urls.showUrl;
      const look = await probeProvider(this.#options, url, sensitivity, deadlineAt, body);
      const told = answerOfProbe(look);
      // The model is not there yet.
      if (told === 'unreached' || told.status === 404) return 'unreached';
      return told.status === 200 ? seesBy(told.body) : null;
    });
  }

  async context(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<ContextSeen | null> {
    const { showUrl, psUrl } = this.#base.urls;
    const body = JSON.stringify({ model: this.modelId });
    const looks = [
      probeProvider(this.#options, showUrl, sensitivity, deadlineAt, body),
      probeProvider(this.#options, psUrl, sensitivity, deadlineAt),
    ];
    const [shown, running] = (await Promise.all(looks)).map((look) => {
      return look.kind === 'answer' && look.status === 200 ? look.body : null;
    });
    return contextBy(shown ?? null, running ?? null, this.modelId);
  }

  readonly #hear: FromWire = (...answer) => {
    const heard = fromWire(...answer);
    if (heard.namesVendor) this.#relay.shownAway();
    return heard.parsed;
  };

  /**
   * Waits until the private call may be sent: the model was shown to be here, and it answered a
   * private call within the last minute, or this is the call that goes first, or that one takes
   * long: then it is sent after a look of its own.
   * @param tries gets one more entry where it waited in vain
   */
  async #enter(request: ModelRequest, stop: Stop, tries: Try[]): Promise<Admitted> {
    const { now, steady, timeoutMs } = this.#options;
    const [startedAt, since] = [now(), steady()];
    const ownEnd = earlier(request.deadlineAt, later(since, timeoutMs));
    const inVain = (why: Failure): Admitted => {
      tries.push({ startedAt, ms: steady() - since, failed: why.kind });
      return { kind: 'closed', failure: why };
    };
    for (;;) {
      const closed = await this.#whyClosed(request, stop, tries);
      if (closed !== null) return { kind: 'closed', failure: closed };
      const entry = this.#relay.enter(steady());
      if (entry.kind === 'go') return entry;
      const looked = async (allowed: Admitted): Promise<Admitted> => {
        const why = await unlessStopped(this.#probeModel(ownEnd), stop);
        if (why === null && !stop.stopped && this.#relay.state === 'here') return allowed;
        if (allowed.kind === 'first') allowed.over();
        if (this.#relay.state === 'away') return { kind: 'closed', failure: leftMachine };
        return inVain(why ?? failure('cancelled'));
      };
      if (entry.kind === 'first') return looked(entry);
      const { deadlines } = this.#options;
      const held = Promise.withResolvers<void>();
      const end = deadlines.at(earlier(entry.endsAt, request.deadlineAt), () => held.resolve());
      await unlessStopped(Promise.race([entry.until, held.promise]), stop);
      end.cancel();
      if (stop.stopped) return inVain(failure('cancelled'));
      if (steady() >= request.deadlineAt) return inVain(failure('deadline'));
      if (steady() >= entry.endsAt) return looked({ kind: 'go' });
    }
  }

  /**
   * What the runtime says of the model itself, just before something private is sent.
   * @returns why nothing may be sent; null: nothing speaks against it
   */
  async #probeModel(deadlineAt: SteadyTime): Promise<Failure | null> {
    const body = JSON.stringify({ model: this.modelId });
    const look = await probeProvider(
      this.#options,
      this.#base.urls.showUrl,
      'private',
      deadlineAt,
      body,
    );
    const failed = failureOfProbe(look);
    if (failed !== null) return failed;
    if (look.kind === 'fault') return failure('answer_too_large', { detail: untold });
    const { status } = look;
    if (status === 200) {
      const isAway = vendorShownBy(look.body);
      if (isAway === true) this.#relay.shownAway();
      return isAway === null ? { ...failureOf(status, '', null), detail: untold } : null;
    }
    // Ollama answers 200 or 404: what refuses the question is none, and its address decides.
    const isRefused = status >= 400 && status < 500 && status !== 408 && status !== 429;
    return isRefused ? null : { ...failureOf(status, '', null), detail: untold };
  }

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

  /** What `GET /api/tags` answers. */
  #list(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<HttpResult> {
    const look = ({ tagsUrl }: Urls): Promise<HttpResult> =>
      probeProvider(this.#options, tagsUrl, sensitivity, deadlineAt);
    return this.#base.ask(look, answerIn, isListed);
  }

  /** One for public requests may go anywhere, so it can show no model to be here. */
  async #look(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<Look> {
    const result = await this.#list(sensitivity, deadlineAt);
    const failed = failureOfProbe(result);
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
const untold = 'what the runtime says of the model could not be read, so nothing private is sent';
const unlisted = 'the runtime does not list the model, so nothing private is sent to it';
const leftMachine = failure('left_machine');
