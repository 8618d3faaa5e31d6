/**
 * The keychain of this user, asked by a helper process. The index comes first: only what stands
 * there is asked for, and what cannot be written down there is not stored.
 */
import type { KeychainState } from '../../domain/keychain-state.ts';
import { OneAtATime } from '../../lib/one-at-a-time.ts';
import { ownProgram, type OwnProgram } from '../../lib/program.ts';
import type {
  Keychain,
  KeychainDone,
  KeychainFault,
  KeychainHoldings,
  KeychainValues,
  StoredSecrets,
} from '../secrets.ts';
import { faultOf, stoppedFault } from './faults.ts';
import { SecretIndex } from './secret-index.ts';
import { helperFault, parseAnswer, type Answer, type Question, type Sign } from './wire.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';

/**
 * One question to a helper process of its own, within limits: asked → begun → (a prompt is open)
 * → answered. Where a limit or a stop ends it, the process is killed; nothing of it is left when
 * the answer is there.
 */
export type HelperLimits = {
  /** Until the helper has begun; a busy machine starts it slowly. */
  readonly startMs: number;
  /** Until the keychain has answered. */
  readonly answerMs: number;
  /** The same where a person may have to unlock it; this, too, counts from the beginning. */
  readonly promptMs: number;
};

/** In all less than 15 s, and less than 90 s where a person can see a prompt. */
export const helperLimits: HelperLimits = { startMs: 9_000, answerMs: 5_000, promptMs: 80_000 };

export type Helping = {
  readonly program: OwnProgram;
  /** All of the helper's variables. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: HelperLimits;
  /** Is called when a prompt may be open from now on. */
  readonly prompting: () => void;
  readonly stop: AbortSignal | undefined;
};

/** Many of the longest values, with every character escaped. */
const answerCharactersMax = 8_388_608;
/** After its answer it may end by itself for so long; then it is killed. */
const endsMs = 2_000;

/** Never rejects. @returns null: the stop ended it */
export async function askHelper(question: Question, helping: Helping): Promise<Answer | null> {
  const { program, env, limits, stop } = helping;
  if (stop?.aborted === true) return null;
  const child = spawn(program.file, [...program.args], {
    env: { ...env },
    stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
    windowsHide: true,
  });
  const { promise, resolve } = Promise.withResolvers<Answer | null>();
  const ended = endOf(child, () => resolve(helperFault('unavailable')));
  const giveUp = (answer: Answer | null): void => {
    resolve(answer);
    child.kill('SIGKILL');
  };
  const stopped = (): void => giveUp(null);
  stop?.addEventListener('abort', stopped, { once: true });
  let timer: NodeJS.Timeout | undefined;
  const limit = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => giveUp(helperFault('no_answer')), ms);
  };
  limit(limits.startMs);
  hear(child, (said) => {
    if (said === null) return giveUp(helperFault('unavailable'));
    if (said.kind === 'begun') return limit(limits.answerMs);
    if (said.kind !== 'prompting') return resolve(said);
    limit(limits.promptMs);
    helping.prompting();
  });
  // It stays open until there is an answer: its end tells the helper that nobody waits any more.
  child.stdin?.write(`${JSON.stringify(question)}\n`);
  const answer = await promise;
  limit(endsMs);
  child.stdin?.end();
  await ended;
  clearTimeout(timer);
  stop?.removeEventListener('abort', stopped);
  return answer;
}

/** @param said is given each line that came; null: a line that is none of the helper's */
function hear(child: ChildProcess, said: (line: Answer | Sign | null) => void): void {
  const lines = child.stdio[3] as Readable;
  // What is written to a helper that has gone fails, and its end says so.
  child.stdin?.on('error', () => {});
  lines.on('error', () => {});
  let text = '';
  lines.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    if (text.length > answerCharactersMax) return said(null);
    const whole = text.split('\n');
    text = whole.pop() ?? '';
    for (const line of whole) said(parseAnswer(line));
  });
}

/** @param over is called when the process has ended, or could not be started */
function endOf(child: ChildProcess, over: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => {
    over();
    resolve();
  };
  child.once('close', end);
  // Of one that was not started there is no close to wait for.
  child.once('error', () => {
    if (child.pid === undefined) end();
  });
  return promise;
}

type Env = Readonly<Record<string, string | undefined>>;

export type KeychainSurroundings = {
  readonly env: Env;
  /** Whether a person is at a terminal of this process, and so may see a prompt. */
  readonly atTerminal: boolean;
  /** Is called when the keychain may be waiting for a person. */
  readonly prompting?: () => void;
  /** Left out: `helperLimits`. */
  readonly limits?: HelperLimits | undefined;
  readonly program?: OwnProgram;
};

export class OsKeychain implements Keychain {
  readonly #index: SecretIndex;
  readonly #surroundings: KeychainSurroundings;
  readonly #canPrompt: boolean;
  /** Two questions at once could open two prompts. */
  readonly #turns = new OneAtATime();

