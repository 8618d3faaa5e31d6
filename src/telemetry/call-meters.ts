/**
 * The health of models, providers and brains, derived from their recent calls and turns, and the
 * counters of all calls.
 */
import { fiveMinutesMs, minuteMs } from '../lib/durations.ts';
import type { Apology, Decision } from '../domain/decision.ts';
import type { Events, ModelProbeResult } from '../domain/event.ts';
import type { FailureKind } from '../domain/failure.ts';
import type { ModelName } from '../domain/ids.ts';
import {
  healthOfAll,
  holdMs,
  isBetter,
  nextHealth,
  sinceOf,
  type HealthLevel,
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

/** The health of a model, provider or brain before there is any evidence. */
export const unknownHealth: Shown = { standing: 'unknown', since: 0, shownAt: 0 };

/** What fails, and gets no more results for this long, is unknown again. */
const staleMs = { least: minuteMs, most: fiveMinutesMs };

export class HealthTracker {
  shown: Shown = unknownHealth;
  readonly #clock: Clock;
  readonly #troubledFrom: number;
  readonly #counts = new SlidingShare();
  #run = 0;
  #runAt = 0;
  #isSure = false;
  #changedAt = 0;
  /** When the last evidence came, and how long after the one before. */
  #last: { readonly at: number | null; readonly gapMs: number } = { at: null, gapMs: 0 };

  /** @param troubledFrom the share of failures from which the health is `degraded` */
  constructor(clock: Clock, troubledFrom: number) {
    this.#clock = clock;
    this.#troubledFrom = troubledFrom;
  }

  get window(): Window {
    return this.#windowAt(this.#clock.steady());
  }

  /** For how long the present health is shown. */
  get heldMs(): number {
    return this.#clock.steady() - this.#changedAt;
  }

  /** @returns whether this changed the health */
  ended(isGood: boolean, isSure: boolean): boolean {
    const time = this.#clock.steady();
    this.#counts.add(isGood, time);
    if (this.#run === 0 || this.#run > 0 !== isGood) {
      this.#run = 0;
      this.#runAt = time;
    }
    this.#run += isGood ? 1 : -1;
    this.#isSure = isSure;
    // A success leaves `up` unchanged, so the rule need not read the windows.
    const isUp = isGood && this.shown.standing === 'up';
    return this.#see(isUp ? 'up' : this.#next(time), time);
  }

  /**
   * Judges anew what has no new result: a trouble passes, or its evidence is old. What is asked
   * rarely is known for longer.
   * @returns whether this changed the health
   */
  judge(): boolean {
    const { standing, shownAt } = this.shown;
    if (standing === 'up' || standing === 'unknown') return false;
    const time = this.#clock.steady();
    const { at, gapMs } = this.#last;
    if (time - (at ?? 0) >= Math.min(staleMs.most, Math.max(staleMs.least, 2 * gapMs))) {
      return this.#change('unknown', time, shownAt, shownAt);
    }
    const next = this.#next(time);
    return isBetter(next, standing) && this.#change(next, time, this.#clock.now(), shownAt);
  }

  /**
   * Sets the health by evidence that is not a call.
   * @param agoMs how long ago the state began, if svc noticed it only now
   * @returns whether this changed the health
   */
  set(standing: HealthLevel, agoMs = 0): boolean {
    return this.#see(standing, this.#clock.steady(), agoMs);
  }

  /** Drops all evidence: the health is unknown from now on. */
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

  #next(time: SteadyTime): HealthLevel {
    return nextHealth(this.shown.standing, {
      ...this.#windowAt(time),
      run: this.#run,
      runMs: time - this.#runAt,
      heldMs: time - this.#changedAt,
      isSure: this.#isSure,
      troubledFrom: this.#troubledFrom,
    });
  }

  #see(standing: HealthLevel, time: SteadyTime, agoMs = 0): boolean {
    this.#last = { at: time, gapMs: time - (this.#last.at ?? time) };
    const now = this.#clock.now();
    return this.#change(standing, time, now - Math.round(agoMs), now);
  }

  #change(standing: HealthLevel, time: SteadyTime, began: number, shownAt: number): boolean {
    const hasChanged = standing !== this.shown.standing;
    if (hasChanged) this.#changedAt = time;
    this.shown = { standing, since: sinceOf(standing, this.shown, began), shownAt };
    return hasChanged;
  }
}

