/**
 * What is used goes with the flights, of free models once a second; what may be used is reserved
 * beside them.
 */
import type { Client } from 'pg';
import type { Charged, SpendLimit, Tokens, Used } from '../../../domain/spend.ts';
import { FreeSpend } from '../../engine/free-spend.ts';
import { settledParts, type SpendChange } from '../../engine/spending.ts';
import type { Reserving, SpendBook } from '../../spend.ts';
import type { PostgresBatches } from '../deps.ts';
import { Reservations } from './reservations.ts';

export type SpendDeps = {
  readonly instance: number;
  readonly batches: PostgresBatches;
  /** @throws where no host takes writes now */
  readonly connect: () => Promise<Client>;
};

export class Spend implements SpendBook, Disposable {
  readonly #deps: SpendDeps;
  readonly #reservations: Reservations;
  /** What has been used and has not landed. */
  #flying = 0;
  readonly #free = new FreeSpend((charged, change) => this.#fly(charged, change, false));

  constructor(deps: SpendDeps) {
    this.#deps = deps;
    const { instance, batches, connect } = deps;
    const settled = async (): Promise<boolean> =>
      !batches.broken && (this.#flying === 0 || batches.writtenNow());
    this.#reservations = new Reservations({ instance, connect, settled });
  }

  reserve(charged: Charged, most: Tokens, limits: readonly SpendLimit[]): Promise<Reserving> {
    this.flush();
    return this.#reservations.reserve(charged, most, limits);
  }

  settle(charged: Charged, reserved: Tokens | null, used: Used | null): void {
    if (reserved === null && used === null) return;
    if (reserved === null && used !== null && !charged.costs) return this.#free.add(charged, used);
    for (const part of settledParts(charged, reserved, used)) {
      this.#fly(part.charged, part.change, reserved !== null);
    }
  }

  /** Writes what is gathered of free models. */
  flush(): void {
    this.#free.flush();
  }

  /** @param known a row is there, since it was reserved; left alone where it was forgotten */
  #fly(charged: Charged, change: SpendChange, known: boolean): void {
    const { batches, instance } = this.#deps;
    batches.add({ kind: 'spent', instance, charged, change, known });
    this.#flying++;
    batches.flushSoon(() => void this.#flying--);
  }

  [Symbol.dispose](): void {
    this.#reservations[Symbol.dispose]();
  }
}

/** Of a sender. Rows are locked in one order, as everywhere. */
export const deleteSpend = `
DELETE FROM svc.spend WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM svc.spend
  WHERE day = ANY($3) AND channel = $1 AND sender = $2
  ORDER BY day, brain, model, price_input, price_output, costs, instance FOR UPDATE
))`;
