/**
 * What calls may use is reserved on a connection of its own, which comes about with the first one.
 * All instances share the sums: whoever decides about a day of a brain has the lock of that day and
 * brain until its commit. What waits meanwhile goes together in the next transaction.
 *
 * A transaction whose commit was not answered may have landed. Its callers are told that it has
 * not, so that no call is made; what it may have reserved is left, and only makes a limit smaller.
 */
import type { Client } from 'pg';
import { dearest } from '../../../domain/money.ts';
import type { Charged, SpendLimit, Tokens, Used } from '../../../domain/spend.ts';
import {
  decide,
  openedParts,
  placesOf,
  priceOf,
  settledParts,
  type SpendPlace,
  type SpendTotal,
  type SpendChange,
} from '../../engine/spending.ts';
import type { Reserving, SpendBook } from '../../ledger.ts';
import { cut, inOneGo } from '../server/connect.ts';
import { faultOf, firstOf } from '../server/errors.ts';
import { spentSteps, storedPlace, type SpentWrite } from '../write/turns.ts';
import { asJson, type Asked, type Rows } from '../write/statement.ts';
import { FreeSpend } from '../../engine/free-spend.ts';
import type { PostgresBatches } from '../deps.ts';

/** So many are decided in one transaction. */
const batchMax = 500;
/** So often one is sent that is known not to have landed. */
const triesMax = 3;
/** A little longer than the server lets a statement wait for a lock. */
const answerMs = 7_000;

const begin =
  "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = '5s'; " +
  "SET LOCAL lock_timeout = '5s'; SET LOCAL idle_in_transaction_session_timeout = '3s'";

/** In one order, so that no two wait for each other. What is read after it was committed. */
const lock = `
SELECT pg_advisory_xact_lock(key) FROM (
  SELECT DISTINCT hashtextextended(day || ' ' || brain, 1937138482) AS key
  FROM json_to_recordset($1) AS x(day text, brain text) ORDER BY key
) AS days`;

const totals = `
SELECT spend.channel, spend.sender, spend.day, spend.brain, price_input, price_output,
  sum(input + open_input)::bigint AS input, sum(output + open_output)::bigint AS output
FROM json_to_recordset($1) AS x(channel text COLLATE "C", sender text COLLATE "C",
  day text COLLATE "C", brain text COLLATE "C")
JOIN svc.spend ON spend.channel = x.channel AND spend.sender = x.sender
  AND spend.day = x.day AND spend.brain = x.brain
WHERE costs GROUP BY 1, 2, 3, 4, 5, 6`;

const alive = 'SELECT 1 FROM svc.instance WHERE id = $1 AND NOT dead';

const unwritten: Reserving = { kind: 'unwritten' };

type Reservation = {
  readonly charged: Charged;
  readonly most: Tokens;
  readonly limits: readonly SpendLimit[];
  readonly tell: (reserving: Reserving) => void;
};

type Deps = {
  readonly instance: number;
  /** @throws where no host takes writes now */
  readonly connect: () => Promise<Client>;
  /** What was used so far has landed; false: it cannot land now. */
  readonly settled: () => Promise<boolean>;
};

export class Reservations implements Disposable {
  readonly #deps: Deps;
  #waiting: Reservation[] = [];
  #client: Client | null = null;
  #running = false;
  #closed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  reserve(charged: Charged, most: Tokens, limits: readonly SpendLimit[]): Promise<Reserving> {
    return new Promise((tell) => {
      this.#waiting.push({ charged, most, limits, tell });
      if (!this.#running) void this.#run();
    });
  }

