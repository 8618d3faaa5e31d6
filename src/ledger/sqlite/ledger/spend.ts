/**
 * What was spent goes with whatever is written just then. Calls of one kind that end while a group
 * gathers are one write of it; a reservation is decided where it is written. What free models use
 * is written once a second.
 */
import type { Charged, SpendLimit, Tokens, Used } from '../../../domain/spend.ts';
import { FreeSpend } from '../../engine/free-spend.ts';
import { placesOf, settledParts } from '../../engine/spending.ts';
import type { SpendChange, SpendPlace } from '../../engine/spending.ts';
import type { Reserving, SpendBook } from '../../spend.ts';
import type { GroupCommit } from '../write/group-commit.ts';
import { spendValues, type SpendWrite } from '../write/spend-writes.ts';

export class Spend implements SpendBook {
  readonly #groupCommit: GroupCommit;
  /** Writes of the group that gathers; the sums in them grow. */
  readonly #gathered = new Map<string, SpendWrite>();
  #group: unknown = null;
  readonly #free = new FreeSpend((charged, change) => this.#write('spent', charged, change));

  constructor(groupCommit: GroupCommit) {
    this.#groupCommit = groupCommit;
  }

  reserve(charged: Charged, most: Tokens, limits: readonly SpendLimit[]): Promise<Reserving> {
    this.flush();
    const place = this.#groupCommit.add({ charged, most, limits });
    return new Promise((resolve) => {
      this.#groupCommit.flush(
        (told) => resolve(told?.reservings.get(place) ?? { kind: 'unwritten' }),
        () => resolve({ kind: 'unwritten' }),
      );
    });
  }

  settle(charged: Charged, reserved: Tokens | null, used: Used | null): void {
    if (reserved === null && used === null) return;
    if (reserved === null && used !== null && !charged.costs) return this.#free.add(charged, used);
    // What was reserved and is not there was forgotten since, and is not to come back.
    const name = reserved === null ? 'spent' : 'spendSettled';
    for (const part of settledParts(charged, reserved, used)) {
      this.#write(name, part.charged, part.change);
    }
  }

  /** Writes what is gathered of free models. */
  flush(): void {
    this.#free.flush();
  }

  #write(name: SpendWrite[0], charged: Charged, change: SpendChange): void {
    if (this.#groupCommit.broken) return;
    if (this.#groupCommit.gathering !== this.#group) {
      this.#gathered.clear();
      this.#group = this.#groupCommit.gathering;
    }
    let isNew = false;
    for (const place of placesOf(charged)) {
      const key = `${name}\0${keyOf(place)}`;
      const known = this.#gathered.get(key);
      if (known !== undefined) addTo(known, change);
      else {
        const write: SpendWrite = [name, ...spendValues(place, change)];
        this.#gathered.set(key, write);
        this.#groupCommit.add(write);
        isNew = true;
      }
    }
    if (isNew) this.#groupCommit.flushSoon(() => {});
  }
}

function keyOf({ day, channel, sender, brain, model, ...rest }: SpendPlace): string {
  const { priceInput, priceOutput, costs } = rest;
  const charged = `${day}\0${channel}\0${sender}\0${brain}\0${model}`;
  return `${charged}\0${priceInput}\0${priceOutput}\0${costs}`;
}

function addTo(known: SpendWrite, change: SpendChange): void {
  known[1] += change.calls;
  known[2] += change.estimatedCalls;
  known[3] += change.input;
  known[4] += change.output;
  known[5] += change.openInput;
  known[6] += change.openOutput;
}
