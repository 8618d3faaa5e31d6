/**
 * Starts the storage thread of a service early, if its file plainly names an SQLite file. The check
 * is cheap and may be wrong. If it misses a storage, the thread starts later; if there is none
 * after all, the thread ends unused. It opens no database and changes nothing on the disk.
 */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { beginStorage, type OpenedStorage } from '../../app/storage.ts';
import type { Io } from '../cli.ts';

const bytesMax = 1_048_576;

/**
 * @param given the value of `--config`; null: not given
 * @returns the caller disposes of it; null: no thread was started
 */
export async function beginNamedStorage(
  given: string | null,
  { cwd, env }: Pick<Io, 'cwd' | 'env'>,
): Promise<OpenedStorage | null> {
  const path = resolve(cwd, given ?? (env['SVC_CONFIG'] || 'svc.json'));
  return namesSqlite(textOf(path)) ? await beginStorage() : null;
}

/** A block with `url_env` names a database server. */
export function namesSqlite(text: string): boolean {
  const [, block] = /"storage"\s*:\s*\{([^}]*)\}/.exec(text) ?? [];
  return block !== undefined && !block.includes('"url_env"');
}

/** Empty unless it is a regular file: reading from a pipe would take the text out of it. */
function textOf(path: string): string {
  try {
    const facts = statSync(path);
    return facts.isFile() && facts.size <= bytesMax ? readFileSync(path, 'utf8') : '';
  } catch {
    return '';
  }
}
