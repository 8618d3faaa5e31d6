/** What the calls of models and the turns of brains showed lately, and all that was counted. */
import { minuteMs } from '../lib/durations.ts';
import type { Apology, Decision } from '../domain/decision.ts';
import type { Found } from '../domain/event.ts';
import type { FailureKind } from '../domain/failure.ts';
import type { ModelName } from '../domain/ids.ts';
import {
  fiveMinutesMs,
  standingOfAll,
  nextStanding,
  type Standing,
  type Window,
} from '../domain/health.ts';
import type { Clock, SteadyTime } from '../lib/clock.ts';
import { Histogram } from '../lib/histogram.ts';
import { SlidingShare } from '../lib/sliding-counts.ts';
import {
  entryOf,
  Pace,
  type BrainMeters,
  type CallResult,
  type ModelMeters,
  type ProviderMeters,
  type Shown,
} from './meters.ts';

/** How something stands, by what ended and whether that went well. */
export const nothing: Shown = { standing: 'unknown', since: 0, shownAt: 0 };

export class Watched {
  shown: Shown = nothing;
  readonly #clock: Clock;
  readonly #troubledFrom: number;
  readonly #counts = new SlidingShare();
  #run = 0;
  #runAt = 0;
  #changedAt = 0;

  /** @param troubledFrom the share of failures from which on it stands as in trouble */
  constructor(clock: Clock, troubledFrom: number) {
    this.#clock = clock;
    this.#troubledFrom = troubledFrom;
  }

  get window(): Window {
    return this.#windowAt(this.#clock.steady());
  }

  /** @returns whether it stands in another way from now on */
  ended(isGood: boolean, isSure: boolean): boolean {
    const time = this.#clock.steady();
    this.#counts.add(isGood, time);
    if (this.#run === 0 || this.#run > 0 !== isGood) {
      this.#run = 0;
      this.#runAt = time;
    }
    this.#run += isGood ? 1 : -1;
    // What goes well leaves what is up as it is: the rule need not look at the windows.
    if (isGood && this.shown.standing === 'up') return this.#become('up', time);
    const standing = nextStanding(this.shown.standing, {
      ...this.#windowAt(time),
      run: this.#run,
      runMs: time - this.#runAt,
      heldMs: time - this.#changedAt,
      isSure,
      troubledFrom: this.#troubledFrom,
    });
    return this.#become(standing, time);
  }

  /**
   * As something shows that is no call.
   * @param agoMs how long ago it began, where that was found out only now
   */
  found(standing: Standing, agoMs = 0): void {
    this.#become(standing, this.#clock.steady(), agoMs);
  }

  /** Nothing is known of it from now on. */
  forget(): void {
    this.#counts.clear();
    this.#run = 0;
    const now = this.#clock.now();
    this.shown = { standing: 'unknown', since: now, shownAt: now };
  }

  #windowAt(time: SteadyTime): Window {
    return {
      minute: this.#counts.of(minuteMs, time),
      fiveMinutes: this.#counts.of(fiveMinutesMs, time),
    };
  }

  #become(standing: Standing, time: SteadyTime, agoMs = 0): boolean {
    const shownAt = this.#clock.now();
    const began = shownAt - Math.round(agoMs);
    const isOther = standing !== this.shown.standing;
    if (isOther) this.#changedAt = time;
    this.shown = { standing, since: isOther ? began : this.shown.since, shownAt };
    return isOther;
  }
}

/**
 * It is silent once so many calls are open and none has ended for so long, and by that factor for
 * longer than its slowest answer of the last minutes: calls wait for each other at the provider.
 */
const silentAfter = { ms: 10_000, open: 3, factor: 4 };
/** With fewer open, or where no answer shows how long one takes: it may just be loading. */
const unsureMs = 60_000;
const latelyMs = 300_000;

/** The open calls of one model: that one hangs would else show only by its end. */
export class OpenCalls {
  #open = 0;
  /** When one ended that shows anything, or the first of those began that are open. */
  #stirredAt = 0;
  #slowest = { at: 0, ms: 0, msBefore: 0 };

