/** The repairs on the files and the keychain of this user. */
import { dirname, join } from 'node:path';
import {
  parseListenAddress,
  isBrowserRefused,
  type ListenAddress,
} from '../../../src/config/address.ts';
import { faultOfSecretValue } from '../../../src/config/secret-value.ts';
import { OneAtATime } from '../../../src/lib/one-at-a-time.ts';
import { openerFor, openInBrowser } from '../../../src/lib/person-browser.ts';
import type { KeychainState } from '../../../src/domain/keychain-state.ts';
import type { Keychain } from '../../../src/secrets/secrets.ts';
import type { ApplicationFacts } from '../desktop.ts';
import { windowEnvironment } from '../window/display.ts';
import type {
  LogLines,
  LogName,
  Repaired,
  Repairs,
  Earlier,
  ReadText,
  RepairFault,
  SavedText,
} from './repairs.ts';
import { createServer } from 'node:net';
import { open, readFile, rename } from 'node:fs/promises';
import { makeFolder } from '../../../src/lib/make-folder.ts';
import type { ConfigProblem } from '../../../src/config/problems.ts';
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
import { setValue } from '../../../src/config/edit/edit-text.ts';
import { pathOf } from '../../../src/config/edit/path.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList } from '../../../src/config/json-value.ts';
import { locate, type Json } from '../../../src/config/locate.ts';
import { schema } from '../../../src/config/schema.ts';

export type RepairOptions = {
  /** The current paths of the configuration and the log. */
  readonly facts: () => Pick<ApplicationFacts, 'config' | 'logFile'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called when the keychain is first needed; it may open a prompt. */
  readonly keychain: () => Promise<Keychain>;
  /** Makes the service find secrets that nothing stores, for as long as the application runs. */
  readonly lend: (values: ReadonlyMap<string, string>) => void;
  readonly platform?: NodeJS.Platform;
};

export function createRepairs({
  facts,
  env,
  keychain,
  lend,
  platform = process.platform,
}: RepairOptions): Repairs {
  const turns = new OneAtATime();
  const file = (): ConfigurationFile => new ConfigurationFile(facts().config, env);
  return {
    read: () => turns.do(() => file().read()),
    save: (text, revision) => turns.do(() => file().replace(text, revision, 'It is saved.')),
    otherPort: (field, address) => turns.do(() => changePort(file(), field, address)),
    allowChanges: () => turns.do(() => allowChanges(file())),
    earlier: () => turns.do(() => file().earlier()),
    takeBack: (revision) => turns.do(() => file().takeBack(revision)),
    // Remembering is only a convenience, so its errors do not count.
    remember: () => turns.do(() => file().remember()).catch(() => {}),
    keepSecrets: (values, stop) => turns.do(() => keepAll({ keychain, lend }, values, stop)),
    unlock: (names, stop) => turns.do(() => unlock(keychain, names, stop)),
    openInSystem: (what) => {
      const { config, logFile } = facts();
      return openFolder(dirname(what === 'folder' ? config : logFile), platform, env);
    },
    lastLines: (log) => lastLines(log, facts().logFile),
  };
}

/** The shell's log, in the folder of the service's log. */
const shellLogName = 'desktop.log';

async function lastLines(log: LogName, logFile: string): Promise<LogLines> {
  const file = log === 'service' ? logFile : join(dirname(logFile), shellLogName);
  return { file, lines: await readLastLines(file) };
}

async function openFolder(
  path: string,
  platform: NodeJS.Platform,
  env: RepairOptions['env'],
): Promise<Repaired> {
  const opener = openerFor(path, platform, env);
  if (opener !== null && (await openInBrowser(opener, windowEnvironment(env)))) {
    return { kind: 'done', told: `The folder is open in another window: ${path}` };
  }
  const message = `svc found no program that shows folders here. This one is ${path}`;
  return { kind: 'fault', message };
}

