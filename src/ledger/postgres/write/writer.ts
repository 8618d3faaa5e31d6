/**
 * One connection that writes. A flight is one transaction, sent in one go: its fence, its
 * statements, its commit. The fence counts up a number in the own row, which makes a commit whose
 * answer was lost certain: connect again, look at the number. Where that flight has not landed its
 * number is passed over, so that it cannot land later, when what was in it has been changed.
 */
import type { Client } from 'pg';
import { endedClean } from '../ledger/instance.ts';
import { cut, inOneGo } from '../server/connect.ts';
import { faultOf, firstOf } from '../server/errors.ts';
import type { Asked, Rows, Statement } from './statement.ts';

/**
 * `undone`: it has not landed and never will, and may be sent again. `why` is what the server said;
 * null: it was lost with its connection.
 */
export type Outcome =
  /** `behind`: what was said to what went behind it; null: that may have landed, or not. */
  | {
      readonly kind: 'landed';
      readonly answers: readonly Rows[];
      readonly behind: readonly Rows[] | null;
    }
  | { readonly kind: 'undone'; readonly why: Error | null }
  /** `conflict`: it is undone, and what a statement of it expects is not so. */
  | { readonly kind: 'full' | 'closed' | 'conflict' }
  | { readonly kind: 'failed'; readonly error: Error };

export type WriterDeps = {
  readonly instance: number;
  /** @throws where no host takes writes now */
  readonly connect: () => Promise<Client>;
  /** A flight without an answer for so long is given up, and is in doubt. */
  readonly answerMs: number;
  /** The number of its last flight; left out: it has flown none. */
  readonly landed?: number;
};

const pauseMsMin = 100;
const pauseMsMax = 2_000;

/**
 * So that nothing holds a row for ever: by `SET LOCAL`, since a pooler keeps no other. The server
 * gives a statement up before its flight is given up here, so it is known to be undone.
 */
const begin =
  "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = '10s'; " +
  "SET LOCAL lock_timeout = '5s'; " +
  "SET LOCAL idle_in_transaction_session_timeout = '3s'";
/** What is lost by it is found again: a lane that is free, and has an owner as before. */
const unsafely = `${begin}; SET LOCAL synchronous_commit = off`;

/**
 * A transaction of its own that goes in one go with a flight, behind it. What locks lanes in no
 * order goes there, and waits for no lock, so that no two instances wait for each other.
 */
export type Behind = {
  readonly asked: readonly Asked[];
  /** It takes something, so it is fenced and safe when it has landed; else it only lets go. */
  readonly takes: boolean;
};

const nothingBehind: Behind = { asked: [], takes: false };

/** Divides by zero unless this is the next flight of an instance that nobody took over from. */
const fence =
  'WITH mine AS (UPDATE svc.instance SET grp = $2, beat_at = clock_timestamp() ' +
  'WHERE id = $1 AND NOT dead AND grp = $2::bigint - 1 RETURNING 1) SELECT 1 / count(*) FROM mine';

/** Waits until the flight of the lost connection is over. The number: landed; one more: never. */
const settleOwn =
  'UPDATE svc.instance SET grp = CASE grp WHEN $2::bigint - 1 THEN $2::bigint + 1 ELSE grp END ' +
  'WHERE id = $1 AND NOT dead RETURNING grp';

/** As long as it is held nobody declares this instance dead. */
const fenceBehind =
  'SELECT 1 / count(*) FROM (SELECT 1 FROM svc.instance ' +
  'WHERE id = $1 AND NOT dead AND grp = $2 FOR SHARE) AS mine';

const lookAtOwn = 'SELECT grp FROM svc.instance WHERE id = $1 AND NOT dead';

export class Writer {
  readonly #deps: WriterDeps;
  #client: Client | null;
  /** The number of the last flight that landed, or of one after it that never will. */
  #landed: number;
  #closed = false;
  #wake: () => void = () => {};

  /** @param client in no transaction */
  constructor(client: Client, deps: WriterDeps) {
    this.#deps = deps;
    this.#client = client;
    this.#landed = deps.landed ?? 0;
  }

  /** Sends one flight, to be called when the one before has come back. */
  async fly(statements: readonly Statement[], behind: Behind = nothingBehind): Promise<Outcome> {
    const client = this.#client ?? (await this.#connect());
    if (client === null) return { kind: 'closed' };
    this.#client = client;
    const number = this.#landed + 1;
    const { instance } = this.#deps;
    const batch = [{ text: fence, values: [instance, number] }, ...statements];
    const [sent, after] = await this.#sendBoth(client, batch, number, behind);
    if (sent.kind === 'answered') {
      this.#landed = number;
      return { kind: 'landed', answers: sent.answers.slice(1), behind: after };
    }
    const fault = faultOf(sent.error);
    if (fault === 'away') return this.#settle(number, statements);
    if (fault === 'again') return { kind: 'undone', why: sent.error };
    if (fault === 'full' || fault === 'conflict') return { kind: fault };
    return failed(fault === 'fenced' ? await this.#whyFenced(client, sent.error) : sent.error);
  }

  /**
   * Sends what lets go without a flight, to be called when the one before has come back.
   * @returns what was said to it; null: that is not known
   */
  async letGo(asked: readonly Asked[]): Promise<readonly Rows[] | null> {
    const client = this.#client ?? (await this.#connect());
    if (client === null) return null;
    this.#client = client;
    const sent = await this.#send(client, asked, unsafely);
    return sent.kind === 'answered' ? sent.answers : null;
  }

  /** An orderly end: the next start need not wait. What cannot be written is left. */
  async end(): Promise<void> {
    const { instance } = this.#deps;
    const client = this.#client;
    if (client !== null) {
      await client.query(endedClean.text, [...endedClean.values(instance)]);
      this.#closed = true;
      await client.end();
    }
    this.close();
  }

  /** Ends at once; a flight that is under way is given up. */
  close(): void {
    this.#closed = true;
    this.#drop();
    this.#wake();
  }

  /** The commit of that flight may have landed, and its answer been lost. */
  async #settle(number: number, statements: readonly Statement[]): Promise<Outcome> {
    for (let pauseMs = pauseMsMin; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
      this.#drop();
      const client = await this.#connect();
      if (client === null) return { kind: 'closed' };
      this.#client = client;
      const outcome = await this.#settleOn(client, number, statements);
      if (outcome.kind !== 'failed' || !mayPass(outcome.error)) return outcome;
      await this.#pause(pauseMs);
    }
  }

