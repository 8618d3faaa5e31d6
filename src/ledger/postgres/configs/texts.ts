/** The configurations that are and were in use, as rows. */
import type { KeptRow, SharedConfig, WrittenConfig } from '../../../cluster/shared-configs.ts';
import type { Ask } from '../read/ask.ts';
import { fromText } from '../server/text.ts';

const keptMax = 100;

/** @param revision the newest of that revision; left out: the one in use */
export async function newest(ask: Ask, revision?: string): Promise<SharedConfig | null> {
  const which = revision === undefined ? '' : 'WHERE revision = $1 ';
  const [row] = await ask<SharedConfig>(
    'SELECT n, revision, text, floor(extract(epoch FROM at) * 1000)::bigint AS at ' +
      `FROM svc.config ${which}ORDER BY n DESC LIMIT 1`,
    ...(revision === undefined ? [] : [revision]),
  );
  return row === undefined ? null : { ...row, text: fromText(row.text) };
}

export async function newestNumber(ask: Ask): Promise<number | null> {
  const [row] = await ask<{ n: number }>('SELECT n FROM svc.config ORDER BY n DESC LIMIT 1');
  return row?.n ?? null;
}

/** Newest first, each revision once. */
export function listKept(ask: Ask): Promise<readonly KeptRow[]> {
  return ask<KeptRow>(
    'SELECT n, revision, floor(extract(epoch FROM at) * 1000)::bigint AS at, ' +
      'octet_length(text) AS bytes FROM svc.config AS one WHERE NOT EXISTS (' +
      'SELECT FROM svc.config WHERE revision = one.revision AND n > one.n) ORDER BY n DESC',
  );
}

/** It is the one in use from then on. @returns its number */
export async function insertConfig(ask: Ask, written: WrittenConfig): Promise<number> {
  const { revision, by, text } = written;
  const [row] = await ask<{ n: number }>(
    'INSERT INTO svc.config (revision, by, text) VALUES ($1, $2, $3) RETURNING n',
    revision,
    by,
    text,
  );
  await ask(
    'DELETE FROM svc.config WHERE n < (SELECT min(n) FROM (' +
      `SELECT n FROM svc.config ORDER BY n DESC LIMIT ${keptMax}) AS kept)`,
  );
  return row!.n;
}
