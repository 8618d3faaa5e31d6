/**
 * The counts that svc must have for a model, or a sender, by the provider's own list. A call that
 * was answered in a finished turn is exact. A call that was given up, or ended with its process,
 * lies between the provider's count and the reserved amount. Free models are uncertain shortly
 * before a kill: svc gathers their usage for a second before it writes.
 */
import assert from 'node:assert/strict';
import type { TraceStep } from '../../../src/domain/trace.ts';
import type { BrainFacts, ModelFacts } from './brains.ts';
import type { SpendLine } from './deployment.ts';
import { costIn, unitsOf } from './money.ts';
import { senderOf, type Turn } from './people.ts';
import { none, type Call, type Tokens } from './provider.ts';

type ModelStep = Extract<TraceStep, { kind: 'model' }>;

/** A call, and the bounds of svc's count for it. */
type Item = {
  readonly model: string;
  readonly marker: string;
  readonly least: Tokens;
  readonly most: Tokens;
};

/** The turns under way when a process was killed at `at`, and their calls that had arrived. */
export type Killed = {
  readonly at: number;
  readonly turns: readonly string[];
  readonly calls: ReadonlySet<string>;
};

export type Struck = {
  readonly kills: readonly Killed[];
  /** The second for which svc gathers, and the time of a call from arrival to answer. */
  readonly gatheredMs: number;
};

export const callKey = ({ model, marker }: Pick<Call, 'model' | 'marker'>): string =>
  `${marker} ${model}`;

/** The largest difference of two clocks; a start takes longer. */
const clocksMs = 50;

const givenUp: ReadonlySet<string> = new Set(['outranked', 'cancelled', 'deadline']);

export class Bill {
  readonly #brain: BrainFacts;
  readonly #calls: readonly Call[];
  readonly #kills: readonly Killed[];
  readonly #gatheredMs: number;
  readonly items: Item[] = [];
  /** Answered calls of finished turns. */
  exact = 0;
  /** Calls that were given up, killed, or reserved and unknown to the provider. */
  uncertain = 0;

  constructor(
    brain: BrainFacts,
    calls: readonly Call[],
    turns: readonly Turn[],
    { kills, gatheredMs }: Struck,
  ) {
    this.#brain = brain;
    this.#calls = calls;
    this.#kills = kills;
    this.#gatheredMs = gatheredMs;
    const byKey = Map.groupBy(calls, callKey);
    for (const turn of turns) {
      for (const model of brain.models) {
        const own = byKey.get(callKey({ model: model.name, marker: turn.marker })) ?? [];
        this.#add(turn, model, own);
      }
    }
    for (const killed of kills) this.#addKilled(killed, byKey);
    const known = new Set(turns.map(({ marker }) => marker));
    const strangers = calls.filter(({ marker }) => !known.has(marker));
    assert.deepEqual(strangers, [], 'each call is of a message or a trial');
  }

