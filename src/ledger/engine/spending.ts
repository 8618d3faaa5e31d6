/** Records, decides and sums the spending on models, the same way in every backend. */
import { dayMs } from '../../lib/durations.ts';
import { compareAmounts, costOf, dearest, sumOf } from '../../domain/money.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import type { Charged, Price, SpendLimit, SpendRow, Tokens, Used } from '../../domain/spend.ts';
import type { LimitSum, Reserving } from '../ledger.ts';

/** Spending is deleted after this many days. */
const spendDays = 400;
export const spendRowsMax = 1_000;

/**
 * The key of one spend row. Each call is charged to two rows: one for all senders, with empty
 * channel and sender, and one for its sender. Without a price, both prices are empty.
 */
export type SpendPlace = {
  readonly channel: string;
  readonly sender: string;
  readonly day: string;
  readonly brain: string;
  readonly model: string;
  readonly priceInput: string;
  readonly priceOutput: string;
  readonly costs: boolean;
};

/**
 * The change of a row. `openInput`, `openOutput`: what is reserved; negative numbers release it.
 */
export type SpendChange = {
  readonly calls: number;
  readonly estimatedCalls: number;
  readonly input: number;
  readonly output: number;
  readonly openInput: number;
  readonly openOutput: number;
};

export function placesOf({ day, brain, model, price, costs, sender }: Charged) {
  const { input: priceInput, output: priceOutput } = price ?? { input: '', output: '' };
  const rest = { day, brain, model, priceInput, priceOutput, costs };
  const all: SpendPlace = { channel: '', sender: '', ...rest };
  const places: SpendPlace[] = [all];
  if (sender !== null) places.push({ channel: sender.channel, sender: sender.id, ...rest });
  return places;
}

/** A change of the rows at one price. */
type SpendPart = { readonly charged: Charged; readonly change: SpendChange };

/**
 * The reservation of a call.
 *
 * A row has one price of input. Tokens from a provider's cache may have another price. They are
 * charged to a row of that price, which counts no call. The reservation is in the row of the dearer
 * price. The other row is made with it, since settling makes no rows.
 */
export function openedParts(charged: Charged, most: Tokens): readonly SpendPart[] {
  const { fresh, cached, isCachedDearer } = ratesOf(charged);
  if (cached === null) return [{ charged: fresh, change: openedBy(most) }];
  const [dearer, other] = isCachedDearer ? [cached, fresh] : [fresh, cached];
  return [
    { charged: dearer, change: openedBy(most) },
    { charged: other, change: noChange },
  ];
}

/** Releases what `openedParts` reserved, and charges what was used. */
export function settledParts(
  charged: Charged,
  reserved: Tokens | null,
  used: Used | null,
): readonly SpendPart[] {
  const { fresh, cached, isCachedDearer } = ratesOf(charged);
  if (cached === null) return [{ charged: fresh, change: settledBy(reserved, used) }];
  const fromCache = Math.min(used?.cached ?? 0, used?.input ?? 0);
  const rest = used && { ...used, input: used.input - fromCache };
  const ofCache = settledBy(isCachedDearer ? reserved : null, null);
  return [
    { charged: fresh, change: settledBy(isCachedDearer ? null : reserved, rest) },
    { charged: cached, change: { ...ofCache, input: fromCache } },
  ].filter(({ change }) => Object.values(change).some((count) => count !== 0));
}

/** The charge at each of the two prices of input; `cached` is null where there is one price. */
function ratesOf(charged: Charged) {
  const { price } = charged;
  if (price === null) return { fresh: charged, cached: null, isCachedDearer: false };
  const { input, output, cachedInput = input } = price;
  const fresh: Charged = { ...charged, price: { input, output } };
  if (cachedInput === input) return { fresh, cached: null, isCachedDearer: false };
  const cached: Charged = { ...charged, price: { input: cachedInput, output } };
  return { fresh, cached, isCachedDearer: dearest(price).input === cachedInput };
}

const noChange: SpendChange = {
  calls: 0,
  estimatedCalls: 0,
  input: 0,
  output: 0,
  openInput: 0,
  openOutput: 0,
};

