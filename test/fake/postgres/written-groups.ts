/** Groups of writes, each written as one batch to empty tables. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite } from 'node:test';
import type { Client } from 'pg';
import { connect } from '../../../src/ledger/postgres/server/connect.ts';
import type { AcceptWrite, Taker } from '../../../src/ledger/postgres/write/accepts.ts';
import { compose } from '../../../src/ledger/postgres/write/compose.ts';
import type { NoteStep, TurnWrite } from '../../../src/ledger/postgres/write/turns.ts';
import type { Query, Landed, Rows } from '../../../src/ledger/postgres/write/statement.ts';
import type { Write } from '../../../src/ledger/postgres/write/writes.ts';
import { migratedDatabase, noPostgres } from '../postgres.ts';

export const taker: Taker = { instance: 1, takes: true, takesSuspects: false };

/** The queue of messages that name no other. */
export const place = { channel: 'webhook', conversation: 'ann' };

const ofAgents = ['note', 'tool_use', 'tool_call'];
const ofQueues = ['lane', 'inbox', 'outbox', 'message', 'sent', 'turn', 'cut', 'search'];
const tables = [...ofQueues, ...ofAgents, 'dedupe', 'cursor', 'audit'];

type Groups = {
  /** A connection beside the writes, for the rows of a case. */
  readonly client: Client;
  readonly ask: (asked: Query) => Promise<Rows>;
  /** Writes all as one batch. A writer that lost its answers reads the same result afterwards. */
  readonly write: (...writes: readonly Write[]) => Promise<Landed>;
};

/** A suite on a new database, whose tables are empty before each case. */
export function groupSuite(name: string, cases: (groups: Groups) => void): void {
  suite(name, { concurrency: 1, skip: noPostgres }, () => {
    let client: Client;
    before(async () => {
      client = await connect(await migratedDatabase());
    });
    after(() => client.end());
    beforeEach(async () => {
      await client.query(`TRUNCATE ${tables.map((one) => `svc.${one}`).join()}`);
    });

    async function ask({ text, values }: Query): Promise<Rows> {
      return (await client.query<Rows[number]>(text, [...values])).rows;
    }

    async function write(...writes: readonly Write[]): Promise<Landed> {
      const { statements, landed } = compose(writes, taker);
      const answers: Rows[] = [];
      const later: Rows[] = [];
      await client.query('BEGIN');
      for (const statement of statements) answers.push(await ask(statement));
      await client.query('COMMIT');
      for (const { again } of statements) later.push(again === undefined ? [] : await ask(again));
      // For a queue without new messages it reports more afterwards, which nobody needs.
      const ofMessages = ({ numbers, known, done }: Landed): unknown[] => [numbers, known, done];
      assert.deepEqual(ofMessages(landed(later)), ofMessages(landed(answers)));
      for (const [queue, facts] of landed(answers).queues) {
        assert.deepEqual(landed(later).queues.get(queue), facts);
      }
      return landed(answers);
    }

    cases({
      get client() {
        return client;
      },
      ask,
      write,
    });
  });
}

/** A message with that id, which keeps its key until 100. */
export function came(
  id: string,
  key: string | null = null,
  fingerprint: string | null = null,
  queue = place,
): AcceptWrite {
  const said = { at: 1, sender: 'ann', private: false, body: '{}' };
  return { kind: 'accept', id, ...queue, ...said, key, expiresAt: 100, fingerprint };
}

/** The end of that message's turn, with two answers. */
export function turn(id: string, notes: readonly NoteStep[] = []): TurnWrite {
  const replies = [0, 1].map((at) => ({
    id: `${id}-${at}`,
    channel: 'webhook',
    at: 2,
    body: '{}',
  }));
  return {
    kind: 'turn',
    id,
    channel: 'webhook',
    conversation: 'c',
    at: 2,
    brain: 'main',
    outcome: 'reply',
    model: null,
    failure: null,
    trace: null,
    unsent: null,
    replies,
    said: { session: 1, at: 1, quoted: false, private: false, text: 'hi', reply: 'hello' },
    queue: null,
    cut: null,
    marks: [],
    uses: [],
    notes,
  };
}
