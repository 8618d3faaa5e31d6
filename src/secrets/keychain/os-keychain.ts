/**
 * The keychain of this user, through a helper process. The index comes first: svc asks only for
 * names in it, and stores nothing that it cannot enter there.
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
 * The time limits of one question to a helper process. The stages are: asked → begun → (a prompt is
 * open) → answered. A limit or a stop kills the process. When the answer is there, the process is
 * gone.
 */
export type HelperLimits = {
  /** Until the helper has begun. A busy machine starts it slowly. */
  readonly startMs: number;
  /** Until the keychain has answered, from when the helper has begun. */
  readonly answerMs: number;
  /** Until the keychain has answered, from when a prompt may be open. */
  readonly promptMs: number;
};

/** In total less than 15 s, and about 90 s if a person can see a prompt. */
export const helperLimits: HelperLimits = { startMs: 9_000, answerMs: 5_000, promptMs: 80_000 };

export type HelperOptions = {
  readonly program: OwnProgram;
  /** The helper's whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: HelperLimits;
  /** Called when a prompt may be open from now on. */
  readonly prompting: () => void;
  readonly stop: AbortSignal | undefined;
};

/** Enough for many values of the maximum length, with every character escaped. */
const answerCharactersMax = 8_388_608;
/** How long the helper may take to end after its answer; then svc kills it. */
const endsMs = 2_000;

/**
 * Asks one question. Never rejects.
 * @returns null when the stop came first
 */
export async function askHelper(
  question: Question,
  options: HelperOptions,
): Promise<Answer | null> {
  const { program, env, limits, stop } = options;
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
  const onStop = (): void => giveUp(null);
  stop?.addEventListener('abort', onStop, { once: true });
  let timer: NodeJS.Timeout | undefined;
  const limit = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => giveUp(helperFault('no_answer')), ms);
  };
  limit(limits.startMs);
  readLines(child, (line) => {
    if (line === null) return giveUp(helperFault('unavailable'));
    if (line.kind === 'begun') return limit(limits.answerMs);
    if (line.kind !== 'prompting') return resolve(line);
    limit(limits.promptMs);
    options.prompting();
  });
  // Standard input stays open until the answer: its end tells the helper that nobody waits any
  // more.
  child.stdin?.write(`${JSON.stringify(question)}\n`);
  const answer = await promise;
  limit(endsMs);
  child.stdin?.end();
  await ended;
  clearTimeout(timer);
  stop?.removeEventListener('abort', onStop);
  return answer;
}

/** @param said called with each line of the helper; null: a line that no helper writes */
function readLines(child: ChildProcess, onLine: (line: Answer | Sign | null) => void): void {
  const lines = child.stdio[3] as Readable;
  // Writing to a helper that has gone fails. Its end reports that.
  child.stdin?.on('error', () => {});
  lines.on('error', () => {});
  let text = '';
  lines.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    if (text.length > answerCharactersMax) return onLine(null);
    const whole = text.split('\n');
    text = whole.pop() ?? '';
    for (const line of whole) onLine(parseAnswer(line));
  });
}

/** @param over called when the process has ended, or could not start */
function endOf(child: ChildProcess, onEnd: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => {
    onEnd();
    resolve();
  };
  child.once('close', end);
  // A process that did not start emits no `close`.
  child.once('error', () => {
    if (child.pid === undefined) end();
  });
  return promise;
}

type Env = Readonly<Record<string, string | undefined>>;

export type KeychainSurroundings = {
  readonly env: Env;
  /** Whether a person is at a terminal of this process, and so can see a prompt. */
  readonly atTerminal: boolean;
  /** Called when the keychain may be waiting for a person. */
  readonly prompting?: () => void;
  /** Default: `helperLimits`. */
  readonly limits?: HelperLimits | undefined;
  readonly program?: OwnProgram;
};

export class OsKeychain implements Keychain {
  readonly #index: SecretIndex;
  readonly #surroundings: KeychainSurroundings;
  readonly #canPrompt: boolean;
  /** One question at a time: two could open two prompts. */
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
    return unexpectedAnswer(answer);
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
    return unexpectedAnswer(answer);
  }

  async set(name: string, value: string, stop?: AbortSignal): Promise<KeychainDone> {
    const stored = await this.#index.readFor(name);
    if (stored.kind === 'fault') return stored;
    const canPrompt = this.#canPrompt;
    const answer = await this.#ask({ ask: 'set', name, value, canPrompt }, stop);
    return answer.kind === 'done' ? this.#index.add(name, Date.now()) : unexpectedAnswer(answer);
  }

  async delete(
    name: string,
    stop?: AbortSignal,
  ): Promise<KeychainDone | { readonly kind: 'absent' }> {
    const stored = await this.#index.read();
    if (stored.kind === 'fault') return stored;
    const isKnown = stored.secrets.some((one) => one.name === name);
    const answer = await this.#ask({ ask: 'delete', name, canPrompt: this.#canPrompt }, stop);
    if (answer.kind !== 'done' && answer.kind !== 'absent') return unexpectedAnswer(answer);
    if (isKnown) return this.#index.remove(name);
    return { kind: answer.kind };
  }

  /** Those of these names that are in the index. */
  async #known(names: readonly string[]): Promise<string[] | KeychainFault> {
    const stored = await this.#index.read();
    if (stored.kind === 'fault') return stored;
    const known = new Set(stored.secrets.map(({ name }) => name));
    return [...new Set(names)].filter((name) => known.has(name));
  }

  /** Asks the helper. A fault is in svc's words. */
  #ask(question: Question, stop: AbortSignal | undefined): Promise<AnswerOrFault> {
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

type AnswerOrFault = Exclude<Answer, { kind: 'fault' }> | KeychainFault;

/** The fault for an answer that does not belong to the question. */
function unexpectedAnswer(answer: AnswerOrFault): KeychainFault {
  return answer.kind === 'fault' ? answer : faultOf(helperFault('unavailable'));
}

/** The variables that Node, the bus and the keychain's library need. The helper gets no others. */
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

/** Whether this process belongs to a graphical session, in which a person can see a prompt. */
function hasWindows(env: Env): boolean {
  if (process.platform === 'darwin' || process.platform === 'win32') {
    return (env['SSH_CONNECTION'] ?? '') === '';
  }
  return [env['DISPLAY'], env['WAYLAND_DISPLAY']].some((one) => (one ?? '') !== '');
}