/**
 * A model is silent once at least `open` calls are open and none has ended for `ms`. The limit is
 * longer for a slow model: `factor` times its slowest answer of the last minutes, since calls may
 * queue at the provider.
 */
const silentAfter = { ms: 10_000, open: 3, factor: 4 };
/** The limit with fewer open calls, or before any answer: the model may just be loading. */
const unsureMs = 60_000;
const latelyMs = 300_000;

/** The open calls of one model. Without them a hanging call would show only when it ends. */
export class OpenCalls {
  #open = 0;
  /** When the last call with evidence ended, or when the first of the open calls began. */
  #lastEvidenceAt = 0;
  #slowest = { at: 0, ms: 0, msBefore: 0 };

  began(time: SteadyTime): void {
    if (this.#open++ === 0) this.#lastEvidenceAt = time;
  }

  /** @param shows whether the end is evidence about the model */
  ended(shows: boolean, time: SteadyTime): void {
    this.#open = Math.max(0, this.#open - 1);
    if (shows) this.#lastEvidenceAt = time;
  }

  /** @param ms how long the answer took */
  answered(ms: number, time: SteadyTime): void {
    this.#expire(time);
    this.#slowest.ms = Math.max(this.#slowest.ms, ms);
  }

  /** @returns for how many milliseconds no open call has ended; null: the model is not silent */
  silentMs(time: SteadyTime): number | null {
    if (this.#open === 0) return null;
    this.#expire(time);
    const { ms, msBefore } = this.#slowest;
    const slowestMs = Math.max(ms, msBefore);
    const isSure = this.#open >= silentAfter.open && slowestMs > 0;
    const limitMs = Math.max(isSure ? silentAfter.ms : unsureMs, silentAfter.factor * slowestMs);
    const silentMs = time - this.#lastEvidenceAt;
    return silentMs < limitMs ? null : silentMs;
  }

  /** Forgets answers older than twice `latelyMs`. */
  #expire(time: SteadyTime): void {
    const { at, ms } = this.#slowest;
    if (time - at < latelyMs) return;
    this.#slowest = { at: time, ms: 0, msBefore: time - at < 2 * latelyMs ? ms : 0 };
  }
}

class CallCounts {
  readonly took = new Histogram();
  readonly pace = new Pace();
}

/**
 * Failures that are no evidence about the provider: svc, the request, or the model's nature caused
 * them.
 */
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

/** Turns without an answer that are no evidence about the models. */
const notOfModels: ReadonlySet<Apology> = new Set<Apology>([
  'no_consensus',
  'over_budget',
  'unfinished',
  'unseen',
  'too_long',
]);

const unreachable: ReadonlySet<CallResult> = new Set(['connect_failed', 'connect_timeout']);
const absent: ReadonlySet<CallResult> = new Set([...unreachable, 'not_found']);
/** Failures that every next call meets again until somebody acts. */
const lasting: ReadonlySet<CallResult> = new Set([
  ...absent,
  'unauthorized',
  'no_credit',
  'far_address',
]);

/**
 * Shares of failures that count as trouble. A failed call is repeated, while a failed turn leaves a
 * message without an answer.
 */
const degradedFrom = { calls: 0.2, turns: 0.05 };

/** This many failures of one kind in a row replace the reported failure. */
const sameInRowMin = 3;

class ModelCounts implements ModelMeters {
  readonly provider: string;
  readonly calls = new Map<CallResult, CallCounts>();
  readonly health: HealthTracker;
  readonly open = new OpenCalls();
  last: FailureKind | null = null;
  #newest: FailureKind | null = null;
  #sameInRow = 0;
  /** A probe found it while a failure had just been shown. */
  #isFound = false;
  readonly #replies = new SlidingShare();
  readonly #clock: Clock;

  constructor(provider: string, clock: Clock) {
    this.provider = provider;
    this.#clock = clock;
    this.health = new HealthTracker(clock, degradedFrom.calls);
  }

  get shown(): Shown {
    return this.health.shown;
  }

