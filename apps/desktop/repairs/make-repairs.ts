/** The repairs over the files and the keychain of this user. */
import { dirname, join } from 'node:path';
import { parseListenAddress } from '../../../src/config/address.ts';
import { faultOfSecretValue } from '../../../src/config/secret-value.ts';
import { OneAtATime } from '../../../src/lib/one-at-a-time.ts';
import { openerFor, openInBrowser } from '../../../src/lib/person-browser.ts';
import type { KeychainState } from '../../../src/domain/keychain-state.ts';
import type { Keychain } from '../../../src/secrets/secrets.ts';
import type { ApplicationFacts } from '../desktop.ts';
import { asRepaired, ConfigurationFile } from './configuration-file.ts';
import { windowEnvironment } from '../window/environment.ts';
import { findFreePort } from './free-port.ts';
import { readLastLines } from './log-tail.ts';
import type { LogLines, LogName, Repaired, Repairs } from './repairs.ts';
import { addressText, portsBeside, valueIn, withAddress, withAdmin } from './text-edits.ts';

export type RepairOptions = {
  /** As they are now. */
  readonly facts: () => Pick<ApplicationFacts, 'config' | 'logFile'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Is made when it is first needed; it may open a prompt. */
  readonly keychain: () => Promise<Keychain>;
  /** Has the service find them for as long as the application runs: nothing keeps them. */
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
    // What it is for is a convenience.
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

/** The log of the shell lies beside the service's. */
const ofShell = 'desktop.log';

async function lastLines(log: LogName, logFile: string): Promise<LogLines> {
  const file = log === 'service' ? logFile : join(dirname(logFile), ofShell);
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

/** All are looked at before the first is kept. */
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
      if (isNone(state)) {
        lend(trimmed(values));
        return { kind: 'done', told: inMemoryAlone };
      }
      return { kind: 'fault', message: `${name} was not kept. ${message} ${remedy}` };
    }
  } catch {
    // The error is told nowhere: a value was in the hands of what failed.
    return keychainFailed;
  }
  const told = values.size === 1 ? 'It is in the keychain.' : 'They are in the keychain.';
  return { kind: 'done', told };
}

/** Where none can be had, as far as a button goes. A locked one can be unlocked. */
const isNone = (state: KeychainState): boolean =>
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
    // Reading is what makes it ask; what was read goes nowhere.
    const read = await store.read(names, stop);
    if (read.kind === 'read') return { kind: 'done', told: 'The keychain is unlocked.' };
    if (read.state === 'locked') return stillLocked;
    return { kind: 'fault', message: `${read.message} ${read.remedy}` };
  } catch {
    return keychainFailed;
  }
}
