/**
 * The lookup of secrets in the environment, in files, and in the keychain. It opens the keychain
 * only for names without a value in any other place.
 */
import {
  existsSync,
  readdirSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
} from 'node:fs';
import { basename, isAbsolute, join, resolve } from 'node:path';
import type {
  SecretLookupResult,
  SecretLookupResults,
  SecretPlace,
  SecretSource,
} from '../config/found-secret.ts';
import { OneAtATime } from '../lib/one-at-a-time.ts';
import { stopOf, unlessStopped } from '../lib/stop.ts';
import type { Keychain, KeychainFault, PlaceOfSecret, ServiceSecrets } from './secrets.ts';
import { open } from 'node:fs/promises';

/** A secret's file, in the form that Docker, Kubernetes and systemd use. */
type SecretFile =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'absent' }
  /** `what` describes the thing found instead: `a folder`. Never any of its content. */
  | { readonly kind: 'unreadable'; readonly what: string };

export const secretFileBytesMax = 65_536;

/** A network disk may never answer, and a started read cannot be cancelled. */
const readMs = 10_000;

/** With `O_NONBLOCK`, opening a pipe does not wait for a writer. Windows does not know the flag. */
const { O_RDONLY, O_NONBLOCK } = constants;
const flags = O_RDONLY | (O_NONBLOCK ?? 0);

/**
 * Reads a secret's file. Never rejects, and takes 10 s at most. Drops a byte order mark.
 * @param path absolute
 * @param stop ends the wait for the disk
 */
async function readSecretFile(path: string, stop?: AbortSignal): Promise<SecretFile> {
  const limit = AbortSignal.timeout(readMs);
  const signal = stop === undefined ? limit : AbortSignal.any([stop, limit]);
  if (signal.aborted) return unreadable('a file that was not waited for');
  const file = await unlessStopped(secretFileRead(path), stopOf(signal));
  return file ?? unreadable('a file that did not give its content in time');
}

async function secretFileRead(path: string): Promise<SecretFile> {
  try {
    await using handle = await open(path, flags);
    const facts = await handle.stat();
    if (facts.isDirectory()) return unreadable('a folder');
    if (!facts.isFile()) return unreadable('a pipe or a device');
    const bytes = Buffer.alloc(secretFileBytesMax + 1);
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return secretIn(bytes.subarray(0, length));
  } catch (error) {
    return unreadBecause(error as NodeJS.ErrnoException);
  }
}

