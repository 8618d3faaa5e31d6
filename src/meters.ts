/** What svc counts: plain numbers in objects that are looked up by channel, provider or code. */
import type { Decision } from './domain/decision.ts';
import type { BearerFault, Box } from './domain/event.ts';
import type { FailureKind } from './domain/failure.ts';
import type { TurnedAwayReason } from './domain/gate.ts';
import type { GrantMode, ToolOutcome } from './domain/tool-use.ts';
import { Histogram } from './lib/histogram.ts';

export type Meters = {
  /** By channel type. */
  readonly channels: ReadonlyMap<string, ChannelMeters>;
  /** Seconds of model calls, by provider, then by result. */
  readonly models: ReadonlyMap<string, ReadonlyMap<'answer' | FailureKind, ModelMeters>>;
  /** Calls of tools, in no order. */
  readonly tools: ReadonlyMap<string, ToolTally>;
  readonly decisions: Readonly<Record<DecisionKind, number>>;
  readonly faults: number;
  /** Uses of the admin API's writes, by what they do, then by the status of the answer. */
  readonly writes: ReadonlyMap<string, ReadonlyMap<number, Tally>>;
  /** Configurations that were to be taken while svc runs, by how that ended. */
  readonly configs: ReadonlyMap<string, Tally>;
  readonly bearersRefused: Readonly<Record<BearerFault, Tally>>;
};

export type DecisionKind = 'reply' | Extract<Decision, { kind: 'apology' }>['apology'];

export type ChannelMeters = {
  readonly accepted: number;
  readonly duplicates: number;
  readonly refused: ReadonlyMap<string, Tally>;
  /** By the gate of a messenger, by why. */
  readonly turnedAway: ReadonlyMap<TurnedAwayReason, Tally>;
  /** Confirmed to the platform before they were safe. */
  readonly confirmedEarly: number;
  /** From acceptance to claim. */
  readonly waited: Readonly<Histogram>;
  /** From claim to decision. */
  readonly turns: Readonly<Histogram>;
  /** By the command's name. */
  readonly commands: ReadonlyMap<string, number>;
  readonly delivered: number;
  /** Tries to deliver that failed, by why. */
  readonly failedTries: ReadonlyMap<FailureKind, Tally>;
  readonly deadLetters: Readonly<Record<Box, number>>;
  /** From acceptance to the delivered reply. */
  readonly endToEnd: Readonly<Histogram>;
};

export type ModelMeters = { readonly took: Readonly<Histogram> };
export type ToolTally = {
  readonly tool: string;
  readonly mode: GrantMode;
  readonly outcome: ToolOutcome;
  readonly count: number;
};
export type Tally = { readonly count: number };

/** How often something came that is not said each time. */
export class Pace {
  count = 0;
  quietUntil = 0;
  unsaid = 0;
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

export class ModelCounts implements ModelMeters {
  readonly took = new Histogram();
  readonly pace = new Pace();
}

export function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let entry = map.get(key);
  if (entry === undefined) map.set(key, (entry = make()));
  return entry;
}
