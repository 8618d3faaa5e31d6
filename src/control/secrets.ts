/**
 * Where secrets stand, for an operator who asks, and the keychain's to change. What the service
 * holds is told as it is held; the keychain is looked at beside messages, by one helper at a time,
 * and no value is read for a list.
 */
import type {
  SecretChange,
  SecretControl,
  SecretList,
  SecretPresence,
  SecretStore,
  StoreKind,
} from '../admin/secret-control.ts';
import type { Config } from '../config/config.ts';
import { namedSecrets } from '../config/secrets.ts';
import type { Events } from '../domain/event.ts';
import type { SteadyTime } from '../lib/clock.ts';
import { OneAtATime } from '../lib/one-at-a-time.ts';
import type {
  HeldSecrets,
  Keychain,
  KeychainDone,
  KeychainFault,
  KeychainState,
  SecretLookup,
} from '../secrets/secrets.ts';

export type SecretSettings = {
  /** The configuration in use. */
  config(): Config;
  /** What the service reads its secrets with. */
  readonly lookup: SecretLookup & HeldSecrets;
  /** The places other than the keychain, as they are at this moment. */
  beside(): SecretLookup;
  readonly keychain: Keychain;
  readonly store: StoreKind;
  /** What a state means, and what to do. */
  explain(state: KeychainFault['state']): Pick<KeychainFault, 'message' | 'remedy'>;
  steady(): SteadyTime;
  readonly events: Pick<Events, 'faulted'>;
};

/** For so long the state of the keychain is told again as it was. */
const stateMs = 5_000;
/** At most so many changes are under way or wait, each for as long as a prompt may stand. */
const changesMax = 4;
/** At most so many names are kept by way of the API. */
const namesMax = 200;

export function createSecretControl(settings: SecretSettings): SecretControl {
  return new KeychainControl(settings);
}

/** Times, milliseconds since 1970, by name. */
type Stored = ReadonlyMap<string, number>;

class KeychainControl implements SecretControl {
  readonly #settings: SecretSettings;
  readonly #changes = new OneAtATime();
  #changing = 0;
  #seen: { readonly state: KeychainState; readonly at: SteadyTime } | null = null;
  #looking: Promise<KeychainState> | null = null;

  constructor(settings: SecretSettings) {
    this.#settings = settings;
  }

  async list(): Promise<SecretList> {
    const [stored, state] = await Promise.all([this.#stored(), this.#state()]);
    const used = namedSecrets(this.#settings.config());
    const names = new Set<string>([...used.map(({ name }) => name), ...stored.keys()]);
    const usedAt = new Map<string, readonly string[]>(used.map((one) => [one.name, one.usedAt]));
    const found = await this.#look([...names], stored);
    const rows = found.map((row) => {
      const places = usedAt.get(row.name) ?? [];
      return { ...row, usedAt: places, restart: this.#isNewer(row, stored, places.length > 0) };
    });
    return { rows, store: this.#storeIn(state) };
  }

  async presence(names: readonly string[]): Promise<readonly SecretPresence[]> {
    return this.#look(names, await this.#stored());
  }

  set(name: string, value: string, left: AbortSignal): Promise<SecretChange> {
    return this.#change(name, left, async () => {
      const stored = await this.#stored();
      if (stored.size >= namesMax && !stored.has(name)) return { kind: 'full' };
      return this.#settings.keychain.set(name, value, left);
    });
  }

  delete(name: string, left: AbortSignal): Promise<SecretChange> {
    return this.#change(name, left, () => this.#settings.keychain.delete(name, left));
  }

  async #change(
    name: string,
    left: AbortSignal,
    act: () => Promise<KeychainDone | { readonly kind: 'absent' } | { readonly kind: 'full' }>,
  ): Promise<SecretChange> {
    if (name === this.#settings.config().admin?.tokenEnv) return { kind: 'by_hand' };
    if (this.#changing >= changesMax) return { kind: 'busy' };
    this.#changing++;
    try {
      return await this.#changes.do(async (): Promise<SecretChange> => {
        // Nobody hears the answer any more.
        if (left.aborted) return { kind: 'busy' };
        const done = await act();
        if (done.kind === 'fault') return this.#failed(done);
        if (done.kind === 'done') this.#learn('ready');
        return done.kind === 'absent' ? { kind: 'not_found' } : done;
      });
    } catch {
      // The error is told nowhere: the value was in the hands of what failed.
      this.#faulted('a change of the keychain');
      return this.#failed({ state: 'unavailable', ...this.#settings.explain('unavailable') });
    } finally {
      this.#changing--;
    }
  }

  #failed({ state, message, remedy }: Omit<KeychainFault, 'kind'>): SecretChange {
    this.#learn(state);
    return { kind: 'unavailable', state, message, remedy };
  }

  /** What the service holds, it is told to hold; what it lacks is looked for as it would be. */
  async #look(names: readonly string[], stored: Stored): Promise<readonly SecretPresence[]> {
    const { lookup, beside } = this.#settings;
    const held = names.filter((name) => lookup.foundAt(name) !== null);
    const [inHand, there] = await Promise.all([
      lookup.find(held),
      beside().find(names.filter((name) => lookup.foundAt(name) === null)),
    ]);
    return names.map((name) => {
      const found = inHand.get(name) ?? there.get(name);
      const inKeychain = stored.has(name);
      if (found?.kind === 'value') return { name, source: found.source, inKeychain };
      // A place that was named by hand and cannot be read comes before the keychain.
      const counts = inKeychain && found?.kind !== 'unreadable';
      return { name, source: counts ? 'keychain' : 'missing', inKeychain };
    });
  }

  #isNewer({ name, source }: SecretPresence, stored: Stored, isUsed: boolean): boolean {
    const setAt = stored.get(name);
    if (setAt === undefined || source !== 'keychain') return false;
    const foundAt = this.#settings.lookup.foundAt(name);
    return foundAt === null ? isUsed : setAt > foundAt;
  }

  async #stored(): Promise<Stored> {
    try {
      const rows = await this.#settings.keychain.stored();
      return new Map(rows.map(({ name, setAt }) => [name, setAt]));
    } catch {
      this.#faulted('the list of what the keychain has');
      return new Map();
    }
  }

  /** Who asks while it is looked at waits for that look. */
  #state(): Promise<KeychainState> {
    const seen = this.#seen;
    const isFresh = seen !== null && this.#settings.steady() - seen.at < stateMs;
    if (isFresh) return Promise.resolve(seen.state);
    this.#looking ??= this.#lookAtStore().finally(() => (this.#looking = null));
    return this.#looking;
  }

  async #lookAtStore(): Promise<KeychainState> {
    let state: KeychainState = 'unavailable';
    try {
      state = await this.#settings.keychain.state();
    } catch {
      this.#faulted('the state of the keychain');
    }
    this.#learn(state);
    return state;
  }

  #learn(state: KeychainState): void {
    this.#seen = { state, at: this.#settings.steady() };
  }

  #storeIn(state: KeychainState): SecretStore {
    const { store: kind, explain } = this.#settings;
    if (state === 'ready') return { kind, state, message: null, remedy: null };
    const { message, remedy } = explain(state);
    return { kind, state, message, remedy };
  }

  #faulted(where: string): void {
    this.#settings.events.faulted({ where, error: new Error('it failed') });
  }
}
