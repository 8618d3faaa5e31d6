/**
 * The counters of svc: plain numbers in objects, looked up by channel, provider or code. `Meters`
 * is the contract for readers; the classes below do the counting.
 */
import type { DeliveryMeters } from './delivery-meters.ts';
import type { Verdict } from '../domain/approval.ts';
import type { BearerFault, Box, Events } from '../domain/event.ts';
import type { FailureKind } from '../domain/failure.ts';
import type { TurnedAwayReason } from '../domain/gate.ts';
import { registeredNameOf, type ChannelKey, type ModelName } from '../domain/ids.ts';
import type { Shortage } from '../domain/remedy.ts';
import type { HealthLevel, Window } from '../domain/health.ts';
import type { BudgetLimit } from '../domain/spend.ts';
import type { GrantMode, ToolOutcome } from '../domain/tool-use.ts';
import { turnOutcomes, type TurnOutcome } from '../domain/trace.ts';
import type { Unread } from '../domain/attachment.ts';
import { later, type SteadyTime } from '../lib/clock.ts';
import { Histogram } from '../lib/histogram.ts';
import { RecentCount, RecentPairs, type RecentPair } from '../lib/sliding-counts.ts';

// Throughput of the last minute, for the diagrams of the pages.

/** The most paths that are counted at once. A configuration has fewer. */
const pathsMax = 2_000;

export class Throughput {
  readonly #accepted = new RecentCount();
  readonly #answered = new RecentPairs(pathsMax);
  readonly #asked = new RecentPairs(pathsMax);

  /** A message came in. */
  accepted(now: SteadyTime): void {
    this.#accepted.add(now);
  }

  /** A brain has finished a message of that channel. */
  answered(channel: ChannelKey, brain: string, now: SteadyTime): void {
    this.#answered.add(registeredNameOf(channel), brain, now);
  }

  /** A call of a brain to a model has ended. */
  asked(brain: string, model: string, now: SteadyTime): void {
    this.#asked.add(brain, model, now);
  }

  perMinute(now: SteadyTime): number {
    return this.#accepted.count(now);
  }

