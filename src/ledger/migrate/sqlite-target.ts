/**
 * An SQLite file as a source or a target of a migration. A target gets its name only once it is
 * complete.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import {
  tables,
  pageRows,
  type Row,
  type TableName,
  type Target,
  type Value,
  type Side,
} from './tables.ts';
import { timeOfId, timeText } from '../../domain/ids.ts';
import { wholeIdLength } from '../engine/queue.ts';

// The source: the rows of an SQLite file in the format of `tables.ts`.

/**
 * Unlabelled rows are from before sensitivity labels; they are private unless their channel was
 * public then.
 */
const isPrivate = (label: string): string =>
  `coalesce(${label}, NOT ((SELECT stamped FROM owner) = 1 ` +
  'AND channel IN (SELECT channel FROM public_before)))';

const selects: Readonly<Record<TableName, string>> = {
  messages:
    'SELECT seq AS n, seq AS number, id, channel, conversation, accepted_at, ' +
    `${isPrivate('private')} AS private, attempts, iif(state = 0, alone, 0) AS alone, body, ` +
    "state, body ->> '$.sender.id' AS sender, iif(state = 0, NULL, settled_at) AS settled_at, " +
    'iif(state = 0, NULL, brain) AS brain, iif(state = 0, NULL, outcome) AS outcome, ' +
    'iif(state = 0, NULL, model) AS model, iif(state = 2, failure, NULL) AS failure, ' +
    'iif(state = 0, NULL, (SELECT traces.body FROM traces WHERE message_id = inbox.id)) ' +
    'AS trace, iif(state = 0, NULL, unsent) AS unsent ' +
    'FROM inbox ORDER BY channel, conversation, seq',
  replies:
    "SELECT id, channel, conversation, seq, created_at, coalesce(message_id, '') AS message_id, " +
    'attempts, replayed, possible_duplicate, late, iif(state = 0, parked, 0) AS parked, ' +
    'iif(state = 0, due_at, NULL) AS due_at, iif(state = 1, NULL, failure) AS failure, tries, ' +
    'body, state, iif(state = 0, NULL, settled_at) AS settled_at, ' +
    'iif(state = 1, took_ms, NULL) AS took_ms FROM outbox ORDER BY seq',
  turns:
    'SELECT channel, conversation, session, seq AS n, seq AS number, at, sender, ' +
    `${isPrivate('private')} AS private, left_out, text, reply, ` +
    '(SELECT id FROM inbox WHERE inbox.seq = turns.seq) AS message_id ' +
    'FROM turns ORDER BY channel, conversation, session, seq',
  conversations:
    'SELECT channel, conversation, session, started_at, previous_at, windows FROM conversations',
  cuts: 'SELECT channel, conversation, session, at, reason FROM cuts',
  notes:
    'SELECT seq, seq AS number, brain, channel, conversation, at, ' +
    `${isPrivate('private')} AS private, text, NULL AS message_id FROM notes ORDER BY seq`,
  tool_uses:
    'SELECT seq, key, message_id, channel, conversation, at, ms, tool, mode, rule, outcome, ' +
    'arguments, told FROM tool_uses ORDER BY seq',
  tool_calls:
    'SELECT key, message_id, tool, hash, coalesce(private, 1) AS private, text, outcome, ms ' +
    'FROM tool_calls',
  attachments:
    'SELECT message_id, place, channel, conversation, kind, name, type, private, content ' +
    'FROM attachments',
  keys: 'SELECT channel, key, message_id, expires_at, fingerprint FROM dedupe',
  cursors: "SELECT channel, name, value FROM cursors WHERE channel <> ''",
  audit: 'SELECT seq, at, action, target, status, reason FROM audit ORDER BY seq',
  figures: 'SELECT length_ms, at, run, body FROM figures',
  approvals:
    'SELECT id, code, state, channel, conversation, sender, message_id, brain, tool, private, ' +
    'asked_at, expires_at, decided_at, decided_by, settled_at, outcome, body ' +
    'FROM approvals',
  spend:
    'SELECT channel, sender, day, brain, model, price_input, price_output, costs, calls, ' +
    'estimated_calls, input, output, open_input, open_output FROM spend',
};

const booleans = ['private', 'possible_duplicate', 'late', 'parked', 'costs'];

export class SqliteSide implements Side {
  protected readonly db: DatabaseSync;
  readonly #close: () => void;

  /**
   * @param db in a transaction, so that all reads see one moment
   * @param close also releases the lock
   */
  constructor(db: DatabaseSync, close: () => void) {
    this.db = db;
    this.#close = close;
  }