function openedBy({ input, output }: Tokens): SpendChange {
  return { ...noChange, openInput: input, openOutput: output };
}

function settledBy(reserved: Tokens | null, used: Used | null): SpendChange {
  return {
    calls: used === null ? 0 : 1,
    estimatedCalls: used?.estimated === true ? 1 : 0,
    input: used?.input ?? 0,
    output: used?.output ?? 0,
    openInput: 0 - (reserved?.input ?? 0),
    openOutput: 0 - (reserved?.output ?? 0),
  };
}

/** Tokens used and reserved at one price. */
export type SpendTotal = Tokens & { readonly price: Price | null };

export function priceOf(input: string, output: string): Price | null {
  return input === '' ? null : { input, output };
}

/**
 * Decides whether a reservation fits.
 * @param all used and reserved on that day by that brain, of models with a cost
 * @param ofSender the same of the sender
 */
export function decide(
  { price, sender }: Charged,
  most: Tokens,
  limits: readonly SpendLimit[],
  { all, ofSender }: { readonly all: readonly SpendTotal[]; readonly ofSender: typeof all },
): Exclude<Reserving, { readonly kind: 'unwritten' }> {
  const sums: LimitSum[] = [];
  for (const limit of limits) {
    if (limit.kind === 'cost_per_day') {
      const before = costOfAll(all);
      const after = sumOf(before, price === null ? '0' : costOf(most, dearest(price)));
      if (compareAmounts(after, limit.most) > 0) return { kind: 'over', limit };
      sums.push({ limit, before });
      continue;
    }
    const isOfSender = limit.kind === 'tokens_per_sender_per_day';
    // A trial run has no sender.
    if (isOfSender && sender === null) continue;
    const before = tokensOf(isOfSender ? ofSender : all);
    if (before + most.input + most.output > limit.most) return { kind: 'over', limit };
    sums.push({ limit, before });
  }
  return { kind: 'reserved', sums };
}

function tokensOf(totals: readonly SpendTotal[]): number {
  return totals.reduce((sum, { input, output }) => sum + input + output, 0);
}

function costOfAll(totals: readonly SpendTotal[]): string {
  return sumOf(...totals.map((total) => (total.price === null ? '0' : costOf(total, total.price))));
}

/** The rows of one report key at one price. */
export type SpendGroup = SpendChange & {
  readonly key: string;
  readonly channel: string | null;
  readonly firstDay: string;
  readonly lastDay: string;
  readonly price: Price | null;
  /** The used tokens of models with a cost. */
  readonly costing: Tokens;
};

/** The lines of a report, in its order. */
export function spendRows(groups: Iterable<SpendGroup>): readonly SpendRow[] {
  const rows = new Map<string, SpendRow>();
  for (const group of groups) {
    const key = `${group.channel} ${group.key}`;
    const known = rows.get(key);
    const row = rowOf(group);
    rows.set(key, known === undefined ? row : sumOfRows(known, row));
  }
  return [...rows.values()].toSorted(compareRows).slice(0, spendRowsMax);
}

function rowOf({ key, channel, firstDay, lastDay, price, costing, ...sums }: SpendGroup): SpendRow {
  const { calls, estimatedCalls, input, output, openInput, openOutput } = sums;
  const [tokens, open] = [
    { input, output },
    { input: openInput, output: openOutput },
  ];
  const cost = price === null ? null : costOf(tokens, price);
  const openCost = price === null ? null : costOf(open, price);
  const of = { key, channel: channel as ChannelKey | null, firstDay, lastDay };
  return { ...of, calls, tokens, costing, estimatedCalls, open, cost, openCost };
}

function sumOfRows(one: SpendRow, other: SpendRow): SpendRow {
  return {
    key: one.key,
    channel: one.channel,
    firstDay: one.firstDay < other.firstDay ? one.firstDay : other.firstDay,
    lastDay: one.lastDay > other.lastDay ? one.lastDay : other.lastDay,
    calls: one.calls + other.calls,
    tokens: sumOfTokens(one.tokens, other.tokens),
    costing: sumOfTokens(one.costing, other.costing),
    estimatedCalls: one.estimatedCalls + other.estimatedCalls,
    open: sumOfTokens(one.open, other.open),
    cost: sumOfCosts(one.cost, other.cost),
    openCost: sumOfCosts(one.openCost, other.openCost),
  };
}