  constructor(surroundings: KeychainSurroundings) {
    this.#surroundings = surroundings;
    this.#index = new SecretIndex(surroundings.env);
    this.#canPrompt = surroundings.atTerminal || hasWindows(surroundings.env);
  }

  stored(): Promise<StoredSecrets> {
    return this.#index.read();
  }

  async state(stop?: AbortSignal): Promise<KeychainState> {
    const answer = await this.#ask({ ask: 'look', names: [] }, stop);
    if (answer.kind === 'fault') return answer.state;
    return answer.kind === 'seen' && answer.locked ? 'locked' : 'ready';
  }

  async holds(names: readonly string[], stop?: AbortSignal): Promise<KeychainHoldings> {
    const known = await this.#known(names);
    if (!Array.isArray(known)) return known;
    if (known.length === 0) return { kind: 'held', names: new Set() };
    const answer = await this.#ask({ ask: 'look', names: known }, stop);
    if (answer.kind === 'seen') return { kind: 'held', names: new Set(answer.names) };
    return unexpected(answer);
  }

  async read(names: readonly string[], stop?: AbortSignal): Promise<KeychainValues> {
    const known = await this.#known(names);
    if (!Array.isArray(known)) return known;
    if (known.length === 0) return { kind: 'read', values: new Map() };
    const canPrompt = this.#canPrompt;
    const answer = await this.#ask({ ask: 'read', names: known, canPrompt }, stop);
    if (answer.kind === 'values') {
      return { kind: 'read', values: new Map(Object.entries(answer.values)) };
    }
    return unexpected(answer);
  }

  async set(name: string, value: string, stop?: AbortSignal): Promise<KeychainDone> {
    const stored = await this.#index.readFor(name);
    if (stored.kind === 'fault') return stored;
    const canPrompt = this.#canPrompt;
    const answer = await this.#ask({ ask: 'set', name, value, canPrompt }, stop);
    return answer.kind === 'done' ? this.#index.add(name, Date.now()) : unexpected(answer);
  }

  async delete(
    name: string,
    stop?: AbortSignal,
  ): Promise<KeychainDone | { readonly kind: 'absent' }> {
    const stored = await this.#index.read();
    if (stored.kind === 'fault') return stored;
    const isKnown = stored.secrets.some((one) => one.name === name);
    const answer = await this.#ask({ ask: 'delete', name, canPrompt: this.#canPrompt }, stop);
    if (answer.kind !== 'done' && answer.kind !== 'absent') return unexpected(answer);
    if (isKnown) return this.#index.remove(name);
    return { kind: answer.kind };
  }

  /** Of these names, those in the index. */
  async #known(names: readonly string[]): Promise<string[] | KeychainFault> {
    const stored = await this.#index.read();
    if (stored.kind === 'fault') return stored;
    const known = new Set(stored.secrets.map(({ name }) => name));
    return [...new Set(names)].filter((name) => known.has(name));
  }

  /** A fault is in svc's words. */
  #ask(question: Question, stop: AbortSignal | undefined): Promise<Asked> {
    const { env, limits, program, prompting } = this.#surroundings;
    return this.#turns.do(async () => {
      const answer = await askHelper(question, {
        program: program ?? ownProgram('internal', 'keychain'),
        env: helperEnv(env),
        limits: limits ?? helperLimits,
        prompting: prompting ?? (() => {}),
        stop,
      });
      if (answer === null) return stoppedFault();
      return answer.kind === 'fault' ? faultOf(answer) : answer;
    });
  }
}

type Asked = Exclude<Answer, { kind: 'fault' }> | KeychainFault;

/** An answer to another question than the one that was asked. */
function unexpected(answer: Asked): KeychainFault {
  return answer.kind === 'fault' ? answer : faultOf(helperFault('unavailable'));
}

/** What a Node, a bus and a keychain's library go by; no variable of any other kind. */
const passed = new Set(
  [
    'PATH HOME USER LOGNAME LANG TMPDIR NODE_COMPILE_CACHE SVC_FROM_SOURCES',
    'DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR XDG_CACHE_HOME XDG_SESSION_ID',
    'DISPLAY WAYLAND_DISPLAY XAUTHORITY',
    'SYSTEMROOT WINDIR USERPROFILE APPDATA LOCALAPPDATA TEMP TMP USERNAME USERDOMAIN',
  ].flatMap((line) => line.split(' ')),
);

function helperEnv(env: Env): Readonly<Record<string, string>> {
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    const known = process.platform === 'win32' ? name.toUpperCase() : name;
    if (value !== undefined && passed.has(known)) own[name] = value;
  }
  return own;
}

/** Whether this process belongs to a session with windows, in which a prompt can be seen. */
function hasWindows(env: Env): boolean {
  if (process.platform === 'darwin' || process.platform === 'win32') {
    return (env['SSH_CONNECTION'] ?? '') === '';
  }
  return [env['DISPLAY'], env['WAYLAND_DISPLAY']].some((one) => (one ?? '') !== '');
}
