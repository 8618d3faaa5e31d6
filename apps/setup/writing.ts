/** The step that writes: it stores secrets in the keychain and writes the file. */
import { randomBytes } from 'node:crypto';
import { constants, copyFile, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../../src/lib/make-folder.ts';
import { commandName, forShell } from '../../src/lib/program.ts';
import { inspectText } from '../../src/config/inspect.ts';
import { textOf } from '../../src/config/templates/templates.ts';
import { replaceFile } from '../../src/app/config/saved-file.ts';
import type { Keychain } from '../../src/secrets/secrets.ts';
import { isOfUnit, startOfUnit } from '../../src/app/service-place.ts';
import type { SecretValues } from './session.ts';
import type { Written, WritePlan } from './state.ts';

export type WriteOptions = {
  readonly file: string;
  readonly shown: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly keychain: Keychain;
  readonly secretValues: SecretValues;
};

type Problem = { readonly problem: string };

/** If it fails, the file is unchanged; a secret may already be in the keychain. */
export async function writeAll(
  { document, replaces, make, store, unset }: WritePlan,
  { file, shown, env, keychain, secretValues }: WriteOptions,
  signal: AbortSignal,
): Promise<Written | Problem> {
  const text = textOf(document);
  const { validation } = await inspectText(text, file, env);
  if (validation.kind === 'invalid') {
    const first = validation.problems.find(({ severity }) => severity === 'error')!;
    return { problem: `${first.path}: ${first.message}. ${first.remedy}` };
  }
  for (const name of make) if (!secretValues.has(name)) secretValues.set(name, madeSecret());
  for (const name of store) {
    const done = await keychain.set(name, secretValues.get(name) ?? '', signal);
    if (done.kind === 'fault') return { problem: `${done.message} ${done.remedy}` };
  }
  const saved = replaces
    ? await replaceKeeping(file, shown, text)
    : await writeFirst(file, shown, text);
  if ('problem' in saved) return saved;
  return { path: shown, backup: saved.backup, command: commandFor({ file, shown, env }), unset };
}

/** 43 characters that need no quoting in a shell or a header. */
function madeSecret(): string {
  return randomBytes(32).toString('base64url');
}

type Saved = { readonly backup: string | null } | Problem;

/** Writes the file if there is none yet. */
export async function writeFirst(file: string, shown: string, text: string): Promise<Saved> {
  let isOwn = false;
  try {
    await makeFolder(dirname(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A file has the name that the folder needs.
    return { problem: describeFault(code === 'EEXIST' ? 'ENOTDIR' : code, shown) };
  }
  try {
    await using handle = await open(file, 'wx', 0o600);
    isOwn = true;
    await handle.writeFile(text);
    await handle.sync();
    return { backup: null };
  } catch (error) {
    // A partly written file would block the next try.
    if (isOwn) await rm(file, { force: true });
    return { problem: describeFault((error as NodeJS.ErrnoException).code, shown) };
  }
}

const namesMax = 100;

/** Replaces the file after copying it to a free name beside it. */
async function replaceKeeping(file: string, shown: string, text: string): Promise<Saved> {
  try {
    const before = await readFile(file);
    const backup = await copyBeside(file);
    if (backup === null) return { problem: `There are ${namesMax} backups of ${shown} already.` };
    const unchanged = async (): Promise<boolean> => before.equals(await readFile(file));
    const saved = await replaceFile(file, { text, unchanged });
    if (saved.kind === 'fault') return { problem: saved.message };
    if (saved.kind === 'changed') return { problem: `${shown} was changed just now. Look again.` };
    return { backup: `${shown}${backup}` };
  } catch (error) {
    return { problem: describeFault((error as NodeJS.ErrnoException).code, shown) };
  }
}

/** @returns the suffix that was added to the file's name; null: no name was free */
async function copyBeside(file: string): Promise<string | null> {
  for (let count = 1; count <= namesMax; count++) {
    const more = count === 1 ? '.backup' : `.backup-${count}`;
    try {
      await copyFile(file, `${file}${more}`, constants.COPYFILE_EXCL);
      return more;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  return null;
}

const faults: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a file stands where its folder is to be',
};

function describeFault(code: string | undefined, shown: string): string {
  if (code === 'EEXIST') return `${shown} already exists; nothing was written.`;
  const what = faults[code ?? ''] ?? code ?? 'unknown error';
  return `${shown} cannot be written: ${what}.`;
}

/** The command as a person would type it in this environment: SVC_CONFIG may name another file. */
export function commandFor({
  file,
  shown,
  env,
}: Pick<WriteOptions, 'file' | 'shown' | 'env'>): string {
  if (isOfUnit(file)) return startOfUnit;
  const serve = `${commandName(env)} serve`;
  const isUsual = shown === 'svc.json' && (env['SVC_CONFIG'] ?? '') === '';
  return isUsual ? serve : `${serve} --config ${forShell(shown)}`;
}