function sumOfTokens(one: Tokens, other: Tokens): Tokens {
  return { input: one.input + other.input, output: one.output + other.output };
}

function sumOfCosts(one: string | null, other: string | null): string | null {
  return one === null || other === null ? (one ?? other) : sumOf(one, other);
}

function compareRows(one: SpendRow, other: SpendRow): number {
  return compareCosts(one.cost, other.cost) || sizeOf(other) - sizeOf(one) || byName(one, other);
}

/**
 * The larger cost comes first, no cost comes last. Most costs differ so much that plain numbers
 * decide.
 */
function compareCosts(one: string | null, other: string | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return Number(other) - Number(one) || compareAmounts(other, one);
}

function sizeOf({ tokens: { input, output } }: SpendRow): number {
  return input + output;
}

function byName(one: SpendRow, other: SpendRow): number {
  const [a, b] = [`${one.channel} ${one.key}`, `${other.channel} ${other.key}`];
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * The first days whose rows are kept. They may be hours off, since days are local and this one is
 * in UTC.
 * @param now milliseconds since 1970
 * @param retentionDays how long texts are kept; 0: for ever
 */
export function firstDaysKept(now: number, retentionDays: number) {
  const dayBefore = (days: number): string =>
    new Date(now - days * dayMs).toISOString().slice(0, 10);
  const ofSenders = retentionDays === 0 ? spendDays : Math.min(retentionDays, spendDays);
  return { all: dayBefore(spendDays), ofSenders: dayBefore(ofSenders) };
}

/** SQL for every day that has a row. It finds each day by one lookup in the key of the table. */
export function daysOf(table: string): string {
  return (
    `WITH RECURSIVE days (day) AS (SELECT min(day) FROM ${table} UNION ALL ` +
    `SELECT (SELECT min(day) FROM ${table} WHERE day > days.day) FROM days ` +
    'WHERE day IS NOT NULL) SELECT day FROM days WHERE day IS NOT NULL'
  );
}

/**
 * Collects the use of free models for one second before it is written. No budget waits for it, and
 * each turn would otherwise write two more rows. A process that dies loses that second.
 */
const collectMs = 1_000;

type Collected = { readonly charged: Charged; change: SpendChange };

export class FreeSpend {
  readonly #write: (charged: Charged, change: SpendChange) => void;
  readonly #collected = new Map<string, Collected>();
  #timer: NodeJS.Timeout | null = null;

  constructor(write: (charged: Charged, change: SpendChange) => void) {
    this.#write = write;
  }

  add(charged: Charged, used: Used): void {
    const key = keyOf(charged);
    const change = settledBy(null, used);
    const known = this.#collected.get(key);
    if (known === undefined) this.#collected.set(key, { charged, change });
    else known.change = sumOfChanges(known.change, change);
    this.#timer ??= setTimeout(this.flush, collectMs).unref();
  }

  /**
   * Writes what is collected. Call it before a storage closes or forgets, and before sums are read.
   */
  readonly flush = (): void => {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const all = [...this.#collected.values()];
    this.#collected.clear();
    for (const { charged, change } of all) this.#write(charged, change);
  };
}

/** The key of one sum. Free models have no price. */
function keyOf({ day, brain, model, sender }: Charged): string {
  const senderKey = sender === null ? '' : `${sender.channel}\0${sender.id}`;
  return `${day}\0${brain}\0${model}\0${senderKey}`;
}

/** Adds two changes. Use of a free model is never reserved. */
function sumOfChanges(one: SpendChange, other: SpendChange): SpendChange {
  return {
    calls: one.calls + other.calls,
    estimatedCalls: one.estimatedCalls + other.estimatedCalls,
    input: one.input + other.input,
    output: one.output + other.output,
    openInput: 0,
    openOutput: 0,
  };
}
