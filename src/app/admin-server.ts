/** Starts the admin server of a run: its address, the operators' access, and its ports. */
import type {
  AdminPorts,
  TakeoverPort,
  Health,
  RunningConfigView,
  PlannedChannelView,
} from '../admin/admin.ts';
import { describeReport, reportOf } from '../admin/reports/report.ts';
import { readLiveEvent } from '../admin/schemas/live-event.ts';
import type { SecretControl, StoreKind } from '../admin/secret-control.ts';
import type { OperatorAccess } from '../admin/http/auth.ts';
import type { AdminOpened, AdminProblem } from '../admin/http/server.ts';
import type { ObservabilityConfig } from '../config/config.ts';
import type { ListenAddress } from '../config/address.ts';
import { pathOfFile } from '../config/storage-place.ts';
import type { Control } from './config/control.ts';
import type { RunEvents } from './run-events.ts';
import type { Runtime } from './runtime.ts';
import { explainKeychain, openKeychain } from './keychain.ts';
import { createTokenCheck } from '../lib/bearer.ts';
import type { Lifetime } from '../lib/lifetime.ts';
import { createSecretControl } from './config/secrets.ts';
import { createModelProbes } from './config/model-warnings.ts';
import { createTrials } from './config/trials.ts';
import { adminPlaces, textAt } from './admin-address.ts';
import type { Around, WindowPlace, Ending, Setup } from './run-contract.ts';
import type { ServiceDeps } from './service.ts';
import type { OpenStore } from './storage.ts';
import type { Takeovers } from '../ledger/ledger.ts';
import type { Coordination } from '../cluster/cluster.ts';
import type { RunningConfig } from './running-config.ts';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';

export type AdminDeps = {
  readonly deps: ServiceDeps;
  readonly events: RunEvents;
  readonly runtime: Runtime;
  readonly store: OpenStore;
  readonly control: Control;
  readonly health: () => Health;
  readonly warnings: () => RunningConfigView['warnings'];
};

/**
 * `admin`: the `host:port` where everybody but the window finds the server; null: there is none.
 */
export type AdminPlaced = {
  readonly kind: 'placed';
  readonly admin: string | null;
  readonly window: WindowPlace | null;
};

/**
 * Starts the admin server. If its default address is taken, svc runs without it. With an
 * application around svc, the window then gets another port. If an address of the file is taken,
 * the start fails. With the server off, this process still sends its reports to the others.
 * @param lifetime closes the server
 * @returns null: the server is off
 */
export async function startAdmin(
  setup: Setup,
  lifetime: Lifetime,
  options: AdminDeps,
): Promise<AdminPlaced | Ending | null> {
  const place: { admin: string | null } = { admin: null };
  const opener = new Opener(setup, lifetime, options, () => place.admin);
  const started = await start(setup, opener, options.events);
  if (started?.kind === 'placed') place.admin = started.admin;
  return started;
}

async function start(
  setup: Setup,
  opener: Opener,
  events: RunEvents,
): Promise<AdminPlaced | Ending | null> {
  const { observability: settings } = setup.config;
  const { application = null } = setup;
  if (application !== null) return startAround(application, settings, opener, events);
  if (!settings.enabled) return null;
  const { address } = settings;
  const opened = await opener.open(address, null);
  if (opened.kind === 'opened') {
    return { kind: 'placed', admin: textAt(address, opened.port), window: null };
  }
  if (address.given) return refused(opened, address);
  const message = `${opened.message}. It is off for this run.`;
  events.warned({ code: 'admin_off', message });
  return null;
}

