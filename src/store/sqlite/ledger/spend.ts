/**
 * What was spent goes with whatever is written just then. Calls of one kind that end while a group
 * gathers are one write of it; a reservation is decided where it is written.
 */
import type { Charged, SpendLimit, Tokens, Used } from '../../../domain/spend.ts';
import { placesOf, settledBy } from '../../ledger/spending.ts';
import type { Reserving, SpendBook } from '../../spend.ts';
import type { Journal } from '../write/journal.ts';
import { spendValues, type SpendWrite } from '../write/spend-writes.ts';

/** The sums of a write come before its place: calls, estimated ones, and four of tokens. */
const sumsEnd = 7;

export class Spend implements SpendBook {
  readonly #journal: Journal;
  /** Writes of the group that gathers; the sums in them grow. */
  readonly #gathered = new Map<string, SpendWrite>();
  #group: unknown = null;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  reserve(charged: Charged, most: Tokens, limits: readonly SpendLimit[]): Promise<Reserving> {
    const place = this.#journal.add({ charged, most, limits });
    return new Promise((resolve) => {
      this.#journal.flush(
        (told) => resolve(told?.reservings.get(place) ?? { kind: 'unwritten' }),
        () => resolve({ kind: 'unwritten' }),
      );
    });
  }

  settle(charged: Charged, reserved: Tokens | null, used: Used | null): void {
    if (this.#journal.broken) return;
    if (this.#journal.gathering !== this.#group) {
      this.#gathered.clear();
      this.#group = this.#journal.gathering;
    }
    // What was reserved and is not there was forgotten since, and is not to come back.
    const name = reserved === null ? 'spent' : 'spendSettled';
    const change = settledBy(reserved, used);
    let isNew = false;
    for (const place of placesOf(charged)) {
      const write: SpendWrite = [name, ...spendValues(place, change)];
      const key = `${name}\0${write.slice(sumsEnd).join('\0')}`;
      const known = this.#gathered.get(key);
      if (known !== undefined) addTo(known, write);
      else {
        this.#gathered.set(key, write);
        this.#journal.add(write);
        isNew = true;
      }
    }
    if (isNew) this.#journal.flushSoon(() => {});
  }
}

function addTo(
  known: SpendWrite,
  { 1: calls, 2: estimated, 3: input, 4: output, 5: openInput, 6: openOutput }: SpendWrite,
): void {
  known[1] += calls;
  known[2] += estimated;
  known[3] += input;
  known[4] += output;
  known[5] += openInput;
  known[6] += openOutput;
}
