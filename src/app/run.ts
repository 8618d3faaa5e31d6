/**
 * One run of the service: open the ledger, take the first Plan into use, open the admin server,
 * wait until told to stop, drain, close. Nothing here waits for the outside: a provider that is
 * down shows in the answers and on the status page, not at boot.
 *
 * All that is opened is owned by one Lifetime. Whatever ends the boot, and wherever (a problem, a
 * throw, a signal while something does not end), what was opened by then is closed.
 */
import type { ChannelHealth } from '../channels/channel.ts';
import type { ChannelType } from '../channels/registry.ts';
import type { Config, ConfigProblem, Secrets } from '../config/config.ts';
import type { OwnAddresses } from '../config/own-addresses.ts';
import { pinsFileBeside } from '../config/mcp-pins.ts';
import { pathOfFile, type StoragePlace } from '../config/storage-place.ts';
import { Control } from './config/control.ts';
import { ModelWatch } from './config/model-warnings.ts';
import type { ConfigSnapshot } from './config/prepare.ts';
import { problemOfSkills, warningOfSkill } from './config/skill-warnings.ts';
import type { Admissions } from '../domain/gate.ts';
import { createIdSource, type IdSource } from '../domain/ids.ts';
import { describeLost } from './draining.ts';
import { Runtime, type Left } from './runtime.ts';
import { FollowingClock, type ClockReading } from '../lib/clock.ts';
import { endsWithin, GivenUp, Lifetime } from '../lib/lifetime.ts';
import type { Log } from '../lib/log.ts';
import { usesOwnHttp } from '../lib/own-http.ts';
import { watchStorage, type StorageAlerts } from './storage-alerts.ts';
import type { RunningConfig } from './running-config.ts';
import { SharedBounds } from './shared-bounds.ts';
import { keepOwnMessages } from './own-messages.ts';
import { warningsNow } from './warnings-now.ts';
import { keepFigures } from './figure-upkeep.ts';
import { createRunEvents, type RunEvents, type TurnWatch } from './run-events.ts';
import { isTokenWanted } from './admin-address.ts';
import { startAdmin, type Around } from './admin-server.ts';
import { describeWhere, whereItListens, type Listening } from './listening.ts';
import { firstOf, publicBy, reportServer } from './opening.ts';
import { endingBy, refusedBy, RunState, type Ending } from './run-state.ts';
import { beginShared, sharedParts, type SharedStart } from './shared-start.ts';
import { createRunningConfig, createServiceDeps, readSkills, type ServiceDeps } from './service.ts';
import { closeLedger, openLedger, storageAt, type OpenStore, type StartWriter } from './storage.ts';
import type { KeychainLimits } from './keychain.ts';
import type { ServiceSecrets } from '../secrets/secrets.ts';
import type { StoreProblem } from '../ledger/problem.ts';
import type { Ledger, LedgerReader } from '../ledger/ledger.ts';

export type { Ending } from './run-state.ts';
export type { Listening } from './listening.ts';

export type Setup = {
  readonly config: Config;
  readonly text: string;
  /** Where the configuration lies, absolute; relative paths are taken from its folder. */
  readonly file: string;
  /** Where this process listens instead of where a configuration says; left out: nowhere. */
  readonly addresses?: OwnAddresses;
  /** For the place of the default database. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where secrets were looked up; it holds those of the configuration. */
  readonly lookup: ServiceSecrets;
  /** How long the keychain is waited for; left out: as long as it is usual. */
  readonly keychainLimits?: KeychainLimits | undefined;
  /** Calls the given function when the file is to be read again; null: the text is in no file. */
  readonly onReload: ((reload: () => void) => void) | null;
  /** null: no storage, everything in memory. */
  readonly storage: StoragePlace | null;
  readonly secrets: Secrets;
  /** What the check of the config warned of, for the status page. */
  readonly warnings: readonly ConfigProblem[];
  readonly log: Log;
  readonly version: string;
  /** The folder of the pages. */
  readonly webRoot: URL;
  /** Ends the service: drain, then close. */
  readonly stop: AbortSignal;
  /** Ends the drain: what is in hand is given back to the ledger, or lost where it is in memory. */
  readonly abandon?: AbortSignal;
  /** Who writes to the disk; left out: a thread that is begun when the storage is opened. */
  readonly startWriter?: StartWriter | undefined;
  readonly onListening?: (at: Listening, inside: Inside) => void;
  readonly onTurn?: TurnWatch | undefined;
  /** The application around this run; null and left out: it runs by itself. */
  readonly application?: Around | null;
};