  async count(table: TableName): Promise<number> {
    const { n } = this.db.prepare(`SELECT count(*) AS n FROM (${selects[table]})`).get()!;
    return Number(n);
  }

  async *rows(table: TableName): AsyncGenerator<readonly Row[]> {
    let page: Row[] = [];
    const replayTimes = new ReplayTimes();
    for (const found of this.db.prepare(selects[table]).iterate()) {
      const row = rowOf(found as Record<string, string | number | null>);
      if (table === 'messages') page.push({ ...row, replayed: wasReplayed(row) });
      else if (table === 'replies') page.push({ ...row, replayed_at: replayTimes.at(row) });
      else page.push(row);
      if (page.length < pageRows(table)) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#close();
  }
}

function rowOf(found: Record<string, string | number | null>): Row {
  const row: Record<string, string | number | boolean | null> = { ...found };
  for (const name of booleans) if (name in row) row[name] = row[name] === 1;
  if ('message_id' in row && row['message_id'] === null) {
    row['message_id'] = idOf(Number(row['at']), Number(row['number']));
  }
  return row;
}

/**
 * An id is older than the acceptance of its message only for a replayed dead letter, which keeps
 * its id.
 */
function wasReplayed(row: Row): boolean {
  return Number(row['accepted_at']) > timeOfId(String(row['id']));
}

/**
 * When a reply was put back after it was dead; call it in the order of `seq`. A reply whose id is
 * older than that of a reply before it was put back after that one was made.
 */
class ReplayTimes {
  #newest = '';

  /** @returns null: it was not put back */
  at(row: Row): number | null {
    const id = String(row['id']).slice(0, wholeIdLength);
    if (id < this.#newest) return timeOfId(this.#newest) + 1;
    this.#newest = id;
    return null;
  }
}

/** An id for a turn or a note whose message is deleted; it sorts as the id of the message did. */
function idOf(at: number, number: number): string {
  return timeText(at) + timeText(number).padStart(wholeIdLength - timeText(at).length, '0');
}

const names: Readonly<Record<TableName, string>> = {
  messages: 'inbox',
  replies: 'outbox',
  turns: 'turns',
  conversations: 'conversations',
  cuts: 'cuts',
  notes: 'notes',
  tool_uses: 'tool_uses',
  tool_calls: 'tool_calls',
  attachments: 'attachments',
  keys: 'dedupe',
  cursors: 'cursors',
  audit: 'audit',
  figures: 'figures',
  approvals: 'approvals',
  spend: 'spend',
};

/** Tables that get new numbers, one sequence for all. */
const renumbered = new Set<TableName>(['messages', 'turns']);

export class SqliteTarget extends SqliteSide implements Target {
  readonly #keep: () => void;

  /** @param keep called after the commit: gives the file its name */
  constructor(db: DatabaseSync, close: () => void, keep: () => void) {
    super(db, close);
    this.#keep = keep;
  }

  async put(table: TableName, rows: readonly Row[]): Promise<void> {
    const columns = tables[table].columns.filter((name) => name !== 'trace');
    const all = renumbered.has(table) ? [...columns, 'seq'] : columns;
    const marks = all.map(() => '?').join(', ');
    const insert = this.db.prepare(
      `INSERT INTO ${names[table]} (${all.join(', ')}) VALUES (${marks})`,
    );
    const trace = this.db.prepare('INSERT INTO traces (message_id, body) VALUES (?, ?)');
    for (const row of rows) {
      const values = columns.map((name) => bound(row[name] ?? null));
      insert.run(...values, ...(renumbered.has(table) ? [bound(row['number']!)] : []));
      const traced = row['trace'] ?? null;
      if (traced !== null) trace.run(bound(row['id']!), bound(traced));
    }
  }

  async complete(): Promise<void> {
    const newest = (column: string, of: readonly string[]): string =>
      `max(${of.map((table) => `coalesce((SELECT max(${column}) FROM ${table}), '')`).join(', ')})`;
    const seqs = ['inbox', 'outbox', 'turns', 'notes', 'tool_uses'];
    const highest = seqs.map((table) => `coalesce((SELECT max(seq) FROM ${table}), 0)`);
    this.db.exec(
      `UPDATE owner SET clean = 1, stamped = 1, last_seq = max(${highest.join(', ')}), ` +
        `last_id = substr(${newest('id', ['inbox', 'outbox'])}, 1, 22)`,
    );
  }

  async keep(): Promise<void> {
    this.db.exec('COMMIT');
    this.#keep();
  }
}

function bound(value: Value): SQLInputValue {
  return typeof value === 'boolean' ? Number(value) : value;
}
