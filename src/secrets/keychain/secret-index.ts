/**
 * The index of the keychain: the names that svc stored there, and when. It is a file that only this
 * user may read, and holds no value.
 *
 * A writer creates the next file under a name that only one writer can take at a time. It syncs the
 * file and renames it over the old one. So two concurrent writers lose nothing, and a power cut
 * leaves the old file or the new one.
 */
import { constants } from 'node:fs';
import { open, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { makeFolder } from '../../lib/make-folder.ts';
import { isEnvName } from '../../config/formats.ts';
import { defaultStoragePath } from '../../config/inspect.ts';
import type { KeychainFault, StoredSecret, StoredSecrets } from '../secrets.ts';
import { indexFault } from './faults.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** The result of a change. */
export type IndexChange = { readonly kind: 'done' } | KeychainFault;

const bytesMax = 1_048_576;
const namesMax = 1_000;
/** A writer holds the next file for milliseconds. After this time its writer counts as dead. */
const abandonedMs = 10_000;
const waitMs = 20_000;
const retryMs = 20;

export class SecretIndex {
  readonly file: string;
  readonly #next: string;

  constructor(env: Env) {
    const folder = dirname(defaultStoragePath(env));
    this.file = join(folder, 'secrets.json');
    this.#next = join(folder, '.secrets.json.new');
  }

  /** Reads the index. A missing file is an empty index. */
  async read(): Promise<StoredSecrets> {
    let text: string;
    try {
      const facts = await stat(this.file);
      // Reading a pipe would block, and reading a device would never end.
      if (!facts.isFile()) return this.#broken('is a folder, a pipe or a device');
      if (facts.size > bytesMax) return this.#broken('has more than 1 MiB');
      text = await readFile(this.file, 'utf8');
    } catch (error) {
      const { code = 'unknown error' } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'stored', secrets: [] };
      return this.#unreachable('read', code);
    }
    const secrets = parseIndex(text);
    if (secrets === null) return this.#broken('is no list of secrets that svc has written');
    return { kind: 'stored', secrets };
  }

  /** Reads the index, or returns a fault if it has no room for this name. */
  async readFor(name: string): Promise<StoredSecrets> {
    const stored = await this.read();
    if (stored.kind === 'fault' || stored.secrets.length < namesMax) return stored;
    return stored.secrets.some((one) => one.name === name) ? stored : this.#full();
  }

  /** @param setAt milliseconds since 1970 */
  add(name: string, setAt: number): Promise<IndexChange> {
    return this.#change((secrets) => [
      ...secrets.filter((one) => one.name !== name),
      { name, setAt },
    ]);
  }

  remove(name: string): Promise<IndexChange> {
    return this.#change((secrets) => secrets.filter((one) => one.name !== name));
  }

  async #change(
    next: (secrets: readonly StoredSecret[]) => readonly StoredSecret[],
  ): Promise<IndexChange> {
    try {
      await makeFolder(dirname(this.file), 0o700);
      await using handle = await this.#createNext();
      if (handle === null) return this.#busy();
      try {
        const stored = await this.read();
        if (stored.kind === 'fault') return stored;
        const secrets = next(stored.secrets);
        if (secrets.length > namesMax) return this.#full();
        await handle.writeFile(textOf(secrets));
        await handle.sync();
        if (!(await this.#isOurs(handle))) return this.#busy();
        await rename(this.#next, this.file);
      } finally {
        if (await this.#isOurs(handle)) await rm(this.#next, { force: true });
      }
      await syncFolder(dirname(this.file));
      return { kind: 'done' };
    } catch (error) {
      return this.#unreachable('written', (error as NodeJS.ErrnoException).code ?? 'unknown error');
    }
  }

  /**
   * Creates the next file, which no other writer has at the same time.
   * @returns null when another writer holds it for too long
   */
  async #createNext(): Promise<FileHandle | null> {
    const { O_CREAT, O_EXCL, O_WRONLY } = constants;
    const lastAt = performance.now() + waitMs;
    while (performance.now() < lastAt) {
      try {
        return await open(this.#next, O_CREAT | O_EXCL | O_WRONLY, 0o600);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        // Windows answers EPERM for a file that is being deleted.
        if (code !== 'EEXIST' && !(code === 'EPERM' && process.platform === 'win32')) throw error;
      }
      const facts = await stat(this.#next).catch(() => null);
      if (facts !== null && Math.abs(Date.now() - facts.mtimeMs) > abandonedMs) {
        await rm(this.#next, { force: true });
      }
      await pause(retryMs);
    }
    return null;
  }

  /** Whether the next file is still the opened one. Another writer may have judged it abandoned. */
  async #isOurs(handle: FileHandle): Promise<boolean> {
    const [own, there] = await Promise.all([handle.stat(), stat(this.#next).catch(() => null)]);
    return there !== null && own.ino === there.ino && own.dev === there.dev;
  }

  #broken(what: string): KeychainFault {
    return indexFault(
      `The index of the keychain, ${this.file}, ${what}; it was left as it is.`,
      'Mend it, or move it away and store the secrets again with svc secrets set.',
    );
  }

  #unreachable(what: 'read' | 'written', code: string): KeychainFault {
    return indexFault(
      `The index of the keychain, ${this.file}, cannot be ${what} (${code}).`,
      `Give this user the right to use it and its folder.`,
    );
  }

  #full(): KeychainFault {
    return indexFault(
      `The index of the keychain, ${this.file}, has ${namesMax} names, and takes no more.`,
      'Delete secrets that are used no more: svc secrets list shows them.',
    );
  }

  #busy(): KeychainFault {
    return indexFault(
      `The index of the keychain, ${this.file}, is being written by another svc.`,
      'Try again.',
    );
  }
}

/** `{"version": 1, "secrets": {"NAME": {"set_at": "2026-11-21T18:05:04.000Z"}}}` */
function textOf(secrets: readonly StoredSecret[]): string {
  const rows = [...secrets]
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, setAt }) => [name, { set_at: new Date(setAt).toISOString() }]);
  return `${JSON.stringify({ version: 1, secrets: Object.fromEntries(rows) }, null, 2)}\n`;
}

/** @returns null when the text is no index */
function parseIndex(text: string): readonly StoredSecret[] | null {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return null;
  }
  const { version, secrets } = fieldsOf(document) ?? {};
  const rows = fieldsOf(secrets);
  if (version !== 1 || rows === null) return null;
  const read = Object.entries(rows).map(([name, row]) => {
    const setAt = Date.parse(String(fieldsOf(row)?.['set_at']));
    return isEnvName(name) && Number.isFinite(setAt) ? { name, setAt } : null;
  });
  return read.every((row) => row !== null) ? read : null;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  return { ...value };
}

async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using handle = await open(path, 'r');
  await handle.sync();
}