/** The running service, for who started it in this process and stands where an operator does. */
export type Inside = {
  readonly ledger: Ledger;
  /** Its time of day, in milliseconds since 1970. */
  readonly now: () => number;
  readonly reader: LedgerReader;
  readonly admissions: Admissions;
  /** The channels in use, each with its health. */
  readonly channels: () => readonly (ChannelHealth & { readonly type: ChannelType })[];
};

/** How long what was opened may take to close, once what was in hand is done. */
const closeMs = 5_000;
/** The same for a service that never came to listen. */
const bootCloseMs = 2_000;
/** The part of that time in which a service finishes the messages that it has in hand. */
const bootDrainMs = 500;

/**
 * Runs the service until `stop` aborts; resolves when everything is closed. A start that fails, or
 * during which `stop` aborts, has closed what it opened within 4 s.
 */
export async function runService(setup: Setup): Promise<Ending> {
  return new Run(setup).run();
}

class Run {
  readonly #setup: Setup;
  readonly #events: RunEvents;
  readonly #alerts: StorageAlerts;
  readonly #state: RunState;
  readonly #lifetime: Lifetime;
  readonly #clock = new FollowingClock();
  #host: Runtime | null = null;
  #control: Control | null = null;
  #left: Left | null = null;
  #abandon: AbortSignal | undefined;

