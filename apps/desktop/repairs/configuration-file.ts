/** The configuration's file under the hands of its person: what is replaced is kept. */
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../../src/lib/make-folder.ts';
import type { ConfigProblem } from '../../../src/config/config.ts';
import { inspectText, revisionOf } from '../../../src/config/inspect.ts';
import { validateText } from '../../../src/config/validate.ts';
import { readDisk } from '../../../src/app/config/file-on-disk.ts';
import {
  historyFault,
  historyFolder,
  keep,
  listKept,
  pruneKept,
  readKept,
} from '../../../src/app/config/history.ts';
import { replaceFile, writeNew } from '../../../src/app/config/saved-file.ts';
import type { Earlier, ReadText, Repaired, RepairFault, SavedText } from './repairs.ts';

type Env = Readonly<Record<string, string | undefined>>;

export class ConfigurationFile {
  readonly #file: string;
  readonly #env: Env;

  /** @param file absolute */
  constructor(file: string, env: Env) {
    this.#file = file;
    this.#env = env;
  }

  async read(): Promise<ReadText | RepairFault> {
    const disk = await readDisk(this.#file);
    if (disk.kind === 'text') return { kind: 'text', text: disk.text, revision: disk.revision };
    return { kind: 'fault', message: `The configuration cannot be read: ${disk.why}.` };
  }

  /** @param told what is told where it was done */
  async replace(text: string, revision: string, told: string): Promise<SavedText> {
    const disk = await readDisk(this.#file);
    if (disk.revision !== revision) return { kind: 'changed' };
    const { validation } = await inspectText(text, this.#file, this.#env);
    const problems = validation.problems.filter(isError);
    if (problems.length > 0) return { kind: 'problems', problems };
    if (disk.kind === 'text' && disk.text === text) return { kind: 'done', told };
    if (disk.kind === 'text') {
      const fault = await this.#keep(disk.text);
      if (fault !== null) return fault;
    }
    const unchanged = async (): Promise<boolean> =>
      (await readDisk(this.#file)).revision === revision;
    const saved = await replaceFile(this.#file, { text, unchanged });
    if (saved.kind !== 'saved') return saved;
    // One more than is needed is kept where this fails.
    await pruneKept(this.#file, revisionOf(text)).catch(() => {});
    return { kind: 'done', told };
  }

  async #keep(text: string): Promise<RepairFault | null> {
    try {
      await keep(this.#file, text, Date.now());
      return null;
    } catch (error) {
      return { kind: 'fault', message: historyFault(error, this.#file) };
    }
  }

  /** Those without a problem, the newest first. */
  async earlier(): Promise<readonly Earlier[]> {
    const { revision: now } = await readDisk(this.#file);
    const found = new Map<string, Earlier>();
    const worked = await this.#worked();
    if (worked !== null) found.set(worked.revision, worked);
    for (const { revision, savedAt } of await listKept(this.#file).catch(() => [])) {
      if (found.has(revision) || revision === now) continue;
      const text = await this.#textOf(revision);
      if (text !== null && isValid(text)) found.set(revision, { revision, savedAt });
    }
    found.delete(now);
    return [...found.values()].sort((a, b) => b.savedAt - a.savedAt);
  }

  async takeBack(revision: string): Promise<Repaired> {
    const text = await this.#textOf(revision);
    if (text === null) {
      return { kind: 'fault', message: 'That configuration is not kept any more. Choose again.' };
    }
    const { revision: now } = await readDisk(this.#file);
    return asRepaired(await this.replace(text, now, 'The earlier configuration is back.'));
  }

  /** Keeps the text that lies there beside the earlier ones, in place of the one that worked. */
  async remember(): Promise<void> {
    const disk = await readDisk(this.#file);
    if (disk.kind !== 'text' || !isValid(disk.text)) return;
    if ((await this.#worked())?.revision === disk.revision) return;
    const folder = await historyFolder(this.#file);
    await makeFolder(folder, 0o700);
    const part = join(folder, `${workedName}.new`);
    await writeNew(part, JSON.stringify({ savedAt: disk.savedAt, text: disk.text }));
    await rename(part, join(folder, workedName));
  }

  async #textOf(revision: string): Promise<string | null> {
    const kept = await readKept(this.#file, revision).catch(() => null);
    if (kept !== null) return kept.text;
    const worked = await this.#worked();
    return worked?.revision === revision ? worked.text : null;
  }

  async #worked(): Promise<(Earlier & { readonly text: string }) | null> {
    try {
      const path = join(await historyFolder(this.#file), workedName);
      const { savedAt, text } = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
      if (typeof savedAt !== 'number' || typeof text !== 'string') return null;
      return { revision: revisionOf(text), savedAt, text };
    } catch {
      return null;
    }
  }
}

/** No name of an earlier configuration is like it. */
const workedName = '.worked';

const isError = ({ severity }: ConfigProblem): boolean => severity === 'error';
const isValid = (text: string): boolean => validateText(text).kind === 'valid';

/** For who shows a sentence alone. */
export function asRepaired(saved: SavedText): Repaired {
  switch (saved.kind) {
    case 'done':
    case 'fault':
      return saved;
    case 'changed':
      return {
        kind: 'fault',
        message: 'The configuration was changed by somebody else just now. Try again.',
      };
    case 'problems': {
      const [{ path, message, remedy } = { path: '', message: 'it has problems', remedy: '' }] =
        saved.problems;
      const where = path === '' ? '' : `${path}: `;
      return { kind: 'fault', message: `Nothing was changed. ${where}${message}. ${remedy}` };
    }
    default:
      return saved satisfies never;
  }
}
