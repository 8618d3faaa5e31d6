/** A database of SQLite that a test fills by hand, and its reader. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ChannelKey } from '../../src/domain/ids.ts';
import type { PageRequest } from '../../src/domain/page.ts';
import { migrate } from '../../src/ledger/sqlite/files/migrations.ts';
import { openSqliteReader } from '../../src/ledger/sqlite/read/reader.ts';
import type { LedgerReader } from '../../src/ledger/ledger.ts';

export const hook = 'webhook' as ChannelKey;
export const all: PageRequest = { after: null, limit: 500 };

export class ReadFile implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'svc-reader-'));
  readonly path = join(this.folder, 'svc.db');

  /** Makes a database of today's schema. @returns a connection that may write it */
  make(): DatabaseSync {
    const db = new DatabaseSync(this.path);
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF');
    migrate(db);
    return db;
  }

  open(): LedgerReader {
    const reader = openSqliteReader(this.path);
    assert.ok(!('kind' in reader), 'it can be read');
    return reader;
  }

  problem(): string {
    const reader = openSqliteReader(this.path);
    assert.ok('kind' in reader, 'it cannot be read');
    assert.match(reader.message, /^\S.*\.$/);
    return reader.code;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

let seq = 0;
export const idAt = (number: number): string => String(number).padStart(22, '0');

export function addTurn(
  db: DatabaseSync,
  conversation: string,
  more: Record<string, unknown> = {},
): void {
  const row = { session: 1, at: ++seq, sender: 'ada', text: `text ${seq}`, reply: 'yes', ...more };
  db.prepare(
    'INSERT INTO turns (channel, conversation, session, seq, at, sender, text, reply) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  ).run(hook, conversation, row.session, seq, row.at, row.sender, row.text, row.reply);
}

export function addDead(
  db: DatabaseSync,
  diedAt: number,
  failure = '{"kind":"gone","detail":"x"}',
): string {
  const id = idAt(++seq);
  db.prepare(
    'INSERT INTO outbox (seq, id, channel, conversation, created_at, body, state, attempts, ' +
      "settled_at, failure, message_id) VALUES (?, ?, 'webhook', 'c', 1, '{}', 2, 1, ?, ?, ?)",
  ).run(seq, id, diedAt, failure, idAt(seq));
  return id;
}

export function addWaiting(db: DatabaseSync, conversation: string): string {
  const id = idAt(++seq);
  const body = JSON.stringify({ sender: { id: 'ada', name: null }, text: 'hi', media: null });
  db.prepare(
    'INSERT INTO inbox (seq, id, channel, conversation, accepted_at, body) ' +
      "VALUES (?, ?, 'webhook', ?, ?, ?)",
  ).run(seq, id, conversation, seq, body);
  return id;
}

export async function everyPage<T>(
  ask: (
    page: PageRequest,
  ) => Promise<{ readonly rows: readonly T[]; readonly next: string | null }>,
  limit: number,
  between: (page: number) => void = () => {},
): Promise<T[]> {
  const rows: T[] = [];
  let after: string | null = null;
  for (let page = 0; ; page++) {
    assert.ok(page < 1_000, 'pages come to an end');
    const found = await ask({ after, limit });
    assert.ok(found.rows.length <= limit);
    rows.push(...found.rows);
    if (found.next === null) return rows;
    after = found.next;
    between(page);
  }
}