  /** @param lines of `svc spend --by model` */
  assertModels(lines: readonly SpendLine[], isOver: boolean): void {
    for (const { name, price } of this.#brain.models) {
      const items = this.items.filter(({ model }) => model === name);
      const line = lines.find(({ key }) => key === name) ?? nothing(name);
      assertWithin(name, line, items);
      if (isOver) assert.deepEqual(line.open, none, `${name}: nothing is left reserved`);
      if (price === null) continue;
      assert.equal(unitsOf(line.cost ?? '0'), costIn(line.tokens, price), `${name}: its cost`);
      assert.equal(unitsOf(line.openCost ?? '0'), costIn(line.open, price), `${name}: reserved`);
    }
    const names = new Set(this.#brain.models.map(({ name }) => name));
    assert.deepEqual(
      lines.filter(({ key }) => !names.has(key)),
      [],
      'no other model is charged',
    );
  }

  /** Whether the usage of free models is written: at most a second after the last call to one. */
  isWritten(models: readonly SpendLine[], senders: readonly SpendLine[]): boolean {
    const byModel = Map.groupBy(this.items, ({ model }) => model);
    return holdsLeast(models, byModel) && holdsLeast(senders, this.#bySender());
  }

  /** @param lines of `svc spend --by sender` */
  assertSenders(lines: readonly SpendLine[]): void {
    const bySender = this.#bySender();
    for (const [sender, items] of bySender) {
      assertWithin(sender!, lines.find(({ key }) => key === sender) ?? nothing(sender!), items);
    }
    for (const { key } of lines) assert.ok(bySender.has(key), `${key} has written`);
  }

  /** Asserts that the counts of svc and of the provider stay within the budgets of the day. */
  assertBudgets(models: readonly SpendLine[], senders: readonly SpendLine[]): void {
    const { budget, models: facts } = this.#brain;
    const costing = facts.filter(({ price }) => price !== null);
    const lines = costing.map(({ name }) => models.find(({ key }) => key === name));
    const held = lines.reduce((all, line) => all + sizeOf(line?.tokens) + sizeOf(line?.open), 0);
    const money = lines.reduce(
      (all, line) => all + unitsOf(line?.cost ?? '0') + unitsOf(line?.openCost ?? '0'),
      0n,
    );
    const { tokens_per_day, cost_per_day, tokens_per_sender_per_day: ofSender } = budget;
    if (tokens_per_day !== null) assert.ok(held <= tokens_per_day, `${held} of ${tokens_per_day}`);
    if (cost_per_day !== null) {
      assert.ok(money <= unitsOf(String(cost_per_day)), `${money} of ${cost_per_day}`);
    }
    if (ofSender === null) return;
    for (const { key, tokens, open } of senders) {
      assert.ok(sizeOf(tokens) + sizeOf(open) <= ofSender, `${key} is within its own`);
    }
  }

  #add({ marker, trace }: Turn, { name: model, price }: ModelFacts, calls: readonly Call[]): void {
    const since = trace === null ? Infinity : trace.claimedAt - clocksMs;
    const isFree = price === null;
    const last = calls.filter(({ at }) => at >= since);
    for (const call of calls.filter(({ at }) => at < since)) this.#addOpen(call, isFree);
    const steps = (trace?.steps ?? []).filter(
      (step): step is ModelStep => step.kind === 'model' && step.model === model,
    );
    const tries = steps.flatMap((step) => step.tries);
    const isGivenUp = tries.length > 0 && givenUp.has(tries.at(-1)!.failed ?? '');
    const what = `${marker}: ${model} was asked ${last.length} times`;
    if (!isGivenUp) {
      assert.equal(last.length, tries.length, `${what}, not ${JSON.stringify(steps)}`);
      for (const [at, call] of last.entries()) this.#addHeard(call, tries[at]!.tokens, isFree);
      return;
    }
    const heard = tries.slice(0, -1);
    assert.ok([heard.length, tries.length].includes(last.length), `${what}, and was given up`);
    for (const [at, call] of last.entries()) {
      if (at < heard.length) this.#addHeard(call, heard[at]!.tokens, isFree);
      else this.#addOpen(call, isFree);
    }
    const reserved = tries.at(-1)!.tokens ?? none;
    if (last.length === heard.length) this.#push({ model, marker, least: none, most: reserved });
  }

  #addHeard(call: Call, traced: Tokens | null | undefined, isFree: boolean): void {
    const { model, marker, charge } = call;
    const shown = { input: traced?.input ?? 0, output: traced?.output ?? 0 };
    assert.deepEqual(shown, charge, `${marker}: what its trace tells of ${model}`);
    if (isFree && this.#isBeforeKill(call)) {
      return this.#push({ model, marker, least: none, most: charge });
    }
    this.items.push({ model, marker, least: charge, most: charge });
    this.exact++;
  }

  #bySender(): Map<string | null, Item[]> {
    const bySender = Map.groupBy(this.items, ({ marker }) => senderOf(marker));
    bySender.delete(null);
    return bySender;
  }

  #isBeforeKill({ at }: Call): boolean {
    return this.#kills.some((killed) => at <= killed.at && at > killed.at - this.#gatheredMs);
  }

  /** A free call is not reserved: one that ends with its process was not counted. */
  #addOpen({ model, marker, used, most }: Call, isFree: boolean): void {
    const output = Math.max(most.output, used.output);
    this.#push({ model, marker, least: isFree ? none : used, most: { ...most, output } });
  }

  /** Adds the calls that were reserved, but not sent, when the process ended. */
  #addKilled({ turns, calls }: Killed, byKey: ReadonlyMap<string, readonly Call[]>): void {
    for (const { name: model, price } of this.#brain.models) {
      if (price === null) continue;
      for (const marker of turns) {
        const key = callKey({ model, marker });
        if (calls.has(key)) continue;
        const same = byKey.get(key) ?? this.#calls.filter((call) => call.model === model);
        const most = same.map((call) => call.most).reduce(larger, none);
        this.#push({ model, marker, least: none, most });
      }
    }
  }

  #push(item: Item): void {
    this.items.push(item);
    this.uncertain++;
  }
}

function holdsLeast(
  lines: readonly SpendLine[],
  items: ReadonlyMap<string | null, readonly Item[]>,
): boolean {
  return [...items].every(([key, ofKey]) => {
    const { tokens } = lines.find((line) => line.key === key) ?? { tokens: none };
    const sum = (kind: keyof Tokens): number =>
      ofKey.reduce((all, { least }) => all + least[kind], 0);
    return tokens.input >= sum('input') && tokens.output >= sum('output');
  });
}

function assertWithin(what: string, line: SpendLine, items: readonly Item[]): void {
  for (const kind of ['input', 'output'] as const) {
    const held = line.tokens[kind] + line.open[kind];
    const least = items.reduce((all, item) => all + item.least[kind], 0);
    const most = items.reduce((all, item) => all + item.most[kind], 0);
    const message = `${what}: svc counts ${held} of ${kind}, and the provider ${least} to ${most}`;
    assert.ok(held >= least && held <= most, message);
  }
}

function nothing(key: string): SpendLine {
  return { key, calls: 0, tokens: none, open: none, cost: null, openCost: null };
}

function sizeOf({ input, output }: Tokens = none): number {
  return input + output;
}

function larger(one: Tokens, other: Tokens): Tokens {
  return {
    input: Math.max(one.input, other.input),
    output: Math.max(one.output, other.output),
  };
}
