/**
 * Begins the storage of a service ahead, where its file plainly names one. The look is a cheap one:
 * it may miss a storage, whose thread then begins later, or see one that is none, whose thread is
 * ended unused. Nothing on the disk is opened or changed by it.
 */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { beginStorage, type Begun } from '../../app/storage.ts';
import type { Io } from '../cli.ts';

const bytesMax = 1_048_576;

/**
 * @param given what `--config` names; null: it was not given
 * @returns to be disposed of; null: nothing was begun
 */
export async function beginNamedStorage(
  given: string | null,
  { cwd, env }: Pick<Io, 'cwd' | 'env'>,
): Promise<Begun | null> {
  const path = resolve(cwd, given ?? (env['SVC_CONFIG'] || 'svc.json'));
  return namesSqlite(textOf(path)) ? await beginStorage() : null;
}

/** A database server is named by `url_env`. */
export function namesSqlite(text: string): boolean {
  const [, block] = /"storage"\s*:\s*\{([^}]*)\}/.exec(text) ?? [];
  return block !== undefined && !block.includes('"url_env"');
}

/** Empty where it is no file: what is read from a pipe is gone from it. */
function textOf(path: string): string {
  try {
    const facts = statSync(path);
    return facts.isFile() && facts.size <= bytesMax ? readFileSync(path, 'utf8') : '';
  } catch {
    return '';
  }
}