  /** What waits, and what is under way, is told that it is not written. */
  [Symbol.dispose](): void {
    this.#closed = true;
    this.#drop();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, batchMax);
      const told = await this.#decide(batch);
      for (const [at, { tell }] of batch.entries()) tell(told?.[at] ?? unwritten);
    }
    this.#running = false;
  }

  /** @returns null: it is not written, or not known to be */
  async #decide(batch: readonly Reservation[]): Promise<readonly Reserving[] | null> {
    if (this.#closed || !(await this.#deps.settled())) return null;
    for (let tries = 0; tries < triesMax && !this.#closed; tries++) {
      let isSent = false;
      try {
        this.#client ??= await this.#deps.connect();
        const read = await this.#ask(this.#client, [begin, ...lookingAt(batch, this.#deps)]);
        const decided = decideAll(batch, read);
        isSent = true;
        await this.#ask(this.#client, [...this.#writing(batch, decided), 'COMMIT']);
        return decided;
      } catch (error) {
        const fault = faultOf(error);
        // After a lost connection nobody knows what became of a commit.
        if (fault === 'away' && isSent) tries = triesMax;
        if (fault === 'fault' || fault === 'full') tries = triesMax;
        this.#drop();
      }
    }
    return null;
  }

  #writing(batch: readonly Reservation[], decided: readonly Reserving[]): readonly Asked[] {
    const { instance } = this.#deps;
    const writes = batch.flatMap(({ charged, most }, at): readonly SpentWrite[] => {
      if (decided[at]!.kind !== 'reserved') return [];
      return openedParts(charged, most).map((part) => {
        return { kind: 'spent', instance, ...part, known: false };
      });
    });
    return spentSteps(writes).map(({ statement }) => statement);
  }

  /** In one go. @throws the first that failed */
  async #ask(client: Client, asked: readonly (Asked | string)[]): Promise<readonly Rows[]> {
    const late = setTimeout(() => cut(client), answerMs);
    const all = await Promise.allSettled(
      inOneGo(client, () =>
        asked.map((one) =>
          typeof one === 'string' ? client.query(one) : client.query(one.text, [...one.values]),
        ),
      ),
    );
    clearTimeout(late);
    const errors = all.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    if (errors.length > 0) throw firstOf(errors);
    return all.map((one) => (one as PromiseFulfilledResult<{ rows: Rows }>).value.rows);
  }

  #drop(): void {
    if (this.#client !== null) cut(this.#client);
    this.#client = null;
  }
}

function lookingAt(batch: readonly Reservation[], { instance }: Deps): readonly Asked[] {
  const places = batch.flatMap(({ charged }) => placesOf(charged).map(storedPlace));
  const distinct = new Map(places.map((place) => [sumKey(place), place]));
  const values = [
    asJson(
      [...distinct.values()].map(({ channel, sender, day, brain }) => {
        return { channel, sender, day, brain };
      }),
    ),
  ];
  return [
    { text: lock, values },
    { text: totals, values },
    { text: alive, values: [instance] },
  ];
}

function decideAll(
  batch: readonly Reservation[],
  [, , found = [], living = []]: readonly Rows[],
): readonly Reserving[] {
  if (living.length === 0) return batch.map(() => unwritten);
  const sums = new Map<string, SpendTotal[]>();
  const add = (key: string, total: SpendTotal): void => {
    const known = sums.get(key);
    if (known === undefined) sums.set(key, [total]);
    else known.push(total);
  };
  for (const row of found) {
    const price = priceOf(String(row['price_input']), String(row['price_output']));
    // The columns are named as the key's parts are.
    const of = row as unknown as SpendPlace;
    add(sumKey(of), { price, input: Number(row['input']), output: Number(row['output']) });
  }
  return batch.map(({ charged, most, limits }) => {
    const keys = placesOf(charged).map((place) => sumKey(storedPlace(place)));
    const [all, ofSender] = keys.map((key) => sums.get(key) ?? []);
    const decided = decide(charged, most, limits, { all: all!, ofSender: ofSender ?? [] });
    const isCounted = decided.kind === 'reserved' && charged.costs;
    const price = charged.price && dearest(charged.price);
    if (isCounted) for (const key of keys) add(key, { ...most, price });
    return decided;
  });
}

function sumKey({ channel, sender, day, brain }: SpendPlace): string {
  return [channel, sender, day, brain].join('\0');
}

/**
 * What is used goes with the flights, of free models once a second; what may be used is reserved
 * beside them.
 */
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