  /** Counts from channels to brains, and from brains to models. */
  ways(now: SteadyTime): ThroughputWays {
    return { answered: this.#answered.count(now), asked: this.#asked.count(now) };
  }
}

type ThroughputWays = {
  readonly answered: readonly RecentPair[];
  readonly asked: readonly RecentPair[];
};

export type Meters = {
  /** Keyed by the registered name of the channel. */
  readonly channels: ReadonlyMap<string, ChannelMeters>;
  /** Keyed by provider. */
  readonly providers: ReadonlyMap<string, ProviderMeters>;
  /** Time from the beginning of streamed calls to their first word, keyed by provider. */
  readonly firstWords: ReadonlyMap<string, Readonly<Histogram>>;
  /** Keyed by the model's name. */
  readonly models: ReadonlyMap<ModelName, ModelMeters>;
  /** Keyed by the brain's name. */
  readonly brains: ReadonlyMap<string, BrainMeters>;
  /** Whether replies arrive, keyed by the registered name of the channel. */
  deliveries(): ReadonlyMap<string, DeliveryMeters>;
  /** Messages accepted in the last minute. */
  perMinute(): number;
  /** Throughput of the last minute, per path. */
  ways(): ThroughputWays;
  /** Tool calls, in no order. */
  readonly tools: ReadonlyMap<string, ToolTally>;
  readonly spend: {
    /** Tokens and cost of calls to models, in no order. */
    readonly tokens: { values(): Iterable<TokenTally> };
    /** The share of prompts that models could take from a cache, in no order. */
    readonly reuse: { values(): Iterable<ReuseTally> };
    /** Warnings for budgets that are nearly used today, or that a call did not fit. */
    readonly budgets: { readonly warnings: readonly BudgetWarning[] };
    /** Calls that did not fit a budget, in no order. */
    readonly refusals: { values(): Iterable<RefusalTally> };
  };
  readonly decisions: Readonly<Record<DecisionKind, number>>;
  readonly faults: number;
  /** Write requests to the admin API, keyed by action, then by the status of the answer. */
  readonly writes: ReadonlyMap<string, ReadonlyMap<number, Tally>>;
  /** Configurations offered while svc runs, keyed by the result. */
  readonly configs: ReadonlyMap<string, Tally>;
  readonly bearersRefused: Readonly<Record<BearerFault, Tally>>;
  readonly shortages: Readonly<Record<Shortage, Tally>>;
  readonly approvals: ApprovalMeters;
  /** Attachments that could not be read, in no order. */
  readonly unread: { values(): Iterable<UnreadTally> };
};

export type UnreadTally = Omit<Unread, 'detail'> & {
  /** The registered name of the channel. */
  readonly channel: string;
  readonly count: number;
};

type Reached = Parameters<Events['budgetReached']>[0];

/** Tokens and cost of the calls of one brain to one model since the start. */
export type TokenTally = {
  readonly brain: string;
  readonly provider: string;
  readonly model: string;
  readonly input: number;
  readonly output: number;
  /** The part of `input` that came from providers' caches, as far as the providers report it. */
  readonly cached: number;
  /** In the currency of the prices; null: the model has no price. */
  readonly cost: number | null;
};

export type RefusalTally = {
  readonly brain: string;
  readonly limit: BudgetLimit;
  readonly count: number;
};

/**
 * `provider`: the share that the provider's cache held, as it reports. `prefix`: the share that
 * repeats the last prompt.
 */
export type ReuseTally = {
  readonly model: string;
  readonly source: 'provider' | 'prefix';
  /** The sum of the shares of all prompts, each 0 to 1. */
  readonly sum: number;
  readonly count: number;
};

/** A warning of one budget. `field` is the config field of the brain. */
export type BudgetWarning = {
  readonly code: 'budget_nearly_used' | 'budget_used_up';
  readonly brain: string;
  readonly field: string;
  readonly limit: Reached['limit'];
  /** The limit's value when it was reached. */
  readonly most: Reached['most'];
  readonly message: string;
  readonly remedy: string;
};

/**
 * `byVerdict` and `waitedMs`: the decisions by this process since its start, and how long their
 * calls waited in all. `waiting` and `oldestAt`: the waiting calls at the last count.
 */
export type ApprovalMeters = {
  readonly byVerdict: Readonly<Record<Verdict, number>>;
  readonly waitedMs: Readonly<Record<Verdict, number>>;
  readonly waiting: number;
  /** When svc asked for the oldest, milliseconds since 1970; null: none waits. */
  readonly oldestAt: number | null;
};

const decisionKinds = turnOutcomes.filter((outcome) => outcome !== 'command');
export type DecisionKind = Exclude<TurnOutcome, 'command'>;

export type ChannelMeters = {
  readonly accepted: number;
  readonly duplicates: number;
  readonly refused: ReadonlyMap<string, Tally>;
  /** Messages turned away by the gate of a messenger, keyed by reason. */
  readonly turnedAway: ReadonlyMap<TurnedAwayReason, Tally>;
  /** Updates confirmed to the platform before svc had stored them. */
  readonly confirmedEarly: number;
  /** Time from acceptance to claim. */
  readonly waited: Readonly<Histogram>;
  /** Time from claim to decision. */
  readonly turns: Readonly<Histogram>;
  /** Time from acceptance to the first word of a growing reply. */
  readonly firstWords: Readonly<Histogram>;
  /** Keyed by the command's name. */
  readonly commands: ReadonlyMap<string, number>;
  readonly delivered: number;
  /** Failed delivery attempts, keyed by reason. */
  readonly failedTries: ReadonlyMap<FailureKind, Tally>;
  readonly deadLetters: Readonly<Record<Box, number>>;
  /** Time from acceptance to the delivered reply. */
  readonly endToEnd: Readonly<Histogram>;
};

/** How long calls took, keyed by their result. */
export type CallMeters = ReadonlyMap<CallResult, { readonly took: Readonly<Histogram> }>;
export type CallResult = 'answer' | FailureKind;

/** The health of a model, provider or brain. Times are in milliseconds since 1970. */
export type Shown = {
  readonly standing: HealthLevel;
  /** When this health began. For `unknown`: since when nothing is known. */
  readonly since: number;
  /** When the last evidence for it came. */
  readonly shownAt: number;
};

/** `last`: the failure that explains the present health. */
export type ModelMeters = {
  readonly provider: string;
  readonly calls: CallMeters;
  readonly shown: Shown;
  readonly last: FailureKind | null;
  readonly window: Window;
  /** Turns of the last five minutes whose reply came from this model. */
  readonly replies: number;
};

export type ProviderMeters = {
  readonly calls: CallMeters;
  /** Derived from the health of all its models in use. */
  readonly shown: Shown;
  readonly last: { readonly reason: FailureKind; readonly model: ModelName } | null;
};

/** Counts turns with an answer as good, and turns without any model's answer as bad. */
export type BrainMeters = { readonly shown: Shown; readonly window: Window };

export type ToolTally = {
  readonly tool: string;
  readonly mode: GrantMode;
  readonly outcome: ToolOutcome;
  readonly count: number;
};
export type Tally = { readonly count: number };

const quietMs = 10_000;

/** Counts a frequent event, and limits its log line to one in ten seconds. */
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

