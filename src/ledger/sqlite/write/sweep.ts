/** The sweep: deletes expired rows in small steps, between the groups. */
import { dayMs } from '../../../lib/durations.ts';
import type { DatabaseSync } from 'node:sqlite';
import { auditDays } from '../../../domain/audit.ts';
import { timeText } from '../../../domain/ids.ts';
import { figureRowsMax, kept } from '../../../telemetry/figures/figures.ts';
import { firstDaysKept } from '../../engine/spending.ts';

/** The most rows of a kind deleted in one step. A group that arrives during a step waits for it. */
export const rowsAtOnce = 50;
const rowsReadMax = 2_000;
/** The free pages that one step returns: more than it creates. */
const pagesAtOnce = 40;

type Swept = { readonly rows: number; readonly deadLetters: readonly string[] };

const isUnlabelled =
  'SELECT stamped = 0 AND EXISTS ' +
  '(SELECT 1 FROM inbox WHERE brain IS NOT NULL AND private IS NULL) AS "is" FROM owner';
const nothingSwept: Swept = { rows: 0, deadLetters: [] };

/**
 * Deletes some expired rows: settled messages and replies, dead letters, traces, settled approvals,
 * and expired dedupe keys. Figures, spend and the audit have times of their own. Conversations stay
 * until a person deletes them.
 * @param retentionDays 0 keeps everything except expired keys, old figures and spend, and the audit
 * after a year
 * @param now milliseconds since 1970
 * @param most the most rows of a kind
 * @returns how many rows went (at `most` or above there may be more), and which dead letters
 */
export function sweep(
  db: DatabaseSync,
  retentionDays: number,
  now: number,
  most = rowsAtOnce,
): Swept {
  // Until old rows have their labels, the messages decide whose they are.
  if (db.prepare(isUnlabelled).get()?.['is'] === 1) return nothingSwept;
  // A step waits for no sync; the next group's sync includes it. A power cut may bring deleted rows
  // back, and the next sweep finds them.
  db.exec('PRAGMA synchronous = NORMAL');
  try {
    return deleteInOne(db, retentionDays, now, most);
  } finally {
    db.exec('PRAGMA synchronous = FULL');
  }
}

function deleteInOne(db: DatabaseSync, retentionDays: number, now: number, most: number): Swept {
  db.exec('BEGIN IMMEDIATE');
  try {
    const swept = deleteOld(db, retentionDays, now, most);
    if (swept.rows > 0) db.exec(`PRAGMA incremental_vacuum(${pagesAtOnce})`);
    db.exec('COMMIT');
    return swept;
  } finally {
    if (db.isTransaction) db.exec('ROLLBACK');
  }
}

function deleteOld(db: DatabaseSync, retentionDays: number, now: number, most: number): Swept {
  const before = retentionDays === 0 ? 0 : now - retentionDays * dayMs;
  let rows = 0;
  const deadLetters: string[] = [];
  // A message stays as long as a reply to it, since the message holds the reply's sender.
  const hasNoReply = 'NOT EXISTS (SELECT 1 FROM outbox WHERE message_id = oldest.id)';
  for (const table of ['outbox', 'inbox']) {
    // Only the oldest rows are read: they expire first, and reading all takes too long.
    const someRows = `ORDER BY seq LIMIT ${rowsReadMax}`;
    const oldest = `SELECT seq, id, state, settled_at FROM ${table} ${someRows}`;
    // The newest row stays: the next start continues from its number.
    const newest = `SELECT max(seq) FROM ${table}`;
    const ended = `state > 0 AND settled_at < ?${table === 'inbox' ? ` AND ${hasNoReply}` : ''}`;
    const some = `SELECT seq FROM (${oldest}) AS oldest WHERE ${ended} AND seq < (${newest})`;
    const which = `seq IN (${some} LIMIT ${most})`;
    const deleted = db
      .prepare(`DELETE FROM ${table} WHERE ${which} RETURNING id, state`)
      .all(before);
    rows += deleted.length;
    for (const { id, state } of deleted) if (state === 2) deadLetters.push(String(id));
  }
  const oldTraces = `SELECT message_id FROM traces WHERE message_id < ? LIMIT ${most}`;
  const first = timeText(before);
  rows += remove(db, `DELETE FROM traces WHERE message_id IN (${oldTraces})`, first);
  const settledApprovals = `SELECT id FROM approvals WHERE settled_at < ? LIMIT ${most}`;
  rows += remove(db, `DELETE FROM approvals WHERE id IN (${settledApprovals})`, before);
  const expiredKeys = `SELECT channel, key FROM dedupe WHERE expires_at < ? LIMIT ${most}`;
  rows += remove(db, `DELETE FROM dedupe WHERE (channel, key) IN (${expiredKeys})`, now);
  const oldestAudit = `SELECT seq FROM (SELECT seq, at FROM audit ORDER BY seq LIMIT ${most})`;
  const yearAgo = now - auditDays * dayMs;
  rows += remove(db, `DELETE FROM audit WHERE seq IN (${oldestAudit} WHERE at < ?)`, yearAgo);
  for (const { lengthMs, forMs } of kept) {
    rows += remove(db, figuresBefore(lengthMs, most), now - forMs);
  }
  const firstDays = firstDaysKept(now, retentionDays);
  rows += remove(db, spendBefore("channel = ''", most), firstDays.all);
  rows += remove(db, spendBefore("channel <> ''", most), firstDays.ofSenders);
  return { rows, deadLetters };
}

function spendBefore(which: string, most: number): string {
  const key = 'day, channel, sender, brain, model, price_input, price_output, costs';
  const old = `SELECT ${key} FROM spend WHERE day < ? AND ${which} LIMIT ${most}`;
  return `DELETE FROM spend WHERE (${key}) IN (${old})`;
}

/** Deletes rows of one length that are too old, or more than the maximum. */
function figuresBefore(lengthMs: number, most: number): string {
  const of = `figures WHERE length_ms = ${lengthMs}`;
  const last = `SELECT at FROM ${of} ORDER BY at DESC LIMIT 1 OFFSET ${figureRowsMax}`;
  const old = `SELECT at, run FROM ${of} AND at <= max(?1 - 1, coalesce((${last}), ?1 - 1))`;
  return `DELETE FROM ${of} AND (at, run) IN (${old} LIMIT ${most})`;
}

function remove(db: DatabaseSync, sql: string, limit: number | string): number {
  return Number(db.prepare(sql).run(limit).changes);
}
