/**
 * The work of the helper process: it answers one question about the keychain. The keychain's
 * library blocks its thread, and an open prompt keeps its process from ending. So the service never
 * loads the library, and the process that started this helper ends it.
 */
import { execFile } from 'node:child_process';
import type { AsyncEntry } from '@napi-rs/keyring';
import {
  stateOfMessage,
  keychainService,
  probeSecretService,
  type ProbeResult,
} from './secret-service.ts';
import { helperFault, type Answer, type HelperFault, type Question } from './wire.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** @param prompting called before any step that may open a prompt and wait for a person */
export async function answerQuestion(
  question: Question,
  env: Env,
  prompting: () => void,
): Promise<Answer> {
  const names = 'names' in question ? question.names : [question.name];
  const probed = await probe(names, env);
  if (probed.kind === 'fault') return probed;
  if (question.ask === 'look') {
    return { kind: 'seen', names: [...probed.names.keys()], locked: probed.keyring === 'locked' };
  }
  const narrowed = {
    ...question,
    ...(question.ask === 'read' && { names: [...probed.names.keys()] }),
  };
  if (narrowed.ask === 'read' && narrowed.names.length === 0) return { kind: 'values', values: {} };
  if (narrowed.ask === 'delete' && probed.names.size === 0) return { kind: 'absent' };
  const lock = lockOf(narrowed.ask, probed);
  if (lock !== null && !question.canPrompt) return lock;
  // macOS does not say in advance whether it opens a dialog.
  const mayPrompt = lock !== null || process.platform === 'darwin';
  if (question.canPrompt && mayPrompt) prompting();
  return askLibrary(narrowed);
}

type Probed = Exclude<ProbeResult, HelperFault>;

/** The fault when the library cannot answer without a person who unlocks; null: it can. */
function lockOf(ask: 'read' | 'set' | 'delete', { names, keyring }: Probed): HelperFault | null {
  if (ask === 'set' && keyring === 'none') return helperFault('locked', 'no_keyring');
  const isLocked = ask === 'set' ? keyring === 'locked' : [...names.values()].includes('locked');
  return isLocked ? helperFault('locked') : null;
}

async function probe(names: readonly string[], env: Env): Promise<ProbeResult> {
  if (process.platform === 'darwin') return probeMacKeychain(names);
  if (process.platform === 'win32') return probeWindowsCredentials(names);
  return probeSecretService(names, env);
}

/**
 * Exit codes of `security`: 36 is errSecInteractionNotAllowed. The caller handles 44,
 * errSecItemNotFound.
 */
const securityCodes: Readonly<Record<number, HelperFault['state']>> = {
  36: 'denied',
  37: 'no_provider',
};

/** Without `-w`, `security` prints the attributes of an item and not its value. */
async function probeMacKeychain(names: readonly string[]): Promise<ProbeResult> {
  const found = new Map<string, 'open' | 'locked'>();
  for (const name of names) {
    const words = ['find-generic-password', '-s', keychainService, '-a', name];
    const code = await codeOf('/usr/bin/security', words);
    if (code === 0) found.set(name, 'open');
    else if (code !== 44) return helperFault(securityCodes[code] ?? 'unavailable');
  }
  return { kind: 'looked', names: found, keyring: 'open' };
}

/** @returns the exit code; -1: the program could not start, or was killed */
function codeOf(program: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    execFile(program, [...args], (error) => {
      if (error === null) resolve(0);
      else resolve(typeof error.code === 'number' ? error.code : -1);
    });
  });
}

/** Windows shows that a name exists only by returning its value. The values are dropped here. */
async function probeWindowsCredentials(names: readonly string[]): Promise<ProbeResult> {
  const read = await withLibrary(async (entry) => {
    const found = new Map<string, 'open' | 'locked'>();
    for (const name of names) {
      if ((await entry(name).getPassword()) !== null) found.set(name, 'open');
    }
    return { kind: 'looked', names: found, keyring: 'open' } as const;
  });
  return read;
}

function askLibrary(question: Exclude<Question, { ask: 'look' }>): Promise<Answer> {
  return withLibrary<Answer>(async (entry) => {
    switch (question.ask) {
      case 'read':
        return { kind: 'values', values: await valuesOf(question.names, entry) };
      case 'set':
        await entry(question.name).setPassword(question.value);
        return (await entry(question.name).getPassword()) === question.value
          ? { kind: 'done' }
          : helperFault('unavailable', 'not_kept');
      case 'delete':
        return { kind: (await entry(question.name).deleteCredential()) ? 'done' : 'absent' };
      default:
        return question satisfies never;
    }
  });
}

type MakeEntry = (name: string) => AsyncEntry;

/**
 * Reads one value after the other: the first may open a prompt. After a failure it asks for no
 * more.
 */
async function valuesOf(
  names: readonly string[],
  entry: MakeEntry,
): Promise<Readonly<Record<string, string>>> {
  const values: [string, string][] = [];
  for (const name of names) {
    const value = await entry(name).getPassword();
    if (value !== null) values.push([name, value]);
  }
  return Object.fromEntries(values);
}

/**
 * Names the store for the library. Without this, on a machine without a bus, the library falls back
 * to kernel memory. It then reports success, and the value is gone after a restart.
 */
const libraryOptions = { linux: { store: 'secret-service' } } as const;

async function withLibrary<T>(use: (entry: MakeEntry) => Promise<T>): Promise<T | HelperFault> {
  const library = await import('@napi-rs/keyring').catch(() => null);
  if (library === null) return helperFault('unavailable', 'no_library');
  try {
    return await use((name) => new library.AsyncEntry(keychainService, name, libraryOptions));
  } catch (error) {
    return helperFault(stateOfMessage(error instanceof Error ? error.message : ''));
  }
}