  began(time: SteadyTime): void {
    if (this.#open++ === 0) this.#stirredAt = time;
  }

  /** @param shows whether it says anything of the model */
  ended(shows: boolean, time: SteadyTime): void {
    this.#open = Math.max(0, this.#open - 1);
    if (shows) this.#stirredAt = time;
  }

  /** @param ms how long the answer took */
  answered(ms: number, time: SteadyTime): void {
    this.#pass(time);
    this.#slowest.ms = Math.max(this.#slowest.ms, ms);
  }

  /** @returns for how many milliseconds nothing has come of them; null: it is not silent */
  silentMs(time: SteadyTime): number | null {
    if (this.#open === 0) return null;
    this.#pass(time);
    const { ms, msBefore } = this.#slowest;
    const slowestMs = Math.max(ms, msBefore);
    const isSure = this.#open >= silentAfter.open && slowestMs > 0;
    const limitMs = Math.max(isSure ? silentAfter.ms : unsureMs, silentAfter.factor * slowestMs);
    const silentMs = time - this.#stirredAt;
    return silentMs < limitMs ? null : silentMs;
  }

  /** What is older than twice that time is forgotten. */
  #pass(time: SteadyTime): void {
    const { at, ms } = this.#slowest;
    if (time - at < latelyMs) return;
    this.#slowest = { at: time, ms: 0, msBefore: time - at < 2 * latelyMs ? ms : 0 };
  }
}

class CallCounts {
  readonly took = new Histogram();
  readonly pace = new Pace();
}

/** Failures that say nothing of the provider, but of us, the request, or the model's nature. */
const noEvidence: ReadonlySet<CallResult> = new Set<FailureKind>([
  'cancelled',
  'outranked',
  'deadline',
  'context_overflow',
  'filtered',
  'tool_refused',
  'tools_unsupported',
  'pictures_unsupported',
  'picture_refused',
  'tool_call_malformed',
  'left_machine',
  'private_refused',
  'over_budget',
  'fault',
]);

/** Turns without an answer that say nothing of the models. */
const notOfModels: ReadonlySet<Apology> = new Set<Apology>([
  'no_consensus',
  'over_budget',
  'unfinished',
  'unseen',
  'too_long',
]);

const unreached: ReadonlySet<CallResult> = new Set(['connect_failed', 'connect_timeout']);
const absent: ReadonlySet<CallResult> = new Set([...unreached, 'not_found']);
/** What the next call does not get past, as long as nobody does anything. */
const lasting: ReadonlySet<CallResult> = new Set([
  ...absent,
  'unauthorized',
  'no_credit',
  'far_address',
]);

/** A call that fails is made again; a turn that fails leaves a message without an answer. */
const callMetersTroubledFrom = { calls: 0.2, turns: 0.05 };

/** So many failures of one kind in a row take the place of the one that is told. */
const alikeMin = 3;

class ModelCounts implements ModelMeters {
  readonly provider: string;
  readonly calls = new Map<CallResult, CallCounts>();
  readonly watched: Watched;
  readonly open = new OpenCalls();
  last: FailureKind | null = null;
  #newest: FailureKind | null = null;
  #alike = 0;
  readonly #replies = new SlidingShare();
  readonly #clock: Clock;

  constructor(provider: string, clock: Clock) {
    this.provider = provider;
    this.#clock = clock;
    this.watched = new Watched(clock, callMetersTroubledFrom.calls);
  }

  get shown(): Shown {
    return this.watched.shown;
  }

  get window(): Window {
    return this.watched.window;
  }

  get replies(): number {
    return this.#replies.of(fiveMinutesMs, this.#clock.steady()).good;
  }

  replied(): void {
    this.#replies.add(true, this.#clock.steady());
  }

