/**
 * Lists where secrets are stored, and changes those in the keychain, for an operator. A secret that
 * the service holds is listed as it is held. svc probes the keychain off the message path, with one
 * helper process at a time. A list reads no value.
 */
import type {
  SecretChange,
  SecretControl,
  SecretList,
  SecretPresence,
  SecretStore,
  StoreKind,
} from '../../admin/secret-control.ts';
import type { Config } from '../../config/config.ts';
import { namedSecrets } from '../../config/secrets.ts';
import type { Events } from '../../domain/event.ts';
import type { KeychainState } from '../../domain/keychain-state.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import { OneAtATime } from '../../lib/one-at-a-time.ts';
import type {
  Keychain,
  KeychainDone,
  KeychainFault,
  PlaceOfSecret,
  ServiceSecrets,
} from '../../secrets/secrets.ts';

export type SecretSettings = {
  /** The configuration in use. */
  config(): Config;
  /** The lookup of secrets, which holds those of the configuration in use. */
  readonly lookup: Pick<ServiceSecrets, 'find' | 'foundAt' | 'places'>;
  readonly keychain: Pick<Keychain, 'stored' | 'set' | 'delete'>;
  /**
   * The same keychain, for probes. They open no prompt, and do not wait for a change with an open
   * one.
   */
  readonly prober: Pick<Keychain, 'state' | 'holds'>;
  readonly store: StoreKind;
  /** Explains a state and its remedy. */
  readonly explain: (state: KeychainFault['state']) => Pick<KeychainFault, 'message' | 'remedy'>;
  readonly steady: () => SteadyTime;
  readonly events: Pick<Events, 'faulted'>;
};

/** How long a probe result of the keychain is used. */
const stateMs = 5_000;
/** How many changes may be under way or wait. Each may take as long as its prompt is open. */
const changesMax = 4;
/** How many names the API may store. */
const namesMax = 200;

export function createSecretControl(settings: SecretSettings): SecretControl {
  return new KeychainControl(settings);
}

/** The keychain's own list: names with times in milliseconds since 1970. */
type Stored = { readonly names: ReadonlyMap<string, number>; readonly fault: StoreFault | null };
type StoreFault = Omit<KeychainFault, 'kind'>;

/** `gone`: names in that list whose secrets are no longer in the keychain. */
type KeychainProbe = { readonly state: KeychainState; readonly gone: ReadonlySet<string> };

class KeychainControl implements SecretControl {
  readonly #settings: SecretSettings;
  readonly #changes = new OneAtATime();
  #changing = 0;
  #lastProbe: (KeychainProbe & { readonly at: SteadyTime }) | null = null;
  #probing: Promise<KeychainProbe> | null = null;
  /** Names set since the last probe began, which it may have missed. */
  readonly #setSince = new Set<string>();

  constructor(settings: SecretSettings) {
    this.#settings = settings;
  }

  async list(): Promise<SecretList> {
    const stored = await this.#stored();
    const probe = await this.#probe([...stored.names.keys()]);
    const stillStored = new Map(
      [...stored.names].filter(([name]) => !probe.gone.has(name) || this.#setSince.has(name)),
    );
    const used = namedSecrets(this.#settings.config());
    const names = new Set<string>([...used.map(({ name }) => name), ...stillStored.keys()]);
    const usedAt = new Map<string, readonly string[]>(used.map((one) => [one.name, one.usedAt]));
    const found = await this.#presencesOf([...names], stillStored);
    const rows = found.map((row) => {
      const places = usedAt.get(row.name) ?? [];
      return {
        ...row,
        usedAt: places,
        restart: this.#isNewer(row, stillStored, places.length > 0),
      };
    });
    return { rows, store: this.#storeOf(probe.state, stored.fault) };
  }

  async presence(names: readonly string[]): Promise<readonly SecretPresence[]> {
    return this.#presencesOf(names, (await this.#stored()).names);
  }

  set(name: string, value: string, left: AbortSignal): Promise<SecretChange> {
    return this.#change(name, left, async () => {
      const { names } = await this.#stored();
      if (names.size >= namesMax && !names.has(name)) return { kind: 'full' };
      const done = await this.#settings.keychain.set(name, value, left);
      if (done.kind === 'done') this.#setSince.add(name);
      return done;
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
        // Nobody waits for the answer any more.
        if (left.aborted) return { kind: 'busy' };
        const done = await act();
        // The change may have changed the keychain's state.
        if (done.kind !== 'full') this.#lastProbe = null;
        if (done.kind === 'absent') return { kind: 'not_found' };
        if (done.kind !== 'fault') return done;
        const { state, message, remedy } = done;
        return { kind: 'unavailable', state, message, remedy };
      });
    } catch {
      // The error is not passed on, since it may contain the secret.
      this.#faulted('a change of the keychain');
      return { kind: 'unavailable', state: 'unavailable', ...this.#explain('unavailable') };
    } finally {
      this.#changing--;
    }
  }

  /** Held secrets are listed with their source. For others it looks as the lookup would. */
  async #presencesOf(
    names: readonly string[],
    kept: ReadonlyMap<string, number>,
  ): Promise<readonly SecretPresence[]> {
    const { lookup } = this.#settings;
    const held = await lookup.find(names.filter((name) => lookup.foundAt(name) !== null));
    const rows: SecretPresence[] = [];
    for (const name of names) {
      const inKeychain = kept.has(name);
      const found = held.get(name);
      const source =
        found?.kind === 'value' ? found.source : await this.#sourceOf(name, inKeychain);
      rows.push({ name, source, inKeychain });
    }
    return rows;
  }