async function startAround(
  application: Around,
  settings: ObservabilityConfig,
  opener: Opener,
  events: RunEvents,
): Promise<AdminPlaced | Ending> {
  const { others, window } = adminPlaces(settings, application.port);
  const first = others === null ? null : await opener.open(others, null);
  if (first?.kind === 'problem') return refused(first, others!);
  const ofOthers = first === null ? null : textAt(others!, first.port);
  let problem: AdminProblem | null = null;
  for (const address of window) {
    const opened = await opener.open(address, application);
    if (opened.kind === 'problem') {
      problem ??= opened;
      continue;
    }
    const text = textAt(address, opened.port);
    const isForAll = settings.enabled && others === null;
    if (isForAll && problem !== null) {
      const message = `${problem.message} It is at ${text} for this run.`;
      events.warned({ code: 'admin_moved', message });
    }
    const canWrite = opener.accessFor(application).kind !== 'none';
    const place = { origin: `http://${text}`, canWrite };
    return { kind: 'placed', admin: isForAll ? text : ofOthers, window: place };
  }
  return refused(problem!, window[0]);
}

function refused({ code, message }: AdminProblem, { given, text, byFlag }: ListenAddress): Ending {
  const isOfFile = given && byFlag === undefined;
  const unbound = isOfFile ? { field: 'observability.addr', address: text } : null;
  return { kind: 'refused', code, message, unbound };
}

/** Opens the admin servers of one run. They differ only in the users whom they sign in. */
class Opener {
  readonly #setup: Setup;
  readonly #lifetime: Lifetime;
  readonly #options: AdminDeps;
  readonly #ports: Omit<AdminPorts, 'application'>;

  /** @param admin returns the server's address once it is open */
  constructor(setup: Setup, lifetime: Lifetime, options: AdminDeps, admin: () => string | null) {
    this.#setup = setup;
    this.#lifetime = lifetime;
    this.#options = options;
    const ports = portsOf(setup, options, admin);
    const { events, store } = options;
    const view = store.cluster.openView({
      report: () => describeReport(reportOf(ports)),
      liveEvents: events.frames,
      liveEventOf: readLiveEvent,
      events,
    });
    lifetime.defer('the view of all instances', () => view[Symbol.dispose]());
    this.#ports = { ...ports, view };
  }

