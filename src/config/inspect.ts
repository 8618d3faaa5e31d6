/**
 * Reads a configuration file and checks it. It resolves the relative paths, and adds the problems
 * that only the disk shows.
 */
import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { forShell } from '../lib/for-shell.ts';
import { checkAgentFolders } from './agent-folders.ts';
import type { AgentConfig, Config } from './config.ts';
import { locate } from './locate.ts';
import { checkPins } from './mcp-pins.ts';
import { noOwnAddresses, type OwnAddresses } from './own-addresses.ts';
import { byPlace, ProblemList, problemWithoutPlace, type ProblemCode } from './problems.ts';
import type { StoragePlace } from './storage-place.ts';
import { validateText, type Validation } from './validate.ts';

export type Inspection = {
  /** Absolute. */
  readonly file: string;
  readonly folder: string;
  /** Empty when the file could not be read. */
  readonly text: string;
  /** The paths in its config are absolute. */
  readonly validation: Validation;
  /** Where the ledger is or will be; null without storage. */
  readonly storage: StoragePlace | null;
};

type Env = Readonly<Record<string, string | undefined>>;

/** Where a process has its configuration from. */
export type ConfigPlace = {
  /** The absolute path. Relative paths of a configuration start at its folder. */
  readonly file: string;
  /** Overrides of the configured listen addresses; left out: none. */
  readonly addresses?: OwnAddresses | undefined;
  /** Decides the place of the default database. */
  readonly env: Env;
};

export const fileBytesMax = 1_048_576;

/**
 * Reads and checks a configuration file. A file that cannot be read is a problem like any other.
 * @param path relative to the working directory, or absolute
 * @param env gives the folder of the default database
 * @param own the addresses that flags give to the process
 */
export async function inspectConfig(
  path: string,
  env: Env,
  from: ReadableFrom = 'anything',
  own: OwnAddresses = noOwnAddresses,
): Promise<Inspection> {
  const file = resolve(path);
  const folder = dirname(file);
  const read = await readConfigText(file, from);
  if (read.kind === 'text') return inspectText(read.text, file, env, read.writableByOthers, own);
  const problems = [problemWithoutPlace(read.code, '', read.message, read.remedy)];
  const validation: Validation = { kind: 'invalid', problems };
  return { file, folder, text: '', validation, storage: null };
}

/**
 * Checks a text as if it stood in a file.
 * @param file absolute; relative paths begin in its folder
 * @param writableByOthers whether others can change that file
 */
export async function inspectText(
  rawText: string,
  file: string,
  env: Env,
  writableByOthers = false,
  own: OwnAddresses = noOwnAddresses,
): Promise<Inspection> {
  const folder = dirname(file);
  // As in `readConfigText`, a byte order mark is not part of the text.
  const text = rawText.replace(/^\uFEFF/, '');
  const diskProblems = new ProblemList(text, locate(text).places);
  const checked = validateText(text, own);
  const config = checked.kind === 'valid' ? withAbsolutePaths(checked.config, folder) : null;
  const storage = config === null ? null : storagePlaceOf(config, env);
  if (writableByOthers) {
    const message = `other users of this machine can change ${file}`;
    diskProblems.add('file_writable_by_others', '', message, `Run chmod o-w ${forShell(file)}`);
  }
  if (storage?.kind === 'file') await checkDatabase(storage.path, diskProblems);
  if (config !== null) await checkAgentFolders(config, { folder, env }, diskProblems);
  if (config !== null) await checkPins(config, file, diskProblems);
  const problems = [...diskProblems.sorted(), ...checked.problems].sort(byPlace);
  const validation: Validation =
    config === null ? { kind: 'invalid', problems } : { kind: 'valid', config, problems };
  return { file, folder, text, validation, storage };
}

/** A short name for a text: the first 12 hex digits of its SHA-256. */
export function revisionOf(text: string): string {
  // Loaded late: see lib/node-http.ts.
  const { hash } = process.getBuiltinModule('node:crypto');
  return hash('sha256', text).slice(0, 12);
}

/** The database's path if the config has none: it is in the user's configuration folder. */
export function defaultStoragePath(env: Env, platform: NodeJS.Platform = process.platform): string {
  return join(userConfigFolder(env, platform), 'svc', 'svc.db');
}

function userConfigFolder(env: Env, platform: NodeJS.Platform): string {
  const home = env['HOME'] || homedir();
  if (platform === 'win32') return env['APPDATA'] || join(homedir(), 'AppData', 'Roaming');
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  const xdg = env['XDG_CONFIG_HOME'] ?? '';
  return xdg.startsWith('/') ? xdg : join(home, '.config');
}