async function changePort(
  file: ConfigurationFile,
  field: string,
  address: string,
): Promise<Repaired> {
  const read = await file.read();
  if (read.kind === 'fault') return read;
  const { text, revision } = read;
  const written = valueIn(text, field);
  if (typeof written === 'string' && written !== address) {
    return { kind: 'done', told: 'The configuration has another address by now.' };
  }
  const parsed = parseListenAddress(address, true);
  if (parsed === null) return byHand;
  const port = await findFreePort(parsed.host, portsBeside(parsed, text));
  if (typeof port !== 'number') {
    const message = `svc cannot use ${address} with any port (${port.code}). ${byHand.message}`;
    return { kind: 'fault', message };
  }
  const now = addressText(parsed, port);
  const changed = withAddress(text, field, now);
  if (changed === null) return byHand;
  const told =
    `svc listens at ${now} from now on, in place of ${address}. What sends to it by itself needs ` +
    'the new address.';
  return asRepaired(await file.replace(changed, revision, told));
}

const byHand = {
  kind: 'fault',
  message: 'Write another address into the configuration, under Configuration.',
} as const;

async function allowChanges(file: ConfigurationFile): Promise<Repaired> {
  const read = await file.read();
  if (read.kind === 'fault') return read;
  const changed = withAdmin(read.text);
  if (changed === null) {
    const message = 'The configuration is no text that svc can read. Correct it first.';
    return { kind: 'fault', message };
  }
  const told = 'The pages of svc may change things now.';
  return asRepaired(await file.replace(changed, read.revision, told));
}

/** Checks all values before it stores the first. */
async function keepAll(
  { keychain, lend }: Pick<RepairOptions, 'keychain' | 'lend'>,
  values: ReadonlyMap<string, string>,
  stop: AbortSignal,
): Promise<Repaired> {
  for (const [name, value] of values) {
    const fault = faultOfSecretValue(value.trim());
    if (fault !== null) return { kind: 'fault', message: `${name}: ${fault} Nothing was kept.` };
  }
  try {
    const store = await keychain();
    for (const [name, value] of values) {
      const done = await store.set(name, value.trim(), stop);
      if (done.kind === 'done') continue;
      const { state, message, remedy } = done;
      if (hasNoKeychain(state)) {
        lend(trimmed(values));
        return { kind: 'done', told: inMemoryAlone };
      }
      return { kind: 'fault', message: `${name} was not kept. ${message} ${remedy}` };
    }
  } catch {
    // The error goes nowhere: it may contain the value of a secret.
    return keychainFailed;
  }
  const told = values.size === 1 ? 'It is in the keychain.' : 'They are in the keychain.';
  return { kind: 'done', told };
}

/** True: no button can provide a keychain. A locked keychain can be unlocked. */
const hasNoKeychain = (state: KeychainState): boolean =>
  state === 'no_bus' || state === 'no_provider' || state === 'unavailable';

const inMemoryAlone =
  'svc has it until it is quit, and asks for it again the next time: no keychain is here that ' +
  'could keep it.';