  /** @param application whose window uses this address; null: no window does */
  open(address: ListenAddress, application: Around | null): Promise<AdminOpened | AdminProblem> {
    const { deps, control } = this.#options;
    const allowedHosts = (): readonly string[] => control.used.config.observability.allowedHosts;
    const { webRoot } = this.#setup;
    const access = this.accessFor(application);
    const ports = { ...this.#ports, application: application?.link ?? null };
    return openAdmin({ address, access, allowedHosts, webRoot, ports }, deps, this.#lifetime);
  }

  /**
   * How the server recognises an operator: by the token in the variable, or by the application's
   * sign-in. The server is read-only without an `admin` block, or if there is neither.
   */
  accessFor(application: Around | null): OperatorAccess {
    const { config, secrets } = this.#setup;
    const { admin } = config;
    if (admin === null) {
      const remedy = 'An admin block in the configuration, with token_env, switches writing on.';
      return { kind: 'none', remedy };
    }
    const token = secrets.get(admin.tokenEnv);
    const checks = [
      ...(token === undefined ? [] : [createTokenCheck(token)]),
      ...(application === null ? [] : [application.matches]),
    ];
    if (checks.length > 0) {
      return { kind: 'bearer', matches: (sent) => checks.some((check) => check(sent)) };
    }
    const remedy = `Set ${admin.tokenEnv}, which admin.token_env names, and restart.`;
    return { kind: 'none', remedy };
  }
}

/** One process holds a messenger's connection, by a lease. The others wait for the lease. */
function channelsIn(
  runningConfig: RunningConfig | null,
  cluster: Coordination,
): PlannedChannelView[] {
  if (runningConfig === null) return [];
  const keys = new Map(
    [...runningConfig.activeChannels].map(([key, { channel }]) => [channel, key]),
  );
  return runningConfig.channels.map(({ name, type, channel }) => {
    const key = keys.get(channel) ?? null;
    const isHeld = key === null || channel.sameAs === undefined || cluster.holds(key);
    return { name, type, key, isHeld, ...channel.health() };
  });
}

function portsOf(
  setup: Setup,
  options: AdminDeps,
  admin: () => string | null,
): Omit<AdminPorts, 'application' | 'view'> {
  const { version, file, addresses, env, lookup, log, storage } = setup;
  const { deps, events, runtime, control } = options;
  const { ledger, reader, cluster } = options.store;
  const view = (): RunningConfigView => ({
    revision: control.used.revision,
    usedAt: control.inUse().usedAt,
    config: control.used.config,
    warnings: options.warnings(),
    channels: channelsIn(runtime.runningConfig, cluster),
  });
  return {
    version,
    startedAt: deps.now(),
    now: deps.now,
    health: options.health,
    runningConfig: view,
    meters: events.meters,
    liveEvents: events.frames,
    figures: events.figures,
    gauges: () => ledger.gauges(),
    backlog: () => ledger.backlog(),
    connections: () => deps.listeners.connections,
    modelLoads: () => deps.bounds.loads,
    mcp: () => deps.mcp.standings(),
    place: () => ({ host: hostname(), admin: admin() }),
    reader,
    takeovers: takeoverOf(ledger.takeovers, runtime),
    approvals: runtime,
    writes: ledger,
    audit: (row) => ledger.recordWrite(row),
    turnedAway: () => runtime.gate.turnedAway,
    pairings: runtime.pairings,
    control,
    models: createModelProbes(() => runtime.runningConfig?.models ?? [], deps),
    trials: createTrials({
      file,
      addresses,
      env,
      lookup,
      heldDatabase: pathOfFile(storage),
      config: () => control.used.config,
      deps,
      reader,
      spend: ledger.spend,
      log,
    }),
    secrets: secretsOf(setup, options),
    events,
  };
}

function takeoverOf(takeovers: Takeovers, runtime: Runtime): TakeoverPort {
  return {
    hold: (where) => takeovers.hold(where),
    giveBack: (where) => takeovers.giveBack(where),
    of: (where) => takeovers.of(where),
    held: () => takeovers.held(),
    waiting: (where) => takeovers.waiting(where),
    answer: (where, written) => runtime.answerAsOperator(where, written),
  };
}

/** A change may open a keychain prompt, which appears on the screen of this machine. */
function secretsOf(setup: Setup, { deps, events, control }: AdminDeps): SecretControl {
  const { env, lookup, keychainLimits: limits } = setup;
  const surroundings = { env, atTerminal: false, limits };
  return createSecretControl({
    config: () => control.used.config,
    lookup,
    keychain: openKeychain(surroundings),
    prober: openKeychain(surroundings),
    store: storeKinds[process.platform] ?? 'none',
    explain: explainKeychain,
    steady: deps.steady,
    events,
  });
}

const storeKinds: Partial<Record<NodeJS.Platform, StoreKind>> = {
  linux: 'secret_service',
  darwin: 'keychain',
  win32: 'credential_manager',
};

type AdminChoice = {
  readonly address: ListenAddress;
  readonly access: OperatorAccess;
  /** Host names that the configuration in use allows. */
  readonly allowedHosts: () => readonly string[];
  readonly webRoot: URL;
  readonly ports: AdminPorts;
};

/**
 * Loads the server only when a run wants one.
 * @param opened closes the server, even if its address is taken
 */
async function openAdmin(
  { address, access, allowedHosts, webRoot, ports }: AdminChoice,
  { listeners }: ServiceDeps,
  opened: Lifetime,
): Promise<AdminOpened | AdminProblem> {
  const { createAdminServer } = await opened.within(() => import('../admin/http/server.ts'));
  const options = { address, allowedHosts, access, listeners, webRoot: fileURLToPath(webRoot) };
  const server = createAdminServer(ports, options);
  return opened.use(
    'the admin server',
    () => server.open(),
    () => server[Symbol.asyncDispose](),
  );
}