export type ConfigRead =
  | { readonly kind: 'text'; readonly text: string; readonly writableByOthers: boolean }
  | {
      readonly kind: 'problem';
      readonly code: ProblemCode;
      readonly message: string;
      readonly remedy: string;
    };

/** `file`: a pipe or a device is a problem, since it may never end. */
export type ReadableFrom = 'anything' | 'file';

/**
 * With `O_NONBLOCK`, opening a pipe does not wait for a writer. Nothing could end that wait.
 * Windows does not know the flag.
 */
const { O_RDONLY, O_NONBLOCK } = constants;

/** Reads a configuration file as UTF-8, without a byte order mark. */
export async function readConfigText(
  file: string,
  from: ReadableFrom = 'anything',
): Promise<ConfigRead> {
  try {
    const flags = from === 'file' ? O_RDONLY | (O_NONBLOCK ?? 0) : O_RDONLY;
    await using handle = await open(file, flags);
    const stats = await handle.stat();
    if (stats.isDirectory()) {
      return unreadable('file_unreadable', `${file} is a folder`, 'Name the file itself.');
    }
    if (from === 'file' && !stats.isFile()) {
      const remedy = 'Put a file there.';
      return unreadable('file_unreadable', `${file} is a pipe or a device, and no file`, remedy);
    }
    const bytes = Buffer.alloc(fileBytesMax + 1);
    const { bytesRead } = await readAll(handle, bytes);
    if (bytesRead > fileBytesMax) {
      const message = `${file} has more than 1 MiB`;
      return unreadable('file_too_large', message, 'Is this the right file?');
    }
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
    const text = decoder.decode(bytes.subarray(0, bytesRead));
    return { kind: 'text', text, writableByOthers: othersMay(0o002, stats.mode) };
  } catch (error) {
    return unreadableBecause(error as NodeJS.ErrnoException, file);
  }
}

type Handle = Awaited<ReturnType<typeof open>>;

/** Reads until the end, or until the buffer is full. A pipe gives its bytes in parts. */
async function readAll(handle: Handle, bytes: Buffer): Promise<{ bytesRead: number }> {
  let bytesRead = 0;
  while (bytesRead < bytes.length) {
    const part = await handle.read(bytes, bytesRead, bytes.length - bytesRead);
    if (part.bytesRead === 0) break;
    bytesRead += part.bytesRead;
  }
  return { bytesRead };
}

function unreadableBecause({ code }: NodeJS.ErrnoException, file: string): ConfigRead {
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    const remedy = 'Name another file with --config, or write this one; `svc demo` needs none.';
    return unreadable('file_missing', `there is no file ${file}`, remedy);
  }
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
    return unreadable('file_not_utf8', `${file} is not UTF-8 text`, 'Save it as UTF-8.');
  }
  if (code === 'EISDIR') {
    return unreadable('file_unreadable', `${file} is a folder`, 'Name the file itself.');
  }
  const message = `${file} cannot be read (${code ?? 'unknown error'})`;
  const remedy = 'Give the user that runs svc the right to read it.';
  return unreadable('file_unreadable', message, remedy);
}

function unreadable(code: ProblemCode, message: string, remedy: string): ConfigRead {
  return { kind: 'problem', code, message, remedy };
}

/** Always false on Windows, which has no such bits and shows every file as open. */
function othersMay(act: 0o004 | 0o002, mode: number): boolean {
  return process.platform !== 'win32' && (mode & act) !== 0;
}

function storagePlaceOf({ storage }: Config, env: Env): StoragePlace | null {
  if (storage === null) return null;
  const { path, urlEnv } = storage;
  if (urlEnv !== null) return { kind: 'server', urlEnv };
  return { kind: 'file', path: path ?? defaultStoragePath(env) };
}

async function checkDatabase(file: string, problems: ProblemList): Promise<void> {
  const stats = await stat(file).catch(() => null);
  if (stats === null || !stats.isFile() || !othersMay(0o004, stats.mode)) return;
  const message = `other users of this machine can read ${file}`;
  const remedy = `Run chmod 600 ${forShell(file)}`;
  problems.add('database_readable_by_others', 'storage.path', message, remedy);
}

function withAbsolutePaths(config: Config, folder: string): Config {
  const { storage } = config;
  const path = storage?.path ?? null;
  return {
    ...config,
    storage: storage === null ? null : { ...storage, path: path && resolve(folder, path) },
    brains: config.brains.map((brain) =>
      brain.agent === null ? brain : { ...brain, agent: agentInFolder(brain.agent, folder) },
    ),
  };
}

function agentInFolder(agent: AgentConfig, folder: string): AgentConfig {
  const { readFile, skillsDir } = agent;
  return {
    ...agent,
    readFile: readFile && { ...readFile, root: resolve(folder, readFile.root) },
    skillsDir: skillsDir && resolve(folder, skillsDir),
  };
}
