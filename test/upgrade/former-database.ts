/** Makes databases as an older svc left them, with the schema of that time. */
import { hash } from 'node:crypto';
import { readFileSync, renameSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { applicationId, migrationFiles } from '../../src/ledger/sqlite/files/migrations.ts';

const migrations = new URL('../../src/ledger/sqlite/files/migrations/', import.meta.url);

/** Makes an empty database. @param version of its schema, 1 or higher */
export function makeFormer(path: string, version: number): DatabaseSync {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL');
  for (const name of migrationFiles().slice(0, version)) {
    db.exec(readFileSync(new URL(name, migrations), 'utf8'));
  }
  db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`);
  return db;
}

/**
 * Fills a database of version 6 with answered messages, ten in each conversation.
 * @param count of messages, of replies and of turns
 */
export function fillFormer(db: DatabaseSync, count: number): void {
  const conversation = `'c' || (n % ${Math.ceil(count / 10)})`;
  const said = "n || ' ' || hex(zeroblob(100))";
  const numbers = `WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted
    WHERE n < ${count})`;
  const messages = 'inbox (seq, id, channel, conversation, accepted_at, body, state, settled_at)';
  const replies =
    'outbox (seq, id, channel, conversation, created_at, message_id, body, state, settled_at)';
  const turns =
    'turns (channel, conversation, session, seq, at, private, sender, text, reply, left_out)';
  const message = `json_object('sender', json_object('id', 'ada'), 'text', ${said}, 'target', 't')`;
  const reply = `json_object('inReplyTo', printf('%022d', n), 'text', ${said}, 'target', 't')`;
  const place = "'webhook', " + conversation;
  db.exec(`BEGIN;
    ${numbers} INSERT INTO ${messages} SELECT 2 * n, printf('%022d', n), ${place}, n, ${message},
      1, n FROM counted;
    ${numbers} INSERT INTO ${replies} SELECT 2 * n + 1, printf('%022d', n), ${place}, n,
      printf('%022d', n), ${reply}, 1, n FROM counted;
    ${numbers} INSERT INTO ${turns} SELECT ${place}, 1 + n % 3, 2 * n, n, n % 2,
      iif(n % 7, 'ada', 'bob'), ${said}, iif(n % 11, ${said}, NULL), n % 3 = 2 FROM counted
      ORDER BY 2, 3, 4;
    ${numbers} INSERT INTO traces SELECT printf('%022d', n), '{}' FROM counted;
    COMMIT`);
}

/** Returns a digest of every row of a table, as text. Any change to any row changes it. */
export function digestOf(db: DatabaseSync, table: string, columns: readonly string[]): string {
  const all = columns.map((column) => `quote(${column})`).join(` || '|' || `);
  let [count, sum] = [0, 0n];
  for (const { row } of db.prepare(`SELECT ${all} AS row FROM ${table}`).iterate()) {
    count++;
    // The digest ignores the order of the rows.
    sum += hash('sha256', String(row), 'buffer').readBigUInt64BE();
  }
  return `${count} rows, ${sum}`;
}

/**
 * Gives a database the schema of an earlier version, and keeps all of its rows.
 * @param path of a database that nobody has open
 */
export function takeBack(path: string, version: number): void {
  const draft = `${path}.former`;
  const db = makeFormer(draft, version);
  db.prepare('ATTACH ? AS later').run(path);
  const tables = db.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table'").all();
  for (const { name } of tables) {
    const table = String(name);
    const columns = columnsOf(db, table).join(', ');
    // The rows of the later database replace the rows that triggers have just written.
    db.exec(
      `INSERT OR REPLACE INTO main.${table} (${columns}) SELECT ${columns} FROM later.${table}`,
    );
  }
  db.close();
  renameSync(draft, path);
}

/** Returns the columns in the order of their creation. */
function columnsOf(db: DatabaseSync, table: string): readonly string[] {
  const columns = db.prepare('SELECT name FROM pragma_table_info(?)').all(table);
  return columns.map(({ name }) => String(name));
}