  constructor(setup: Setup) {
    this.#setup = setup;
    this.#events = createRunEvents(setup.log, this.#clock, setup.onTurn);
    this.#alerts = watchStorage(this.#events, setup.storage);
    this.#state = new RunState(setup.stop);
    this.#lifetime = new Lifetime(this.#state.over, (what, error) =>
      this.#events.faulted({ where: `closing ${what}`, error }),
    );
  }

  async run(): Promise<Ending> {
    let isUp = false;
    try {
      const refused = await this.#boot();
      isUp = refused === null;
      if (refused !== null) this.#state.end(refused);
    } catch (error) {
      if (!(error instanceof GivenUp)) this.#startFailed(error);
    }
    const ending = await this.#state.ending;
    // The signal may come when messages are accepted already, and nobody has been told yet.
    const isAsked = ending.kind === 'ended' && this.#host?.plan != null;
    await this.#close(isUp || isAsked);
    return this.#state.outcome ?? ending;
  }

  #startFailed(error: unknown): void {
    this.#events.faulted({ where: 'the start', error });
    const message = 'It could not start; the log says why.';
    this.#state.end({ kind: 'failed', code: null, message });
  }

  /** @returns null: the service listens */
  async #boot(): Promise<Ending | null> {
    const { config, version, storage, abandon, env, file } = this.#setup;
    this.#abandon = abandon;
    const skills = await this.#lifetime.within(() => readSkills(config.brains));
    if (skills.kind === 'problem') {
      const { code, path, message, remedy } = problemOfSkills(skills);
      return { kind: 'refused', code, message: `${path}: ${message}. ${remedy}`, unbound: null };
    }
    const ownHttp = usesOwnHttp(env);
    const held = pathOfFile(storage);
    const pins = pinsFileBeside(file);
    const deps = createServiceDeps(this.#events, version, held, ownHttp, this.#clock, pins);
    this.#lifetime.defer('the HTTP client', () => deps.http.close());
    const warnings = skills.warnings.map(warningOfSkill);
    for (const { code, path, message } of warnings) this.#events.warned({ code, path, message });
    const ids = createIdSource(deps.now, (bytes) => void crypto.getRandomValues(bytes));
    const store = await this.#openStore(deps, ids);
    if ('kind' in store) return endingBy(store);
    const shared = await this.#lifetime.within(() => beginShared(store.configs, this.#setup));
    if (shared !== null && shared.kind !== 'shared') return shared;
    return this.#serve(deps, ids, { ...store, shared }, { texts: skills.texts, warnings });
  }

  #openStore(deps: ServiceDeps, ids: IdSource): Promise<OpenStore | StoreProblem> {
    const { config, secrets, startWriter, log, version } = this.#setup;
    const at = storageAt(this.#setup.storage, secrets);
    const failed = (error: unknown): void => {
      this.#alerts.failed(error);
      this.#state.storageFailed();
    };
    const { now, steady } = deps;
    const { news, clockIs } = this.#alerts;
    const follow = (reading: ClockReading): void => clockIs(this.#clock.follow(reading));
    const publicNow = publicBy(config, secrets);
    const where = { storage: config.storage, at, startWriter };
    const choice = { ...where, version, publicNow, ids, now, steady, news, follow, failed };
    return this.#lifetime.adopt(
      'the storage',
      async () => {
        if (at?.kind === 'server') await reportServer(at, log, this.#events, deps.reserved);
        return openLedger(choice);
      },
      (opened) => ('kind' in opened ? null : closeLedger(opened)),
    );
  }

  async #serve(
    deps: ServiceDeps,
    ids: IdSource,
    store: OpenStore & { readonly shared: SharedStart | null },
    skills: {
      readonly texts: ReadonlyMap<string, string>;
      readonly warnings: ConfigSnapshot['warnings'];
    },
  ): Promise<Ending | null> {
    const { text, config, secrets, onReload, file, addresses, env, lookup, log } = this.#setup;
    const { ledger, reader, peers } = store;
    const { now, steady, random } = deps;
    const flow = { ledger, events: this.#events, ids, now, steady, random };
    const host = new Runtime(flow, { peers });
    this.#host = host;
    this.#lifetime.defer('the host', () => this.#drain(host, bootDrainMs));
    const runningConfig = createRunningConfig(text, config, secrets, deps, skills.texts);
    const unopened = await this.#lifetime.within(() => host.use(runningConfig));
    if (unopened !== null) return refusedBy(unopened, config);
    const counted = { counts: this.#events.figures, ledger, now, over: this.#state.over };
    this.#lifetime.defer('the figures', keepFigures(counted));
    this.#lifetime.defer('own messages', keepOwnMessages({ ...flow, peers, host }));
    const watch = new ModelWatch(deps, this.#state.over);
    const bounds = new SharedBounds(deps.bounds, peers);
    this.#lifetime.defer('the bounds', () => bounds[Symbol.dispose]());
    const onUsed = (used: RunningConfig): void => {
      bounds.use(used.models.map((one) => one.config));
      watch.use(used.models);
    };
    onUsed(runningConfig);
    const source = onReload && { file, addresses, env, onReload };
    const first = firstOf(this.#setup, skills.warnings);
    const isAround = (this.#setup.application ?? null) !== null;
    const tokenWanted = isTokenWanted(config.observability, isAround);
    const end = (ending: Ending): void => this.#state.end(ending);
    const shared = sharedParts(store.shared, this.#setup, { peers, steady }, end);
    const own = { source, shared, stop: this.#state.over, onUsed, tokenWanted };
    const control = new Control({ ...own, host, deps, reader, lookup, log }, first);
    this.#control = control;
    const admin = await startAdmin(this.#setup, this.#lifetime, {
      deps,
      events: this.#events,
      host,
      store,
      control,
      health: () =>
        this.#state.health.status === 'ok' ? this.#alerts.health() : this.#state.health,
      warnings: () => [
        ...this.#alerts.warnings(),
        ...warningsNow(control, deps.mcp, this.#events.meters),
      ],
    });
    if (admin !== null && admin.kind !== 'placed') return admin;
    const { pairings: admissions } = host;
    const channels = (): ReturnType<Inside['channels']> =>
      host.plan?.channels.map(({ type, channel }) => ({ type, ...channel.health() })) ?? [];
    const inside = { ledger, now, reader, admissions, channels };
    const at = whereItListens(config, admin);
    const details = describeWhere(at);
    this.#events.noticed({ code: 'listening', message: 'svc is listening.', details });
    this.#setup.onListening?.(at, inside);
    return null;
  }

  /** @param inOrder what is in hand gets the time that the ledger's `drainMs` gives it */
  async #close(inOrder: boolean): Promise<void> {
    const host = this.#host;
    if (inOrder && host !== null) {
      this.#events.noticed({ code: 'draining', message: host.draining });
      // A failure of the drain comes again when the lifetime closes the host, and is told there.
      await this.#drain(host).catch(() => {});
    }
    await this.#lifetime.close(inOrder ? closeMs : bootCloseMs);
    if (host === null || this.#left === null) return;
    const { rows, ids } = this.#left;
    // With storage the next start has them.
    if (!host.isDurable && rows > 0) {
      this.#events.warned({ code: 'left_behind', message: describeLost(rows, ids) });
    }
    if (!inOrder) return;
    const details = { left: rows };
    this.#events.noticed({ code: 'drained', message: 'Everything is closed.', details });
  }

  /**
   * The intake closes first. A configuration on its way is refused then, and its file put back.
   * @param withinMs left out: the ledger's `drainMs`; the first call's value counts
   */
  async #drain(host: Runtime, withinMs?: number): Promise<void> {
    try {
      this.#left = await host.drain(withinMs, this.#abandon);
    } finally {
      if (this.#control !== null) await endsWithin(this.#control[Symbol.asyncDispose](), closeMs);
    }
  }
}
