/** What svc counts: plain numbers in objects that are looked up by channel, provider or code. */
import type { DeliveryMeters } from './delivery-meters.ts';
import type { Verdict } from '../domain/approval.ts';
import type { BearerFault, Box, Events } from '../domain/event.ts';
import type { FailureKind } from '../domain/failure.ts';
import type { TurnedAwayReason } from '../domain/gate.ts';
import { channelTypeOf, type ChannelKey, type ModelName } from '../domain/ids.ts';
import type { Shortage } from '../domain/remedy.ts';
import type { Standing, Window } from '../domain/health.ts';
import type { GrantMode, ToolOutcome } from '../domain/tool-use.ts';
import { turnOutcomes, type TurnOutcome } from '../domain/trace.ts';
import type { Unread } from '../domain/attachment.ts';
import { later, type SteadyTime } from '../lib/clock.ts';
import { Histogram } from '../lib/histogram.ts';
import { RecentCount, RecentPairs, type RecentPair } from '../lib/sliding-counts.ts';

// What went which way in the last minute, for the drawings of the pages.

/** So many ways are counted at once; a configuration has fewer. */
const waysMax = 2_000;

export class Throughput {
  readonly #accepted = new RecentCount();
  readonly #answered = new RecentPairs(waysMax);
  readonly #asked = new RecentPairs(waysMax);

  /** A message came in. */
  accepted(now: SteadyTime): void {
    this.#accepted.add(now);
  }

  /** A brain is done with a message of that channel. */
  answered(channel: ChannelKey, brain: string, now: SteadyTime): void {
    this.#answered.add(channelTypeOf(channel), brain, now);
  }

  /** A brain asked a model, and knows how that ended. */
  asked(brain: string, model: string, now: SteadyTime): void {
    this.#asked.add(brain, model, now);
  }

  perMinute(now: SteadyTime): number {
    return this.#accepted.count(now);
  }

  /** From channel types to brains, and from brains to models. */
  ways(now: SteadyTime): ThroughputWays {
    return { answered: this.#answered.count(now), asked: this.#asked.count(now) };
  }
}

type ThroughputWays = {
  readonly answered: readonly RecentPair[];
  readonly asked: readonly RecentPair[];
};

export type Meters = {
  /** By channel type. */
  readonly channels: ReadonlyMap<string, ChannelMeters>;
  /** By provider. */
  readonly providers: ReadonlyMap<string, ProviderMeters>;
  /** By the model's name. */
  readonly models: ReadonlyMap<ModelName, ModelMeters>;
  /** By the brain's name. */
  readonly brains: ReadonlyMap<string, BrainMeters>;
  /** Whether replies arrive, by channel type. */
  deliveries(): ReadonlyMap<string, DeliveryMeters>;
  /** Messages accepted in the last minute. */
  perMinute(): number;
  /** What went which way in the last minute. */
  ways(): ThroughputWays;
  /** Calls of tools, in no order. */
  readonly tools: ReadonlyMap<string, ToolTally>;
  readonly spend: {
    /** What calls to models used, in no order. */
    readonly tokens: { values(): Iterable<TokenTally> };
    /** How much of their prompts models need not have read anew, in no order. */
    readonly reuse: { values(): Iterable<ReuseTally> };
    /** Of those that are used up or nearly so today. */
    readonly budgets: { readonly warnings: readonly BudgetWarning[] };
  };
  readonly decisions: Readonly<Record<DecisionKind, number>>;
  readonly faults: number;
  /** Uses of the admin API's writes, by what they do, then by the status of the answer. */
  readonly writes: ReadonlyMap<string, ReadonlyMap<number, Tally>>;
  /** Configurations that were to be taken into use while svc runs, by how that ended. */
  readonly configs: ReadonlyMap<string, Tally>;
  readonly bearersRefused: Readonly<Record<BearerFault, Tally>>;
  readonly shortages: Readonly<Record<Shortage, Tally>>;
  readonly approvals: ApprovalMeters;
  /** What came with messages and was not read, in no order. */
  readonly unread: { values(): Iterable<UnreadTally> };
};

export type UnreadTally = Omit<Unread, 'detail'> & {
  /** Its type. */
  readonly channel: string;
  readonly count: number;
};

type Reached = Parameters<Events['budgetReached']>[0];

/** What the calls of one brain to one model used since the start. */
export type TokenTally = {
  readonly brain: string;
  readonly provider: string;
  readonly model: string;
  readonly input: number;
  readonly output: number;
  /** Of `input`, what came from the caches of providers, as far as these tell it. */
  readonly cached: number;
};

/** `provider`: what its cache held, as it tells; `prefix`: the last prompt that came again. */
export type ReuseTally = {
  readonly model: string;
  readonly source: 'provider' | 'prefix';
  /** Of the shares of prompts, each 0 to 1. */
  readonly sum: number;
  readonly count: number;
};

/** `field` is that of the brain. */
export type BudgetWarning = {
  readonly code: 'budget_nearly_used' | 'budget_used_up';
  readonly brain: string;
  readonly field: string;
  readonly limit: Reached['limit'];
  /** What the limit allowed when it was reached. */
  readonly most: Reached['most'];
  readonly message: string;
  readonly remedy: string;
};

/** Decided here since the start; waiting in all, as of the last look. */
export type ApprovalMeters = {
  readonly byVerdict: Readonly<Record<Verdict, number>>;
  readonly waiting: number;
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

/** What was shown and when, in milliseconds since 1970; of no meaning while it is unknown. */
export type Shown = {
  readonly standing: Standing;
  /** Since when it stands so; of what is unknown: since when nothing of it is known. */
  readonly since: number;
  /** When something showed it last. */
  readonly shownAt: number;
};

/** `last`: the failure that it does not stand well for. */
export type ModelMeters = {
  readonly provider: string;
  readonly calls: CallMeters;
  readonly shown: Shown;
  readonly last: FailureKind | null;
  readonly window: Window;
  /** Turns of the last five minutes that it gave the reply of. */
  readonly replies: number;
};

export type ProviderMeters = {
  readonly calls: CallMeters;
  /** By what all of its models showed that are in use. */
  readonly shown: Shown;
  readonly last: { readonly reason: FailureKind; readonly model: ModelName } | null;
};

/** Turns that ended with an answer, and such for which no model gave any. */
export type BrainMeters = { readonly shown: Shown; readonly window: Window };

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

export function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let entry = map.get(key);
  if (entry === undefined) map.set(key, (entry = make()));
  return entry;
}

/** A call that svc itself gave up, or never made, says nothing. */
export function isNews(result: CallResult): result is FailureKind {
  return !silent.has(result);
}

const silent: ReadonlySet<CallResult> = new Set([
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