  /** A place that the operator configured and that cannot be read comes before the keychain. */
  async #sourceOf(name: string, inKeychain: boolean): Promise<SecretPresence['source']> {
    const places = await this.#settings.lookup.places(name);
    const first = places.find((place) => isDecisive(place) && place.source !== 'keychain');
    if (first === undefined) return inKeychain ? 'keychain' : 'missing';
    return first.state === 'value' ? first.source : 'missing';
  }

  #isNewer(
    { name, source }: SecretPresence,
    kept: ReadonlyMap<string, number>,
    isUsed: boolean,
  ): boolean {
    const setAt = kept.get(name);
    if (setAt === undefined || source !== 'keychain') return false;
    const foundAt = this.#settings.lookup.foundAt(name);
    return foundAt === null ? isUsed : setAt > foundAt;
  }

  async #stored(): Promise<Stored> {
    try {
      const stored = await this.#settings.keychain.stored();
      if (stored.kind === 'fault') return { names: new Map(), fault: stored };
      const names = new Map(stored.secrets.map(({ name, setAt }) => [name, setAt]));
      return { names, fault: null };
    } catch {
      this.#faulted('the list of what the keychain has');
      const fault = { state: 'unavailable', ...this.#explain('unavailable') } as const;
      return { names: new Map(), fault };
    }
  }

  /** Shares one probe among all callers that ask during it. */
  #probe(names: readonly string[]): Promise<KeychainProbe> {
    const probe = this.#lastProbe;
    if (probe !== null && this.#settings.steady() - probe.at < stateMs)
      return Promise.resolve(probe);
    this.#probing ??= this.#probeKeychain(names).finally(() => (this.#probing = null));
    return this.#probing;
  }

  async #probeKeychain(names: readonly string[]): Promise<KeychainProbe> {
    const { prober, steady } = this.#settings;
    this.#setSince.clear();
    let probe: KeychainProbe = { state: 'unavailable', gone: new Set() };
    try {
      probe = { ...probe, state: await prober.state() };
      const canList = probe.state === 'ready' || probe.state === 'locked';
      const held = canList && names.length > 0 ? await prober.holds(names) : null;
      if (held?.kind === 'held') probe = { ...probe, gone: new Set(names).difference(held.names) };
    } catch {
      this.#faulted('the state of the keychain');
    }
    this.#lastProbe = { ...probe, at: steady() };
    return probe;
  }

  #storeOf(state: KeychainState, fault: StoreFault | null): SecretStore {
    const { store: kind } = this.#settings;
    if (state !== 'ready') return { kind, state, ...this.#explain(state) };
    if (fault === null) return { kind, state, message: null, remedy: null };
    return { kind, state: fault.state, message: fault.message, remedy: fault.remedy };
  }

  #explain(state: KeychainFault['state']): Pick<KeychainFault, 'message' | 'remedy'> {
    const { message, remedy } = this.#settings.explain(state);
    return { message, remedy };
  }

  #faulted(where: string): void {
    this.#settings.events.faulted({ where, error: new Error('it failed') });
  }
}

const isDecisive = ({ state }: PlaceOfSecret): boolean =>
  state === 'value' || state === 'unreadable';