const trimmed = (values: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([...values].map(([name, value]) => [name, value.trim()]));

const keychainFailed = {
  kind: 'fault',
  message: 'The keychain failed in a way that svc does not know. Nothing is known to be kept.',
} as const;

const noneStored = {
  kind: 'fault',
  message: 'svc has kept none of these in the keychain so far. Paste them below.',
} as const;

const stillLocked = {
  kind: 'fault',
  message:
    'It is locked still. Unlock it once more, and give the system the password that it asks ' +
    'for; mostly it is the one that you log in with.',
} as const;

async function unlock(
  keychain: RepairOptions['keychain'],
  names: readonly string[],
  stop: AbortSignal,
): Promise<Repaired> {
  try {
    const store = await keychain();
    const stored = await store.stored();
    const isThere =
      stored.kind === 'stored' && stored.secrets.some((one) => names.includes(one.name));
    if (stored.kind === 'stored' && !isThere) return noneStored;
    // Only reading makes the keychain ask for its password. The values that were read go nowhere.
    const read = await store.read(names, stop);
    if (read.kind === 'read') return { kind: 'done', told: 'The keychain is unlocked.' };
    if (read.state === 'locked') return stillLocked;
    return { kind: 'fault', message: `${read.message} ${read.remedy}` };
  } catch {
    return keychainFailed;
  }
}

// Finds a port of this machine that nobody listens on.

/**
 * @param host as in a configuration; empty: every interface
 * @param wanted ports in the order in which they are tried; if none is free, any free port is used
 * @returns the port; or the system's code, if this host has no free port
 */
async function findFreePort(
  host: string,
  wanted: readonly number[],
): Promise<number | { readonly code: string }> {
  for (const port of wanted) {
    const bound = await bind(host, port);
    if (typeof bound === 'number') return bound;
    if (bound.code !== 'EADDRINUSE' && bound.code !== 'EACCES') return bound;
  }
  return bind(host, 0);
}

/** Binds the port and releases it again. */
function bind(host: string, port: number): Promise<number | { readonly code: string }> {
  const { promise, resolve } = Promise.withResolvers<number | { readonly code: string }>();
  const server = createServer();
  server.once('error', ({ code = 'UNKNOWN' }: NodeJS.ErrnoException) => resolve({ code }));
  server.listen(host === '' ? { port } : { port, host }, () => {
    const bound = server.address();
    const real = typeof bound === 'object' && bound !== null ? bound.port : port;
    server.close(() => resolve(real));
  });
  return promise;
}

// The last lines of a log file, formatted for a person.

const bytesMax = 65_536;
const linesMax = 200;

/** @returns oldest first; empty: there is no file, or it is empty */
async function readLastLines(path: string): Promise<readonly string[]> {
  try {
    await using file = await open(path, 'r');
    const { size } = await file.stat();
    const start = Math.max(0, size - bytesMax);
    const bytes = Buffer.alloc(Math.min(size, bytesMax));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
    const lines = bytes.subarray(0, bytesRead).toString('utf8').split('\n');
    // The first line may be cut.
    const whole = start > 0 ? lines.slice(1) : lines;
    return whole
      .filter((line) => line.trim() !== '')
      .slice(-linesMax)
      .map(lineFor);
  } catch {
    return [];
  }
}

/** Formats a line of svc's log as text; returns any other line as it is. */
function lineFor(line: string): string {
  const fields = parse(line);
  if (fields === null) return line;
  const { time, level, code, message, ...more } = fields;
  if (typeof message !== 'string' || typeof level !== 'string') return line;
  const rest = Object.entries(more).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const tail = rest.length === 0 ? '' : ` (${rest.join(', ')})`;
  return `${timeFor(time)}${level.padEnd(5)} ${message}${tail} [${String(code)}]`;
}

function parse(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

/** The time in this machine's time zone, followed by a space. */
function timeFor(time: unknown): string {
  const date = new Date(typeof time === 'string' ? time : Number.NaN);
  if (Number.isNaN(date.getTime())) return '';
  const two = (part: number): string => String(part).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${date.toTimeString().slice(0, 8)} `;
}

// The configuration file while a person changes it: svc keeps each replaced text.

type Env = Readonly<Record<string, string | undefined>>;

class ConfigurationFile {
  readonly #file: string;
  readonly #env: Env;

  /** @param file its absolute path */
  constructor(file: string, env: Env) {
    this.#file = file;
    this.#env = env;
  }

  async read(): Promise<ReadText | RepairFault> {
    const disk = await readDisk(this.#file);
    if (disk.kind === 'text') return { kind: 'text', text: disk.text, revision: disk.revision };
    return { kind: 'fault', message: `The configuration cannot be read: ${disk.why}.` };
  }

  /** @param told the sentence for the person, if the text was saved */
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
    // If this fails, one more text than needed is kept.
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

  /** The earlier texts without a problem, newest first. */
  async earlier(): Promise<readonly Earlier[]> {
    const { revision: now } = await readDisk(this.#file);
    const found = new Map<string, Earlier>();
    const worked = await this.#lastWorking();
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

  /** Stores the current text beside the earlier ones, as the last text that worked. */
  async remember(): Promise<void> {
    const disk = await readDisk(this.#file);
    if (disk.kind !== 'text' || !isValid(disk.text)) return;
    if ((await this.#lastWorking())?.revision === disk.revision) return;
    const folder = await historyFolder(this.#file);
    await makeFolder(folder, 0o700);
    const part = join(folder, `${workedName}.new`);
    await writeNew(part, JSON.stringify({ savedAt: disk.savedAt, text: disk.text }));
    await rename(part, join(folder, workedName));
  }

  async #textOf(revision: string): Promise<string | null> {
    const kept = await readKept(this.#file, revision).catch(() => null);
    if (kept !== null) return kept.text;
    const worked = await this.#lastWorking();
    return worked?.revision === revision ? worked.text : null;
  }

  async #lastWorking(): Promise<(Earlier & { readonly text: string }) | null> {
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

/** No earlier configuration has a name like this. */
const workedName = '.worked';

const isError = ({ severity }: ConfigProblem): boolean => severity === 'error';
const isValid = (text: string): boolean => validateText(text).kind === 'valid';

/** Turns the result into one sentence. */
function asRepaired(saved: SavedText): Repaired {
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

// The buttons' small edits in the text of a configuration. Pure.

/** The value at a place of the text; undefined: there is none. */
export function valueIn(text: string, path: string): Json | undefined {
  const place = locate(text).places.get(path);
  return place === undefined ? undefined : (JSON.parse(text.slice(place.value, place.end)) as Json);
}

/** @returns null: the text is no JSON, or has no such place */
export function withAddress(text: string, path: string, address: string): string | null {
  return setValue(text, pathOf(path), address, () => []);
}

/**
 * Adds an admin block to the text; a text that has one stays as it is.
 * @returns null: the text is no JSON object
 */
export function withAdmin(text: string): string | null {
  if (isObject(valueIn(text, 'admin'))) return text;
  // If the configuration used this name for another secret, everybody who knows that secret would
  // be an operator.
  const isUsed = [...stringsIn(locate(text).value)].includes(usualName);
  const block = { token_env: isUsed ? `SVC_${usualName}` : usualName };
  return setValue(text, ['admin'], block, () => Object.keys(schema.fields));
}

const usualName = 'ADMIN_TOKEN';

/** How many ports after the old one are tried. */
const portsTried = 20;
/** Ports below this number belong to the system. */
const firstOwn = 1_024;

/**
 * Ports to try in place of this address's port, near it. Ports that the text uses already are left
 * out.
 */
export function portsBeside({ port }: Pick<ListenAddress, 'port'>, text: string): number[] {
  const first = port < firstOwn ? port + 8_000 : port + 1;
  const used = new Set([...stringsIn(locate(text).value)].flatMap((one) => portIn(one) ?? []));
  const near = Array.from({ length: portsTried }, (_, step) => first + step);
  return near.filter((one) => one <= 65_535 && !used.has(one) && !isBrowserRefused(one));
}

/** The port of an address to listen at, or of a URL. */
function portIn(text: string): number | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && url.port !== '') return Number(url.port);
  return parseListenAddress(text, true)?.port ?? null;
}

/** The address as a configuration writes it, with an IPv6 host in brackets. */
export function addressText({ host }: Pick<ListenAddress, 'host'>, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function* stringsIn(value: Json | undefined): Generator<string> {
  if (typeof value === 'string') yield value;
  const inner = isList(value) ? value : isObject(value) ? Object.values(value) : [];
  for (const one of inner) yield* stringsIn(one);
}
