/**
 * Reserves and settles the cost of calls to models. Reservations go over a connection of their own,
 * opened with the first one. All instances share the sums: a decision holds the lock of its day and
 * brain until its commit. Requests that wait meanwhile share the next transaction.
 *
 * A transaction may be committed although its answer was lost. Its callers hear that it was not, so
 * they make no call. The tokens that it may have reserved stay, and only make a limit smaller.
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
  FreeSpend,
  type SpendPlace,
  type SpendTotal,
  type SpendChange,
} from '../../engine/spending.ts';
import type { Reserving, SpendBook } from '../../ledger.ts';
import { cut, sendTogether } from '../server/connect.ts';
import { faultOf, firstOf } from '../server/errors.ts';
import { spentSteps, storedPlace, type SpentWrite } from '../write/turns.ts';
import { asJson, type Query, type Rows } from '../write/statement.ts';
import type { PostgresBatches } from '../deps.ts';

/** The most requests that one transaction decides. */
const batchMax = 500;
/** How often a transaction is sent that surely was not committed. */
const triesMax = 3;
/** A little longer than the lock timeout of the server. */
const answerMs = 7_000;

const begin =
  "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = '5s'; " +
  "SET LOCAL lock_timeout = '5s'; SET LOCAL idle_in_transaction_session_timeout = '3s'";

/** Takes locks in one order, so no two wait for each other. Later reads see all commits. */
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
  readonly resolve: (reserving: Reserving) => void;
};

type Deps = {
  readonly instance: number;
  /** @throws when no host takes writes now */
  readonly connect: () => Promise<Client>;
  /** Resolves to true when all costs so far are committed; to false when they cannot be now. */
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
    return new Promise((resolve) => {
      this.#waiting.push({ charged, most, limits, resolve });
      if (!this.#running) void this.#run();
    });
  }

  /** All requests that wait or are running get `unwritten`. */
  [Symbol.dispose](): void {
    this.#closed = true;
    this.#drop();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, batchMax);
      const answers = await this.#decide(batch);
      for (const [at, { resolve }] of batch.entries()) resolve(answers?.[at] ?? unwritten);
    }
    this.#running = false;
  }

  /** @returns null: not committed, or nobody knows */
  async #decide(batch: readonly Reservation[]): Promise<readonly Reserving[] | null> {
    if (this.#closed || !(await this.#deps.settled())) return null;
    for (let tries = 0; tries < triesMax && !this.#closed; tries++) {
      let isSent = false;
      try {
        this.#client ??= await this.#deps.connect();
        const answers = await this.#ask(this.#client, [begin, ...readingSums(batch, this.#deps)]);
        const decided = decideAll(batch, answers);
        isSent = true;
        await this.#ask(this.#client, [...this.#storing(batch, decided), 'COMMIT']);
        return decided;
      } catch (error) {
        const fault = faultOf(error);
        // After a lost connection nobody knows whether the commit happened.
        if (fault === 'away' && isSent) tries = triesMax;
        if (fault === 'fault' || fault === 'full') tries = triesMax;
        this.#drop();
      }
    }
    return null;
  }

  #storing(batch: readonly Reservation[], decided: readonly Reserving[]): readonly Query[] {
    const { instance } = this.#deps;
    const writes = batch.flatMap(({ charged, most }, at): readonly SpentWrite[] => {
      if (decided[at]!.kind !== 'reserved') return [];
      return openedParts(charged, most).map((part) => {
        return { kind: 'spent', instance, ...part, known: false };
      });
    });
    return spentSteps(writes).map(({ statement }) => statement);
  }

  /** Sends all statements in one go. @throws the first error */
  async #ask(client: Client, asked: readonly (Query | string)[]): Promise<readonly Rows[]> {
    const late = setTimeout(() => cut(client), answerMs);
    const all = await Promise.allSettled(
      sendTogether(client, () =>
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

function readingSums(batch: readonly Reservation[], { instance }: Deps): readonly Query[] {
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
    // The columns have the names of the fields of `SpendPlace`.
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

export type SpendDeps = {
  readonly instance: number;
  readonly batches: PostgresBatches;
  /** @throws when no host takes writes now */
  readonly connect: () => Promise<Client>;
};

/**
 * The spend book: costs go with the batches (those of free models once a second), reservations go
 * over their own connection.
 */
export class Spend implements SpendBook, Disposable {
  readonly #deps: SpendDeps;
  readonly #reservations: Reservations;
  /** How many costs are not committed yet. */
  #uncommitted = 0;
  readonly #free = new FreeSpend((charged, change) => this.#write(charged, change, false));

  constructor(deps: SpendDeps) {
    this.#deps = deps;
    const { instance, batches, connect } = deps;
    const settled = async (): Promise<boolean> =>
      !batches.broken && (this.#uncommitted === 0 || batches.writtenNow());
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
      this.#write(part.charged, part.change, reserved !== null);
    }
  }

  /** Writes the collected costs of free models. */
  flush(): void {
    this.#free.flush();
  }

  /** @param known true after a reservation: add to its row, or nowhere if it was forgotten */
  #write(charged: Charged, change: SpendChange, known: boolean): void {
    const { batches, instance } = this.#deps;
    batches.add({ kind: 'spent', instance, charged, change, known });
    this.#uncommitted++;
    batches.flushSoon(() => void this.#uncommitted--);
  }

  [Symbol.dispose](): void {
    this.#reservations[Symbol.dispose]();
  }
}

/** Deletes the spend of a sender. Locks rows in one order, like all statements on them. */
export const deleteSpend = `
DELETE FROM svc.spend WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM svc.spend
  WHERE day = ANY($3) AND channel = $1 AND sender = $2
  ORDER BY day, brain, model, price_input, price_output, costs, instance FOR UPDATE
))`;
