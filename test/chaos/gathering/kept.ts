/** The storage of svc, and queries on it from outside. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { connect } from '../../../src/ledger/postgres/server/connect.ts';
import { newDatabase } from '../../fake/postgres.ts';
import type { Program } from '../../support/program.ts';
import { leftIn, type Left } from '../audit.ts';
import { Rows } from '../many/rows.ts';
import { spawnAfter, spawnPast } from '../ran-alone.ts';
import { patienceMs } from '../../support/waiting.ts';

/** `strays`: attachments of deleted messages. `twice`: pictures stored with two messages. */
const attachments = {
  kept: 'SELECT count(*) AS n FROM attachments',
  strays:
    'SELECT count(*) AS n FROM attachments ' +
    'WHERE NOT EXISTS (SELECT 1 FROM messages WHERE messages.id = message_id)',
  twice: "SELECT count(*) - count(DISTINCT content) AS n FROM attachments WHERE kind = 'picture'",
};
/** `joined`: messages that were merged into another one. */
const messages = {
  answered: 'SELECT count(*) AS n FROM messages WHERE is_settled',
  joined: `SELECT count(*) AS n FROM messages WHERE trace LIKE '%"kind":"joined"%'`,
};
const questions = { ...attachments, ...messages };
export type Question = keyof typeof questions;

export type Kept = {
  readonly block: object;
  readonly env: Record<string, string>;
  /** Starts the program, after the answer to a message that ran alone at its last end. */
  spawnPast(spawn: () => Program): Promise<Program>;
  count(question: Question): Promise<number>;
  /** Counts the remaining rows, once nobody has the storage open. */
  left(): Promise<Left>;
};

export function onSqlite(folder: string): Kept {
  const file = join(folder, 'svc.db');
  return {
    block: { path: 'svc.db' },
    env: {},
    spawnPast: (spawn) => spawnPast(file, spawn),
    async count(question) {
      using db = new DatabaseSync(file, { readOnly: true, timeout: patienceMs });
      const seen =
        'WITH messages AS (SELECT inbox.id, state = 1 AS is_settled, traces.body AS trace ' +
        'FROM inbox LEFT JOIN traces ON traces.message_id = inbox.id) ';
      return Number(db.prepare(seen + questions[question]).get()?.['n']);
    },
    left: async () => leftIn(file),
  };
}

export async function onPostgres(): Promise<Kept> {
  const url = await newDatabase();
  const rows = new Rows(() => url);
  let started = false;
  const ranAlone = async (): Promise<boolean> => started && (await rows.ranAlone());
  return {
    block: { url_env: 'LETTERS_URL' },
    env: { LETTERS_URL: url },
    async spawnPast(spawn) {
      const program = await spawnAfter(ranAlone, spawn);
      // Its tables exist from here on.
      await program.saw('is up');
      started = true;
      return program;
    },
    async count(question) {
      const seen =
        'WITH messages AS (SELECT id, failure IS NULL AS is_settled, trace FROM svc.message ' +
        'UNION ALL SELECT id, false, NULL FROM svc.inbox), ' +
        'attachments AS (SELECT * FROM svc.attachment) ';
      const client = await connect(url);
      try {
        return Number((await client.query<{ n: unknown }>(seen + questions[question])).rows[0]?.n);
      } finally {
        await client.end();
      }
    },
    left: () => rows.left(),
  };
}
