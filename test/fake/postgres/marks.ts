/**
 * Batches that write marks into a table of their own. The table keeps each mark as often as it was
 * written, in the order of the writing. One database, with a connection that can fail, and one
 * without.
 */
import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { steadyNow, type SteadyTime } from '../../../src/lib/clock.ts';
import type { ProcessFacts } from '../../../src/ledger/postgres/ledger/instance.ts';
import { connect } from '../../../src/ledger/postgres/server/connect.ts';
import {
  batchTimes,
  Batches,
  type BatchTimes,
  type TrailingTransaction,
} from '../../../src/ledger/postgres/write/batches.ts';
import type { Composed, Statement } from '../../../src/ledger/postgres/write/statement.ts';
import {
  Writer,
  type Outcome,
  type WriterDeps,
} from '../../../src/ledger/postgres/write/writer.ts';
import { patienceMs } from '../../support/waiting.ts';
import { openDatabase, TestDatabase, type OpenedDatabase } from './database.ts';
import { takeInstance } from './former-instance.ts';
import { Way } from './way.ts';

export type Mark = number;
/** The place of each mark in the order of the writing. */
type Places = ReadonlyMap<Mark, number>;
export type MarkBatches = Batches<Mark, Places>;

/** A process that has ended, on a machine that all of these share. */
export const goneProcess: ProcessFacts = {
  host: 'somewhere',
  boot: 'a start of the machine',
  space: 'pid:[1]',
  pid: 99_999_999,
  began: '1',
};

/** A process about which nothing is known. */
export const farProcess: ProcessFacts = { ...goneProcess, boot: null, began: null };

export function markStatement(marks: readonly Mark[]): Statement {
  const values = [JSON.stringify(marks.map((mark) => ({ mark })))];
  const rows = 'json_to_recordset($1) AS given (mark integer)';
  return {
    text: `INSERT INTO mark (mark) SELECT given.mark FROM ${rows} RETURNING mark, place`,
    values,
    again: { text: `SELECT mark, place FROM mark JOIN ${rows} USING (mark)`, values },
  };
}

/** The places of the marks that a batch has written. */
export function placesOf(outcome: Outcome): readonly unknown[] {
  assert.equal(outcome.kind, 'landed');
  return outcome.answers.flat().map((row) => row['place']);
}

function composeMarks(marks: readonly Mark[]): Composed<Places> {
  if (marks.length === 0) return { statements: [], landed: () => new Map() };
  return {
    statements: [markStatement(marks)],
    landed: ([rows = []]) => {
      return new Map(rows.map(({ mark, place }) => [Number(mark), Number(place)]));
    },
  };
}

/** Limits that a machine of any speed keeps. */
const patient: BatchTimes = {
  ...batchTimes,
  awayMs: patienceMs,
  holdMs: patienceMs,
  undoneMs: patienceMs,
  closeMs: patienceMs,
};

/** A clock for late answers: the server is away when a test says so, not after a while. */
export class Lateness {
  /** The number of answers that a writer waited for. */
  waits = 0;
  readonly #open = new Set<() => void>();

  readonly whenLate = (_ms: number, late: () => void): (() => void) => {
    this.waits++;
    this.#open.add(late);
    return () => void this.#open.delete(late);
  };

  /** The number of answers that a writer waits for now. */
  get open(): number {
    return this.#open.size;
  }

  /** Makes every open answer late. */
  pass(): void {
    for (const late of this.#open) late();
  }
}

type BatchesAsked = {
  readonly times?: Partial<BatchTimes>;
  readonly lateness?: Lateness;
  readonly answerMs?: number;
  readonly steady?: () => SteadyTime;
  readonly trailing?: TrailingTransaction;
};

export class Marks extends TestDatabase {
  readonly way: Way;

  private constructor(opened: OpenedDatabase, way: Way) {
    super(opened);
    this.way = way;
  }

  static async open(): Promise<Marks> {
    const opened = await openDatabase();
    await using own = opened.own;
    const way = own.use(await Way.to(opened.url));
    await opened.client.query(
      'CREATE TABLE mark (place bigint GENERATED ALWAYS AS IDENTITY, mark integer NOT NULL)',
    );
    return new Marks({ ...opened, own: own.move() }, way);
  }

  /** Connects by the way that can fail. */
  readonly connect = (): Promise<Client> =>
    connect(this.way.url(this.url), { timeoutMs: patienceMs });

  /** Takes over from any earlier instance. @returns the number of the new instance */
  async take(self: ProcessFacts = goneProcess): Promise<number> {
    const taken = await takeInstance(this.client, { version: '1', self });
    if (taken.kind === 'locked') throw new Error('another one runs');
    return taken.id;
  }

  /** A writer on the way that can fail. */
  async writer(parts: Partial<WriterDeps> = {}): Promise<Writer> {
    const instance = parts.instance ?? (await this.take());
    const asked = { connect: this.connect, answerMs: patienceMs, ...parts, instance };
    const writer = new Writer(await this.connect(), asked);
    this.own.defer(() => writer.close());
    return writer;
  }

  async batches(asked: BatchesAsked = {}) {
    const { times, lateness, answerMs = patienceMs, steady = steadyNow, trailing } = asked;
    const writer = await this.writer({ answerMs });
    const batches: MarkBatches = new Batches(writer, {
      compose: composeMarks,
      steady,
      times: { ...patient, ...times },
      ...(trailing === undefined ? {} : { trailing }),
      ...(lateness === undefined ? {} : { whenLate: lateness.whenLate }),
    });
    this.own.defer(() => batches.abandon());
    return batches;
  }

  /** All marks written, in order. */
  async written(): Promise<readonly Mark[]> {
    const { rows } = await this.client.query<{ mark: number }>(
      'SELECT mark FROM mark ORDER BY place',
    );
    return rows.map(({ mark }) => mark);
  }

  /** Blocks the writers of marks. @returns a function that releases them */
  async holdUp(): Promise<() => Promise<unknown>> {
    const client = await this.another();
    await client.query('BEGIN; LOCK TABLE mark IN ACCESS EXCLUSIVE MODE');
    return () => client.query('COMMIT');
  }

  /** From now on each write of a mark fails with this error. @param state the SQLSTATE */
  async refuse(state: string): Promise<void> {
    // A rollback does not undo a sequence, so it counts failed writes too.
    await this.client.query(`
      CREATE SEQUENCE IF NOT EXISTS refusal;
      CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$BEGIN
        PERFORM nextval('refusal');
        RAISE 'refused' USING ERRCODE = '${state}';
      END$$;
      CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON mark EXECUTE FUNCTION refuse()`);
  }

  /** How often a write was refused. */
  async refusals(): Promise<number> {
    const { rows } = await this.client.query<{ n: number }>(
      'SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS n FROM refusal',
    );
    return rows[0]!.n;
  }

  async letIn(): Promise<void> {
    await this.client.query('DROP TRIGGER refuse ON mark');
  }

  /** The number of connections besides this one. */
  async others(): Promise<number> {
    const { rows } = await this.client.query<{ n: number }>(
      'SELECT count(*) AS n FROM pg_stat_activity ' +
        "WHERE datname = current_database() AND backend_type = 'client backend' " +
        'AND pid <> pg_backend_pid()',
    );
    return rows[0]!.n;
  }
}