  /** Returns how many lines were left out before this one, and starts again from zero. */
  unsaid(): { unsaid?: number } {
    const unsaid = this.#unsaid;
    this.#unsaid = 0;
    return unsaid === 0 ? {} : { unsaid };
  }
}

export class ChannelCounts implements ChannelMeters {
  readonly name: string;
  accepted = 0;
  duplicates = 0;
  readonly refused = new Map<string, Pace>();
  readonly turnedAway = new Map<TurnedAwayReason, Pace>();
  confirmedEarly = 0;
  readonly waited = new Histogram();
  readonly turns = new Histogram();
  readonly firstWords = new Histogram();
  readonly commands = new Map<string, number>();
  delivered = 0;
  readonly failedTries = new Map<FailureKind, Pace>();
  readonly deadLetters: Record<Box, number> = { in: 0, out: 0 };
  readonly endToEnd = new Histogram();

  constructor(name: string) {
    this.name = name;
  }
}

/** The counters of channels. A bot counts under the registered name. */
export class ChannelTable {
  readonly byName = new Map<string, ChannelCounts>();
  readonly #byKey = new Map<ChannelKey, ChannelCounts>();

  of(key: ChannelKey): ChannelCounts {
    return this.#byKey.get(key) ?? this.#create(key);
  }

  #create(key: ChannelKey): ChannelCounts {
    const name = registeredNameOf(key);
    const counts = entryOf(this.byName, name, () => new ChannelCounts(name));
    this.#byKey.set(key, counts);
    return counts;
  }
}

export function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let entry = map.get(key);
  if (entry === undefined) map.set(key, (entry = make()));
  return entry;
}

/** Whether a result is a failure worth reporting. Calls that svc gave up or never made are not. */
export function isNews(result: CallResult): result is FailureKind {
  return !notNews.has(result);
}

const notNews: ReadonlySet<CallResult> = new Set([
  'answer',
  'cancelled',
  'outranked',
  'over_budget',
]);

export const newDecisions = () =>
  Object.fromEntries(decisionKinds.map((kind) => [kind, 0])) as Record<DecisionKind, number>;
export const newPace = (): Pace => new Pace();
export const newTally = (): { count: number } => ({ count: 0 });
export const newTallies = (): Map<number, { count: number }> => new Map();