  /** @returns whether the result shows anything of the model */
  ended(result: CallResult, ms: number): boolean {
    const shows = !noEvidence.has(result);
    this.open.ended(shows, this.#clock.steady());
    if (!shows) return false;
    if (result === 'answer') this.open.answered(ms, this.#clock.steady());
    const isOther = this.watched.ended(result === 'answer', lasting.has(result));
    if (result !== 'answer') this.#failed(result, isOther);
    else if (this.shown.standing === 'up') this.last = null;
    return true;
  }

  /** @returns whether it has fallen silent, and stands so from now on; an answer ends that */
  fellSilent(): boolean {
    const silentMs = this.open.silentMs(this.#clock.steady());
    if (silentMs === null || this.shown.standing === 'failing') return false;
    this.last = 'timeout';
    this.watched.found('failing', silentMs);
    return true;
  }

  /** Of failures that take turns one is told, so that it does not change with each call. */
  #failed(reason: FailureKind, isOther: boolean): void {
    this.#alike = reason === this.#newest ? this.#alike + 1 : 1;
    this.#newest = reason;
    if (isOther || this.last === null || this.#alike >= alikeMin) this.last = reason;
  }

  /** A look shows no answer: it takes back what looks can see, and knows nothing of the rest. */
  looked(found: Found): boolean {
    const { standing } = this.shown;
    const isAnswering = standing === 'up' || standing === 'degraded';
    if (found === 'there' || found === 'reached') {
      const over = found === 'there' ? absent : unreached;
      if (standing !== 'failing' || this.last === null || !over.has(this.last)) return false;
      this.forget();
    } else {
      if (noEvidence.has(found) || (isAnswering && !unreached.has(found))) return false;
      this.last = found;
      this.watched.found('failing');
    }
    return true;
  }

  forget(): void {
    this.last = null;
    this.watched.forget();
  }
}

class ProviderCounts implements ProviderMeters {
  readonly calls = new Map<CallResult, CallCounts>();
  shown: Shown = nothing;
  last: ProviderMeters['last'] = null;

  /** @param now milliseconds since 1970 */
  stands(standing: Standing, now: number): void {
    const since = standing === this.shown.standing ? this.shown.since : now;
    this.shown = { standing, since, shownAt: now };
    if (standing === 'up' || standing === 'unknown') this.last = null;
  }
}

class BrainCounts extends Watched implements BrainMeters {
  constructor(clock: Clock) {
    super(clock, callMetersTroubledFrom.turns);
  }
}

/** Calls beyond so many models of one plan count under their provider alone. */
const modelsMax = 500;
/** Of brains beyond so many nothing is told; a plan that has more is no plan of a person's. */
const brainsMax = 500;

type Named = { readonly name: ModelName; readonly provider: string };

/** The providers and models that were asked, over plans that come and go. */
export class AskedCounts {
  readonly #providers = new Map<string, ProviderCounts>();
  readonly #models = new Map<ModelName, ModelCounts>();
  readonly brains = new Map<string, BrainCounts>();
  readonly #clock: Clock;
  #inConfig: ReadonlySet<ModelName> = new Set();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  began({ model, provider }: { model: ModelName; provider: string }): void {
    const ofModel = this.#models.get(model) ?? this.#meet(model, provider);
    ofModel?.open.began(this.#clock.steady());
  }

  get providers(): ReadonlyMap<string, ProviderMeters> {
    this.#noticeSilent();
    return this.#providers;
  }

  get models(): ReadonlyMap<ModelName, ModelMeters> {
    this.#noticeSilent();
    return this.#models;
  }

  /** What hangs has no end that would show it: it is looked for when somebody reads. */
  #noticeSilent(): void {
    for (const [name, counts] of this.#models) {
      const was = counts.shown.standing;
      if (!counts.fellSilent()) continue;
      entryOf(this.#providers, counts.provider, newProvider);
      this.#show(name, was, counts);
    }
  }

  /** @returns where the provider's calls that end so are counted */
  ended(e: { model: ModelName; provider: string; result: CallResult; ms: number }): CallCounts {
    const { model, provider, result, ms } = e;
    const counts = entryOf(this.#providers, provider, newProvider);
    const calls = callOf(counts.calls, result);
    calls.took.observe(ms);
    const ofModel = this.#models.get(model) ?? this.#meet(model, provider);
    if (ofModel === null) return calls;
    callOf(ofModel.calls, result).took.observe(ms);
    const was = ofModel.shown.standing;
    if (ofModel.ended(result, ms)) this.#show(model, was, ofModel);
    return calls;
  }

  looked(e: { model: ModelName; provider: string; found: Found }): void {
    const { model, provider, found } = e;
    entryOf(this.#providers, provider, newProvider);
    const ofModel = this.#models.get(model) ?? this.#meet(model, provider);
    const was = ofModel?.shown.standing ?? 'unknown';
    if (ofModel?.looked(found) === true) this.#show(model, was, ofModel);
  }

  /** A turn that ended as the policy or the bounds have it shows nothing of the models. */
  decided({ brain, decision }: { brain: string; decision: Decision }): void {
    const isReply = decision.kind === 'reply';
    if (isReply) this.#models.get(decision.model)?.replied();
    else if (notOfModels.has(decision.apology)) return;
    if (this.brains.size >= brainsMax && !this.brains.has(brain)) return;
    entryOf(this.brains, brain, () => new BrainCounts(this.#clock)).ended(isReply, false);
  }

  /**
   * Counts are kept over plans: those of a model whose route has gone make room only for models of
   * the plan in use. What calls showed holds only while every plan has had the model, and what
   * turns showed only for one plan.
   */
  keep(inConfig: readonly Named[]): void {
    const before = this.#inConfig;
    this.#inConfig = new Set(inConfig.map(({ name }) => name));
    for (const [name, counts] of this.#models) {
      if (!before.has(name) || !this.#inConfig.has(name)) counts.forget();
    }
    for (const [name, counts] of this.#providers) {
      const standing = this.#standingOf(name);
      if (standing !== counts.shown.standing) counts.stands(standing, this.#clock.now());
      if (counts.last !== null && !this.#inConfig.has(counts.last.model)) counts.last = null;
    }
    this.brains.clear();
  }

  /** @param was how the model stood until now */
  #show(model: ModelName, was: Standing, { provider, shown, last }: ModelCounts): void {
    const counts = this.#providers.get(provider)!;
    if (last !== null) counts.last = { reason: last, model };
    const isSame = was === shown.standing;
    counts.stands(isSame ? counts.shown.standing : this.#standingOf(provider), this.#clock.now());
  }

  #standingOf(provider: string): Standing {
    const parts: Standing[] = [];
    for (const counts of this.#models.values()) {
      if (counts.provider === provider) parts.push(counts.shown.standing);
    }
    return standingOfAll(parts);
  }

  #meet(model: ModelName, provider: string): ModelCounts | null {
    if (this.#models.size >= modelsMax) {
      const leaving = this.#models.keys().find((name) => !this.#inConfig.has(name));
      if (leaving === undefined) return null;
      this.#models.delete(leaving);
    }
    return entryOf(this.#models, model, () => new ModelCounts(provider, this.#clock));
  }
}

function callOf(calls: Map<CallResult, CallCounts>, result: CallResult): CallCounts {
  return entryOf(calls, result, newCalls);
}

const newCalls = (): CallCounts => new CallCounts();
const newProvider = (): ProviderCounts => new ProviderCounts();
