/** What svc counts: plain numbers in objects that are looked up by channel, provider or code. */
import type { BearerFault, Box } from './domain/event.ts';
import type { FailureKind } from './domain/failure.ts';
import type { TurnedAwayReason } from './domain/gate.ts';
import { channelTypeOf, type ChannelKey, type ModelName } from './domain/ids.ts';
import type { Shortage } from './domain/shortage.ts';
import type { GrantMode, ToolOutcome } from './domain/tool-use.ts';
import { turnOutcomes, type TurnOutcome } from './domain/trace.ts';
import { later, type SteadyTime } from './lib/clock.ts';
import { Histogram } from './lib/histogram.ts';

export type Meters = {
  /** By channel type. */
  readonly channels: ReadonlyMap<string, ChannelMeters>;
  /** By provider. */
  readonly providers: ReadonlyMap<string, ProviderMeters>;
  /** By the model's name. */
  readonly models: ReadonlyMap<ModelName, ModelMeters>;
  /** Messages accepted in the last minute. */
  perMinute(): number;
  /** Calls of tools, in no order. */
  readonly tools: ReadonlyMap<string, ToolTally>;
  readonly decisions: Readonly<Record<DecisionKind, number>>;
  readonly faults: number;
  /** Uses of the admin API's writes, by what they do, then by the status of the answer. */
  readonly writes: ReadonlyMap<string, ReadonlyMap<number, Tally>>;
  /** Configurations that were to be taken into use while svc runs, by how that ended. */
  readonly configs: ReadonlyMap<string, Tally>;
  readonly bearersRefused: Readonly<Record<BearerFault, Tally>>;
  readonly shortages: Readonly<Record<Shortage, Tally>>;
};

const decisionKinds = turnOutcomes.filter((outcome) => outcome !== 'command');
export type DecisionKind = Exclude<TurnOutcome, 'command'>;

export type ChannelMeters = {
  readonly accepted: number;
  readonly duplicates: number;
  readonly refused: ReadonlyMap<string, Tally>;
  /** Turned away by the gate of a messenger, by reason. */
  readonly turnedAway: ReadonlyMap<TurnedAwayReason, Tally>;
  /** Updates that were confirmed to the platform before they were safe. */
  readonly confirmedEarly: number;
  /** From acceptance to claim. */
  readonly waited: Readonly<Histogram>;
  /** From claim to decision. */
  readonly turns: Readonly<Histogram>;
  /** By the command's name. */
  readonly commands: ReadonlyMap<string, number>;
  readonly delivered: number;
  /** Tries to deliver that failed, by reason. */
  readonly failedTries: ReadonlyMap<FailureKind, Tally>;
  readonly deadLetters: Readonly<Record<Box, number>>;
  /** From acceptance to the delivered reply. */
  readonly endToEnd: Readonly<Histogram>;
};

/** How long calls took, by their result. */
export type CallMeters = ReadonlyMap<CallResult, { readonly took: Readonly<Histogram> }>;
export type CallResult = 'answer' | FailureKind;
export type ModelMeters = { readonly provider: string; readonly calls: CallMeters };
export type ProviderMeters = {
  readonly calls: CallMeters;
  readonly health: ProviderHealth;
  /** When that was last shown, milliseconds since 1970; of no meaning while it is unknown. */
  readonly shownAt: number;
};

/**
 * What the last call with evidence showed, and of which model it was; or a look, where there was no
 * call, or where it shows what no call can succeed against. `since`: milliseconds since 1970.
 */
export type ProviderHealth =
  | { readonly state: 'unknown' }
  | { readonly state: 'up'; readonly since: number }
  | {
      readonly state: 'failing';
      readonly since: number;
      readonly reason: FailureKind;
      readonly model: ModelName;
    };

export type ToolTally = {
  readonly tool: string;
  readonly mode: GrantMode;
  readonly outcome: ToolOutcome;
  readonly count: number;
};
export type Tally = { readonly count: number };

const quietMs = 10_000;

/** Counts what comes more often than it is said, which is once in ten seconds. */
export class Pace {
  count = 0;
  #quietUntil: SteadyTime | null = null;
  #unsaid = 0;

  isDue(now: SteadyTime): boolean {
    if (this.#quietUntil !== null && now < this.#quietUntil) {
      this.#unsaid++;
      return false;
    }
    this.#quietUntil = later(now, quietMs);
    return true;
  }

  /** Tells, once, how many lines were left out before this one. */
  unsaid(): { unsaid?: number } {
    const unsaid = this.#unsaid;
    this.#unsaid = 0;
    return unsaid === 0 ? {} : { unsaid };
  }
}

export class ChannelCounts implements ChannelMeters {
  readonly type: string;
  accepted = 0;
  duplicates = 0;
  readonly refused = new Map<string, Pace>();
  readonly turnedAway = new Map<TurnedAwayReason, Pace>();
  confirmedEarly = 0;
  readonly waited = new Histogram();
  readonly turns = new Histogram();
  readonly commands = new Map<string, number>();
  delivered = 0;
  readonly failedTries = new Map<FailureKind, Pace>();
  readonly deadLetters: Record<Box, number> = { in: 0, out: 0 };
  readonly endToEnd = new Histogram();

  constructor(type: string) {
    this.type = type;
  }
}

/** The counters of channels: a bot is counted under the type of its messenger. */
export class ChannelTable {
  readonly byType = new Map<string, ChannelCounts>();
  readonly #byKey = new Map<ChannelKey, ChannelCounts>();