/** Reads the file synchronously; for a local disk only. */
function readSecretFileNow(path: string): SecretFile {
  try {
    const fd = openSync(path, flags);
    try {
      if (!fstatSync(fd).isFile()) return unreadable('no plain file');
      const bytes = Buffer.alloc(secretFileBytesMax + 1);
      return secretIn(bytes.subarray(0, readSync(fd, bytes)));
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    return unreadBecause(error as NodeJS.ErrnoException);
  }
}

/** @throws when the bytes are not UTF-8 */
function secretIn(bytes: Buffer): SecretFile {
  if (bytes.length > secretFileBytesMax) return unreadable('a file that has more than 64 KiB');
  return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
}

function unreadBecause({ code }: NodeJS.ErrnoException): SecretFile {
  if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
  if (code === 'EISDIR') return unreadable('a folder');
  if (code === 'ENXIO') return unreadable('a pipe or a device');
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
    return unreadable('a file that is not UTF-8 text');
  return unreadable(`a file that cannot be read (${code ?? 'unknown error'})`);
}

function unreadable(what: string): SecretFile {
  return { kind: 'unreadable', what };
}

export type LookupSettings = {
  /** The environment variables. Their values appear in no message. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder in which relative paths of the environment begin. */
  readonly cwd: string;
  /**
   * Opens the keychain, for the first name without a value in any other place; null: there is no
   * keychain.
   */
  readonly keychain: (() => Promise<Keychain>) | null;
  /** Milliseconds since 1970. */
  now(): number;
};

/** The content of one place for one name. */
type PlaceContent =
  | { readonly kind: 'value'; readonly value: string }
  | { readonly kind: 'empty' | 'absent' }
  | { readonly kind: 'unreadable'; readonly message: string; readonly remedy: string };

type Missing = Extract<SecretLookupResult, { kind: 'missing' }>;

const otherSources = ['environment', 'file', 'credential'] as const;
type OtherSource = (typeof otherSources)[number];

export class Lookup implements ServiceSecrets {
  readonly #settings: LookupSettings;
  readonly #turns = new OneAtATime();
  /** When the lookup of a result began; milliseconds since 1970. */
  readonly #foundAt = new WeakMap<SecretLookupResult, number>();
  #held: SecretLookupResults = new Map();
  /** The kept credentials, by file name; null: credentials are read from their folder. */
  #credentials: ReadonlyMap<string, SecretFile> | null = null;

  constructor(settings: LookupSettings) {
    this.#settings = settings;
  }

  async find(names: readonly string[], stop?: AbortSignal): Promise<SecretLookupResults> {
    const at = this.#settings.now();
    const held = this.#held;
    const found = await this.#find(names, held, stop);
    for (const [name, one] of found) if (!held.has(name)) this.#foundAt.set(one, at);
    return found;
  }

  async #find(
    names: readonly string[],
    held: SecretLookupResults,
    stop: AbortSignal | undefined,
  ): Promise<SecretLookupResults> {
    const entries = [...new Set(names)].map(async (name) => {
      return [name, held.get(name) ?? (await this.#findOutsideKeychain(name, stop))] as const;
    });
    const found = new Map(await Promise.all(entries));
    const stillMissing = [...found].filter(
      ([name, { kind }]) => kind === 'missing' && !held.has(name),
    );
    if (this.#settings.keychain === null || stillMissing.length === 0) return found;
    const missing = new Map(stillMissing as [string, Missing][]);
    // One prompt at a time: once a person has answered the first, the next call finds the keychain
    // open.
    const keychainRead = this.#turns.do(() => this.#findInKeychain(missing, stop));
    const inTime = stop === undefined ? keychainRead : unlessStopped(keychainRead, stopOf(stop));
    return new Map([...found, ...((await inTime) ?? [])]);
  }

  hold(found: SecretLookupResults): void {
    this.#held = new Map(found);
  }

  foundAt(name: string): number | null {
    const held = this.#held.get(name);
    return held?.kind === 'value' ? (this.#foundAt.get(held) ?? null) : null;
  }

  keepCredentials(): void {
    const folder = this.#credentialFolder();
    if (folder === null || !existsSync(folder)) return;
    const read = (name: string) => [name, readSecretFileNow(join(folder, name))] as const;
    this.#credentials = new Map(readdirSync(folder).map(read));
  }

  async places(name: string): Promise<readonly PlaceOfSecret[]> {
    const places: PlaceOfSecret[] = [];
    for (const source of this.#sources()) {
      const { kind: state } = await this.#readPlace(source, name);
      places.push({ source, text: textOf(source, name), state });
    }
    const { keychain } = this.#settings;
    if (keychain === null) return places;
    const stored = await (await keychain()).stored();
    const isStored = stored.kind === 'stored' && stored.secrets.some((one) => one.name === name);
    const state = stored.kind === 'fault' ? 'unreadable' : isStored ? 'value' : 'absent';
    return [...places, { source: 'keychain', text: textOf('keychain', name), state }];
  }

  /** The credentials directory counts as a place only if it is set. */
  #sources(): readonly OtherSource[] {
    if (this.#credentialFolder() !== null) return otherSources;
    return otherSources.filter((source) => source !== 'credential');
  }

  async #findOutsideKeychain(name: string, stop?: AbortSignal): Promise<SecretLookupResult> {
    const looked: SecretPlace[] = [];
    for (const source of this.#sources()) {
      const place = await this.#readPlace(source, name, stop);
      if (place.kind === 'value') {
        const isNamed = this.#variable(fileVariable(name)).kind === 'value';
        const unused = source === 'environment' && isNamed ? (['file'] as const) : [];
        return { kind: 'value', value: place.value, source, unused };
      }
      if (place.kind === 'unreadable' && source !== 'environment') return { ...place, source };
      looked.push({ source, text: textOf(source, name), empty: place.kind === 'empty' });
    }
    return { kind: 'missing', looked };
  }

  async #readPlace(source: OtherSource, name: string, stop?: AbortSignal): Promise<PlaceContent> {
    switch (source) {
      case 'environment':
        return this.#variable(name);
      case 'file':
        return this.#readFilePlace(name, stop);
      case 'credential':
        return this.#readCredentialPlace(name, stop);
      default:
        return source satisfies never;
    }
  }

  /** Only own properties count: inherited names are not variables. */
  #variable(name: string): PlaceContent {
    const { env } = this.#settings;
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value === undefined) return { kind: 'absent' };
    return value.trim() === '' ? { kind: 'empty' } : { kind: 'value', value };
  }

  /** The messages contain no path: the variable may hold the secret itself by mistake. */
  async #readFilePlace(name: string, stop?: AbortSignal): Promise<PlaceContent> {
    const variable = fileVariable(name);
    const named = this.#variable(variable);
    if (named.kind !== 'value') return named;
    const file = await readSecretFile(resolve(this.#settings.cwd, named.value), stop);
    if (file.kind === 'text' && file.text.trim() !== '') return { kind: 'value', value: file.text };
    const lacking = { absent: 'a file that does not exist', text: 'a file that is empty' };
    const what = file.kind === 'unreadable' ? file.what : lacking[file.kind];
    const begins = 'A path that is not whole begins in the folder that svc is started in.';
    const set = `Let it name a file that has the value alone, or set ${name} itself.`;
    const remedy = isAbsolute(named.value) ? set : `${set} ${begins}`;
    return { kind: 'unreadable', message: `${variable} names ${what}`, remedy };
  }

  async #readCredentialPlace(name: string, stop?: AbortSignal): Promise<PlaceContent> {
    const folder = this.#credentialFolder();
    if (folder === null) return absent;
    let place: PlaceContent = absent;
    for (const file of [name, `${folderCredential}${name}`]) {
      const found = await this.#readCredential(join(folder, file), name, stop);
      if (found.kind === 'value' || found.kind === 'unreadable') return found;
      if (found.kind === 'empty') place = found;
    }
    return place;
  }

  #credentialFolder(): string | null {
    const named = this.#variable('CREDENTIALS_DIRECTORY');
    return named.kind === 'value' ? resolve(this.#settings.cwd, named.value) : null;
  }

  async #readCredential(path: string, name: string, stop?: AbortSignal): Promise<PlaceContent> {
    const all = this.#credentials;
    const file = all ? (all.get(basename(path)) ?? absent) : await readSecretFile(path, stop);
    if (file.kind === 'absent') return absent;
    if (file.kind === 'text') {
      return file.text.trim() === '' ? { kind: 'empty' } : { kind: 'value', value: file.text };
    }
    const message = `${basename(path)} in $CREDENTIALS_DIRECTORY is ${file.what}`;
    const remedy = `Mend LoadCredential= of the unit, or set ${name} itself.`;
    return { kind: 'unreadable', message, remedy };
  }

  async #findInKeychain(
    missing: ReadonlyMap<string, Missing>,
    stop: AbortSignal | undefined,
  ): Promise<SecretLookupResults> {
    const names = [...missing.keys()];
    try {
      const keychain = await this.#settings.keychain!();
      const stored = await keychain.stored();
      if (stored.kind === 'fault') return unreadableIn(names, nowhereElse, stored);
      const storedNames = stored.secrets
        .map(({ name }) => name)
        .filter((name) => missing.has(name));
      const read = storedNames.length === 0 ? noValues : await keychain.read(storedNames, stop);
      if (read.kind === 'fault') {
        const others = names.filter((name) => !storedNames.includes(name));
        const unread = unreadableIn(storedNames, 'is kept in the keychain', read);
        return new Map([...unread, ...foundInKeychain(others, missing, noValues.values)]);
      }
      return foundInKeychain(names, missing, read.values);
    } catch {
      // The failed code handled secret values, so no message may contain its error.
      return unreadableIn(names, nowhereElse, brokenKeychain);
    }
  }
}