  get window(): Window {
    return this.health.window;
  }

  get replies(): number {
    return this.#replies.of(fiveMinutesMs, this.#clock.steady()).good;
  }

  replied(): void {
    this.#replies.add(true, this.#clock.steady());
  }

  /** @returns whether the result is evidence about the model */
  ended(result: CallResult, ms: number): boolean {
    const shows = !noEvidence.has(result);
    this.open.ended(shows, this.#clock.steady());
    if (!shows) return false;
    this.#isFound = false;
    if (result === 'answer') this.open.answered(ms, this.#clock.steady());
    const hasChanged = this.health.ended(result === 'answer', lasting.has(result));
    if (result !== 'answer') this.#failed(result, hasChanged);
    else if (this.shown.standing === 'up') this.last = null;
    return true;
  }

  /**
   * Judges anew as time passes. A model that has fallen silent is `failing`; an answer ends that.
   * @returns whether this changed the health
   */
  judge(): boolean {
    const silentMs = this.open.silentMs(this.#clock.steady());
    if (silentMs !== null) {
      const hasFallen = this.health.set('failing', silentMs);
      if (hasFallen) this.last = 'timeout';
      return hasFallen;
    }
    if (this.#isFound && this.health.heldMs >= holdMs) {
      this.forget();
      return true;
    }
    const hasChanged = this.health.judge();
    const { standing } = this.shown;
    if (standing === 'up' || standing === 'unknown') this.last = null;
    return hasChanged;
  }

  /**
   * When different failures alternate, keeps reporting one of them, so that the report does not
   * change with each call.
   */
  #failed(reason: FailureKind, hasChanged: boolean): void {
    this.#sameInRow = reason === this.#newest ? this.#sameInRow + 1 : 1;
    this.#newest = reason;
    if (hasChanged || this.last === null || this.#sameInRow >= sameInRowMin) this.last = reason;
  }

  /**
   * Applies the result of a probe, which is no answer. A good probe clears only failures that
   * probes can see, and leaves the health unknown.
   * @returns whether this changed the health
   */
  probed(result: ModelProbeResult): boolean {
    const { standing } = this.shown;
    const isAnswering = standing === 'up' || standing === 'degraded';
    if (result === 'there' || result === 'reached') {
      const cleared = result === 'there' ? absent : unreachable;
      if (standing !== 'failing' || this.last === null || !cleared.has(this.last)) return false;
      this.#isFound = true;
      return this.judge();
    }
    if (noEvidence.has(result) || (isAnswering && !unreachable.has(result))) return false;
    this.#isFound = false;
    this.last = result;
    this.health.set('failing');
    return true;
  }

  forget(): void {
    this.last = null;
    this.#isFound = false;
    this.health.forget();
  }
}

class ProviderCounts implements ProviderMeters {
  readonly calls = new Map<CallResult, CallCounts>();
  shown: Shown = unknownHealth;
  last: ProviderMeters['last'] = null;

  /** @param now milliseconds since 1970 */
  setHealth(standing: HealthLevel, now: number): void {
    this.shown = { standing, since: sinceOf(standing, this.shown, now), shownAt: now };
    if (standing === 'up' || standing === 'unknown') this.last = null;
  }
}

class BrainCounts extends HealthTracker implements BrainMeters {
  constructor(clock: Clock) {
    super(clock, degradedFrom.turns);
  }
}

/**
 * The most models with counters of their own. Calls of further models count under their provider
 * alone.
 */
const modelsMax = 500;
/** The most brains with a health. No real configuration has more. */
const brainsMax = 500;

type Named = { readonly name: ModelName; readonly provider: string };

/** The providers and models that svc has called, over several configurations. */
export class CallTable {
  readonly #providers = new Map<string, ProviderCounts>();
  readonly #models = new Map<ModelName, ModelCounts>();
  readonly #brains = new Map<string, BrainCounts>();
  readonly firstWords = new Map<string, Histogram>();
  readonly #clock: Clock;
  #inConfig: ReadonlySet<ModelName> = new Set();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  began({ model, provider }: { model: ModelName; provider: string }): void {
    const ofModel = this.#models.get(model) ?? this.#create(model, provider);
    ofModel?.open.began(this.#clock.steady());
  }

  get providers(): ReadonlyMap<string, ProviderMeters> {
    this.#judge();
    return this.#providers;
  }

  get models(): ReadonlyMap<ModelName, ModelMeters> {
    this.#judge();
    return this.#models;
  }

  get brains(): ReadonlyMap<string, BrainMeters> {
    for (const brain of this.#brains.values()) brain.judge();
    return this.#brains;
  }

  /** A hanging call and a model that is not asked have no end that would trigger this. */
  #judge(): void {
    for (const [name, counts] of this.#models) {
      const before = counts.shown.standing;
      if (!counts.judge()) continue;
      entryOf(this.#providers, counts.provider, newProvider);
      this.#updateProvider(name, before, counts);
    }
  }

  /** @returns the provider's counter for this result */
  ended(e: Parameters<Events['modelAnswered']>[0]): CallCounts {
    const { model, provider, result, ms, firstWordMs } = e;
    const counts = entryOf(this.#providers, provider, newProvider);
    if (firstWordMs !== undefined) {
      entryOf(this.firstWords, provider, newHistogram).observe(firstWordMs);
    }
    const calls = callOf(counts.calls, result);
    calls.took.observe(ms);
    const ofModel = this.#models.get(model) ?? this.#create(model, provider);
    if (ofModel === null) return calls;
    callOf(ofModel.calls, result).took.observe(ms);
    const before = ofModel.shown.standing;
    if (ofModel.ended(result, ms)) this.#updateProvider(model, before, ofModel);
    return calls;
  }

  probed(e: { model: ModelName; provider: string; found: ModelProbeResult }): void {
    const { model, provider, found } = e;
    entryOf(this.#providers, provider, newProvider);
    const ofModel = this.#models.get(model) ?? this.#create(model, provider);
    const before = ofModel?.shown.standing ?? 'unknown';
    if (ofModel?.probed(found) === true) this.#updateProvider(model, before, ofModel);
  }

  /** A turn that ended because of the policy or a limit is no evidence about the models. */
  decided({ brain, decision }: { brain: string; decision: Decision }): void {
    const isReply = decision.kind === 'reply';
    if (isReply) this.#models.get(decision.model)?.replied();
    else if (notOfModels.has(decision.apology)) return;
    if (this.#brains.size >= brainsMax && !this.#brains.has(brain)) return;
    entryOf(this.#brains, brain, () => new BrainCounts(this.#clock)).ended(isReply, false);
  }

  /**
   * Counters outlive a configuration. Those of a removed model give way only to models of the
   * present configuration. Evidence from calls holds only while every configuration had the model.
   * Evidence from turns holds for one configuration only.
   */
  keep(inConfig: readonly Named[]): void {
    const before = this.#inConfig;
    this.#inConfig = new Set(inConfig.map(({ name }) => name));
    for (const [name, counts] of this.#models) {
      if (!before.has(name) || !this.#inConfig.has(name)) counts.forget();
    }
    for (const [name, counts] of this.#providers) {
      const standing = this.#standingOf(name);
      if (standing !== counts.shown.standing) counts.setHealth(standing, this.#clock.now());
      if (counts.last !== null && !this.#inConfig.has(counts.last.model)) counts.last = null;
    }
    this.#brains.clear();
  }

  /** @param was the model's health until now */
  #updateProvider(
    model: ModelName,
    before: HealthLevel,
    { provider, shown, last }: ModelCounts,
  ): void {
    const counts = this.#providers.get(provider)!;
    if (last !== null) counts.last = { reason: last, model };
    const isSame = before === shown.standing;
    counts.setHealth(
      isSame ? counts.shown.standing : this.#standingOf(provider),
      this.#clock.now(),
    );
  }

  #standingOf(provider: string): HealthLevel {
    const parts: HealthLevel[] = [];
    for (const counts of this.#models.values()) {
      if (counts.provider === provider) parts.push(counts.shown.standing);
    }
    return healthOfAll(parts);
  }

  #create(model: ModelName, provider: string): ModelCounts | null {
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
const newHistogram = (): Histogram => new Histogram();
const newProvider = (): ProviderCounts => new ProviderCounts();
