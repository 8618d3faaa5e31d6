/**
 * The keychain of this user, asked by a helper process. The index comes first: only what stands
 * there is asked for, and what cannot be written down there is not stored.
 */
import type { KeychainState } from '../../domain/keychain-state.ts';
import { OneAtATime } from '../../lib/one-at-a-time.ts';
import { ownProgram, type OwnProgram } from '../../lib/own-program.ts';
import type {
  Keychain,
  KeychainDone,
  KeychainFault,
  KeychainHoldings,
  KeychainValues,
  StoredSecrets,
} from '../secrets.ts';
import { faultOf, stoppedFault } from './faults.ts';
import { askHelper, helperLimits, type HelperLimits } from './helper-process.ts';
import { SecretIndex } from './secret-index.ts';
import { helperFault, type Answer, type Question } from './wire.ts';

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