/** systemd's prefix for the files of a folder loaded as `LoadCredential=svc:…`, systemd.exec(5). */
const folderCredential = 'svc_';

const absent = { kind: 'absent' } as const;
const nowhereElse = 'is set nowhere else, and may be in the keychain';

const noValues = { kind: 'read', values: new Map<string, string>() } as const;

const brokenKeychain = {
  message: 'The keychain failed in a way that svc does not know.',
  remedy: 'Set it in the environment.',
} as const;

function foundInKeychain(
  names: readonly string[],
  missing: ReadonlyMap<string, Missing>,
  values: ReadonlyMap<string, string>,
): SecretLookupResults {
  return new Map(
    names.map((name): [string, SecretLookupResult] => {
      const value = values.get(name) ?? '';
      if (value.trim() !== '') {
        return [name, { kind: 'value', value, source: 'keychain', unused: [] }];
      }
      const place = { source: 'keychain', text: textOf('keychain', name), empty: false } as const;
      return [name, { kind: 'missing', looked: [...missing.get(name)!.looked, place] }];
    }),
  );
}

/** @param where the middle of the sentence; the fault ends it */
function unreadableIn(
  names: readonly string[],
  where: string,
  { message, remedy }: Pick<KeychainFault, 'message' | 'remedy'>,
): SecretLookupResults {
  const whole = message.replace(/\.$/, '');
  const itself = /^The keychain (?!of )/;
  const reason = itself.test(whole) ? `, which ${whole.replace(itself, '')}` : `. ${whole}`;
  return new Map(
    names.map((name): [string, SecretLookupResult] => {
      const about = `${name} ${where}${reason}`;
      return [name, { kind: 'unreadable', source: 'keychain', message: about, remedy }];
    }),
  );
}

function textOf(source: SecretSource, name: string): string {
  switch (source) {
    case 'environment':
      return `${name} in the environment`;
    case 'file':
      return `${fileVariable(name)} in the environment`;
    case 'credential':
      return `${name} in $CREDENTIALS_DIRECTORY`;
    case 'keychain':
      return `${name} in the keychain`;
    default:
      return source satisfies never;
  }
}

/** The variable with the path of a secret's file, a convention of Docker and Kubernetes. */
function fileVariable(name: string): string {
  return `${name}_FILE`;
}