  async #settleOn(
    client: Client,
    number: number,
    statements: readonly Statement[],
  ): Promise<Outcome> {
    const values = [this.#deps.instance, number];
    const own = await this.#send(client, [{ text: settleOwn, values }]);
    if (own.kind === 'failed') return failed(own.error);
    const [row] = own.answers[0]!;
    if (row === undefined) return failed(fenced());
    const found = Number(row['grp']);
    if (found === number + 1) {
      this.#landed = found;
      return { kind: 'undone', why: null };
    }
    if (found !== number) return failed(setBack());
    const again = await this.#send(client, statements.map(againOf));
    if (again.kind === 'failed') return failed(again.error);
    this.#landed = number;
    const answers = again.answers.map((rows, at) => {
      return statements[at]!.again === undefined ? [] : rows;
    });
    return { kind: 'landed', answers, behind: null };
  }

  /** @param error what the fence says, or another statement that divided by zero */
  async #whyFenced(client: Client, error: Error): Promise<Error> {
    const own = await this.#send(client, [{ text: lookAtOwn, values: [this.#deps.instance] }]);
    if (own.kind === 'failed') return fenced();
    const [row] = own.answers[0]!;
    if (row === undefined) return fenced();
    return Number(row['grp']) === this.#landed ? error : setBack();
  }

  /** A flight and what goes behind it, in one go. */
  async #sendBoth(
    client: Client,
    batch: readonly Asked[],
    number: number,
    { asked, takes }: Behind,
  ): Promise<readonly [Sent, readonly Rows[] | null]> {
    if (asked.length === 0) return [await this.#send(client, batch), []];
    const own = { text: fenceBehind, values: [this.#deps.instance, number] };
    const both = inOneGo(client, () => [
      this.#send(client, batch),
      this.#send(client, takes ? [own, ...asked] : asked, takes ? begin : unsafely),
    ]);
    const [first, second] = (await Promise.all(both)) as [Sent, Sent];
    if (second.kind === 'failed') return [first, null];
    return [first, takes ? second.answers.slice(1) : second.answers];
  }

  /** One transaction, sent in one go. */
  async #send(client: Client, asked: readonly Asked[], begun = begin): Promise<Sent> {
    const late = setTimeout(() => cut(client), this.#deps.answerMs);
    const all = await Promise.allSettled(
      inOneGo(client, () => [
        client.query(begun),
        ...asked.map(({ text, values }) => client.query(text, [...values])),
        client.query('COMMIT'),
      ]),
    );
    clearTimeout(late);
    const errors = all.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
    if (errors.length > 0) return { kind: 'failed', error: asError(firstOf(errors)) };
    const results = all.map((one) => (one as PromiseFulfilledResult<{ rows: Rows }>).value);
    return { kind: 'answered', answers: results.slice(1, -1).map(({ rows }) => rows) };
  }

  /** Tries until there is a connection; null: this is closed. */
  async #connect(): Promise<Client | null> {
    for (let pauseMs = pauseMsMin; !this.#closed; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
      try {
        const client = await this.#deps.connect();
        if (!this.#closed) return client;
        cut(client);
      } catch {
        await this.#pause(pauseMs);
      }
    }
    return null;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #drop(): void {
    if (this.#client !== null) cut(this.#client);
    this.#client = null;
  }
}

/** Why a flight that has not landed is given up. */
export function errorOf(outcome: Outcome): Error {
  if (outcome.kind === 'failed') return outcome.error;
  return (outcome.kind === 'undone' ? outcome.why : null) ?? new Error('it is closed');
}

type Sent =
  | { readonly kind: 'answered'; readonly answers: readonly Rows[] }
  | { readonly kind: 'failed'; readonly error: Error };

function againOf({ again }: Statement): Asked {
  return again ?? { text: 'SELECT 1', values: [] };
}

function mayPass(error: Error): boolean {
  const fault = faultOf(error);
  return fault === 'away' || fault === 'again' || fault === 'full';
}

function failed(error: Error): Outcome {
  return { kind: 'failed', error };
}

function fenced(): Error {
  return new Error('another instance of svc has taken over its database');
}

/** A server that was put back to an earlier state, or a standby that had not heard of the last. */
function setBack(): Error {
  return new Error('the database has lost what it had said was written');
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
