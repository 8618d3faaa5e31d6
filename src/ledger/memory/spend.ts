/**
 * Spending since the start, for the memory backend. There are few rows except for those of senders.
 */
import type { ChannelKey } from '../../domain/ids.ts';
import type { Charged, SpendBy, SpendLimit, SpendRow, Tokens, Used } from '../../domain/spend.ts';
import {
  decide,
  firstDaysKept,
  openedParts,
  placesOf,
  priceOf,
  settledParts,
  spendRows,
  type SpendChange,
  type SpendGroup,
  type SpendPlace,
  type SpendTotal,
} from '../engine/spending.ts';
import type { Reserving, SpendBook, SpendReader } from '../ledger.ts';

/**
 * The most groups of rows; a group is a day, a brain and a sender, or all senders. The oldest is
 * dropped first.
 */
const groupsMax = 50_000;

type Row = { readonly place: SpendPlace; sums: SpendChange };
type Groups = Map<string, Row[]>;

export class MemorySpend implements SpendBook, SpendReader {
  readonly #all: Groups = new Map();
  readonly #ofSenders: Groups = new Map();

  async reserve(charged: Charged, most: Tokens, limits: readonly SpendLimit[]): Promise<Reserving> {
    const [all, own] = placesOf(charged);
    const ofSender = own === undefined ? [] : this.#totals(own);
    const reserving = decide(charged, most, limits, { all: this.#totals(all!), ofSender });
    if (reserving.kind === 'over') return reserving;
    for (const part of openedParts(charged, most)) {
      for (const place of placesOf(part.charged)) this.#add(place, part.change);
    }
    return reserving;
  }

  settle(charged: Charged, reserved: Tokens | null, used: Used | null): void {
    if (reserved === null && used === null) return;
    for (const part of settledParts(charged, reserved, used)) {
      for (const place of placesOf(part.charged)) {
        // A reservation that is missing was forgotten since, and must not come back.
        if (reserved === null || this.#row(place) !== undefined) this.#add(place, part.change);
      }
    }
  }

  forget(channel: ChannelKey, sender: string): void {
    for (const [key, [row]] of this.#ofSenders) {
      if (row?.place.channel === channel && row.place.sender === sender) {
        this.#ofSenders.delete(key);
      }
    }
  }

  async spent(by: SpendBy, since: string): Promise<readonly SpendRow[]> {
    const groups = by === 'sender' ? this.#ofSenders : this.#all;
    const rows = [...groups.values()].flat();
    return spendRows(rows.filter((row) => row.place.day >= since && isUsed(row)).map(groupBy(by)));
  }

  #totals(place: SpendPlace): readonly SpendTotal[] {
    const rows = this.#groupsFor(place).get(keyOf(place)) ?? [];
    return rows.filter((row) => row.place.costs).map(totalOf);
  }

  #row(place: SpendPlace): Row | undefined {
    return this.#groupsFor(place)
      .get(keyOf(place))
      ?.find((row) => isSame(row.place, place));
  }

  #add(place: SpendPlace, change: SpendChange): void {
    const row = this.#row(place);
    if (row !== undefined) return void (row.sums = sumOfChanges(row.sums, change));
    const groups = this.#groupsFor(place);
    const key = keyOf(place);
    const rows = groups.get(key);
    if (rows !== undefined) return void rows.push({ place, sums: change });
    groups.set(key, [{ place, sums: change }]);
    dropOld(groups, place.day);
  }

  #groupsFor({ channel }: SpendPlace): Groups {
    return channel === '' ? this.#all : this.#ofSenders;
  }
}

function keyOf({ day, brain, channel, sender }: SpendPlace): string {
  return [day, brain, channel, sender].join('\0');
}

function isSame(one: SpendPlace, other: SpendPlace): boolean {
  return (
    one.model === other.model &&
    one.priceInput === other.priceInput &&
    one.priceOutput === other.priceOutput &&
    one.costs === other.costs
  );
}

function totalOf({ place, sums }: Row): SpendTotal {
  const price = priceOf(place.priceInput, place.priceOutput);
  return { price, input: sums.input + sums.openInput, output: sums.output + sums.openOutput };
}

function sumOfChanges(one: SpendChange, other: SpendChange): SpendChange {
  return {
    calls: one.calls + other.calls,
    estimatedCalls: one.estimatedCalls + other.estimatedCalls,
    input: one.input + other.input,
    output: one.output + other.output,
    openInput: Math.max(0, one.openInput + other.openInput),
    openOutput: Math.max(0, one.openOutput + other.openOutput),
  };
}

function isUsed({ sums }: Row): boolean {
  const { calls, input, output, openInput, openOutput } = sums;
  return calls + input + output + openInput + openOutput > 0;
}

function groupBy(by: SpendBy): (row: Row) => SpendGroup {
  return ({ place, sums }) => ({
    ...sums,
    key: place[by],
    channel: by === 'sender' ? place.channel : null,
    firstDay: place.day,
    lastDay: place.day,
    price: priceOf(place.priceInput, place.priceOutput),
    costing: place.costs ? { input: sums.input, output: sums.output } : { input: 0, output: 0 },
  });
}

/** Drops the oldest groups. The map is in the order of their days. */
function dropOld(groups: Groups, today: string): void {
  const { all: first } = firstDaysKept(Date.parse(today), 0);
  for (const [key, [row]] of groups) {
    if (groups.size <= groupsMax && row!.place.day >= first) return;
    groups.delete(key);
  }
}