  of(key: ChannelKey): ChannelCounts {
    return this.#byKey.get(key) ?? this.#meet(key);
  }

  #meet(key: ChannelKey): ChannelCounts {
    const type = channelTypeOf(key);
    const counts = entryOf(this.byType, type, () => new ChannelCounts(type));
    this.#byKey.set(key, counts);
    return counts;
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
  'tools_unsupported',
  'tool_call_malformed',
  'left_machine',
  'private_refused',
  'fault',
]);

/** A provider: reached or not, as its calls show. */
class ProviderCounts implements ProviderMeters {
  readonly calls = new Map<CallResult, CallCounts>();
  health: ProviderHealth = { state: 'unknown' };
  shownAt = 0;

  /** @param now milliseconds since 1970 */
  ended(result: CallResult, model: ModelName, now: number): void {
    if (noEvidence.has(result)) return;
    const { health } = this;
    this.shownAt = now;
    if (result === 'answer') {
      if (health.state !== 'up') this.health = { state: 'up', since: now };
    } else if (health.state !== 'failing') {
      this.health = { state: 'failing', since: now, reason: result, model };
    } else if (health.reason !== result || health.model !== model) {
      this.health = { ...health, reason: result, model };
    }
  }

  /** A look shows no answer: it takes back what looks can see, and knows nothing of the rest. */
  looked(found: 'there' | FailureKind, model: ModelName, now: number): void {
    const { health } = this;
    if (found !== 'there') {
      if (health.state !== 'up' || unreached.has(found)) this.ended(found, model, now);
    } else if (health.state === 'failing' && health.model === model && absent.has(health.reason)) {
      this.health = { state: 'unknown' };
    }
  }
}

const unreached: ReadonlySet<CallResult> = new Set(['connect_failed', 'connect_timeout']);
const absent: ReadonlySet<CallResult> = new Set([...unreached, 'not_found']);

class ModelCounts implements ModelMeters {
  readonly provider: string;
  readonly calls = new Map<CallResult, CallCounts>();

  constructor(provider: string) {
    this.provider = provider;
  }
}

/** Calls beyond so many models of one plan count under their provider alone. */
const modelsMax = 500;

type Named = { readonly name: ModelName; readonly provider: string };

/** The providers and models that were asked, over plans that come and go. */
export class AskedCounts {
  readonly providers = new Map<string, ProviderCounts>();
  readonly models = new Map<ModelName, ModelCounts>();
  #used: ReadonlySet<string> = new Set();
  #inPlan: ReadonlySet<ModelName> = new Set();

  /**
   * @param now milliseconds since 1970
   * @returns where the provider's calls that end so are counted
   */
  ended(
    e: { model: ModelName; provider: string; result: CallResult; ms: number },
    now: number,
  ): CallCounts {
    const { model, provider, result, ms } = e;
    const counts = entryOf(this.providers, provider, newProvider);
    const calls = callOf(counts.calls, result);
    calls.took.observe(ms);
    counts.ended(result, model, now);
    const ofModel = this.models.get(model) ?? this.#meet(model, provider);
    if (ofModel !== null) callOf(ofModel.calls, result).took.observe(ms);
    return calls;
  }

  /** @param now milliseconds since 1970 */
  looked(
    e: { model: ModelName; provider: string; found: 'there' | FailureKind },
    now: number,
  ): void {
    entryOf(this.providers, e.provider, newProvider).looked(e.found, e.model, now);
  }

  /**
   * Counts are kept over plans: those of a model whose route has gone make room only for models of
   * the plan in use. What a provider's calls showed holds only while every plan has had it, and
   * a failure only while the model is asked that failed.
   */
  keep(inPlan: readonly Named[]): void {
    this.#inPlan = new Set(inPlan.map(({ name }) => name));
    const used = new Set(inPlan.map(({ provider }) => provider));
    for (const [name, counts] of this.providers) {
      const { health } = counts;
      const isOver = health.state === 'failing' && !this.#inPlan.has(health.model);
      if (isOver || !used.has(name) || !this.#used.has(name)) counts.health = { state: 'unknown' };
    }
    this.#used = used;
  }

  #meet(model: ModelName, provider: string): ModelCounts | null {
    if (this.models.size >= modelsMax) {
      const leaving = this.models.keys().find((name) => !this.#inPlan.has(name));
      if (leaving === undefined) return null;
      this.models.delete(leaving);
    }
    return entryOf(this.models, model, () => new ModelCounts(provider));
  }
}

function callOf(calls: Map<CallResult, CallCounts>, result: CallResult): CallCounts {
  return entryOf(calls, result, newCalls);
}

const newCalls = (): CallCounts => new CallCounts();

export function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let entry = map.get(key);
  if (entry === undefined) map.set(key, (entry = make()));
  return entry;
}

/** A call that svc itself gave up says nothing. */
export function isNews(result: CallResult): result is FailureKind {
  return result !== 'answer' && result !== 'cancelled' && result !== 'outranked';
}

export const newDecisions = () =>
  Object.fromEntries(decisionKinds.map((kind) => [kind, 0])) as Record<DecisionKind, number>;
export const newPace = (): Pace => new Pace();
const newProvider = (): ProviderCounts => new ProviderCounts();
export const newTally = (): { count: number } => ({ count: 0 });
export const newTallies = (): Map<number, { count: number }> => new Map();
