/**
 * One run of the service: open the ledger, use the first running configuration, open the admin
 * server, wait for the stop, drain, close. The start waits for nothing outside: a provider that is
 * down shows in the answers and on the status page.
 *
 * One `Lifetime` owns everything that the run opens. It closes all of it however the start ends: by
 * a problem, by a throw, or by a signal during an opening that hangs.
 */
import type { ChannelProblem } from '../channels/channel.ts';
import { channelKeyFor, isListener } from '../channels/registry.ts';
import type { Config, Secrets, ModelConfig, BrainConfig } from '../config/config.ts';
import { pinsFileBeside } from '../config/mcp-pins.ts';
import { pathOfFile } from '../config/storage-place.ts';
import { Control } from './config/control.ts';
import { ModelWatch } from './config/model-warnings.ts';
import type { ConfigSnapshot } from './config/prepare.ts';
import { problemOfSkills, warningOfSkill } from './config/skill-warnings.ts';
import { completionsChannel, createIdSource, type IdSource } from '../domain/ids.ts';
import { describeLost } from './draining.ts';
import { Runtime, type UnsettledRows } from './runtime.ts';
import { FollowingClock, type ClockReading } from '../lib/clock.ts';
import { endsWithin, GivenUp, Lifetime } from '../lib/lifetime.ts';
import type { Log } from '../lib/log.ts';
import { usesOwnHttp } from '../lib/http-client.ts';
import { watchStorage, type StorageAlerts } from './storage-alerts.ts';
import type { RunningConfig } from './running-config.ts';
import { keepFigures } from './figure-upkeep.ts';
import { createRunEvents, type RunEvents } from './run-events.ts';
import { isTokenWanted } from './admin-address.ts';
import { startAdmin, type AdminPlaced } from './admin-server.ts';
import type { Ending, Inside, Listening, Setup } from './run-contract.ts';
import { createRunningConfig, createServiceDeps, readSkills, type ServiceDeps } from './service.ts';
import {
  closeLedger,
  openLedger,
  storageAt,
  nameServer,
  type OpenStore,
  type AtServer,
} from './storage.ts';
import { budgetsSummary } from '../admin/spend.ts';
import type { LedgerReader, StoreProblem } from '../ledger/ledger.ts';
import { nearlyUsedShare } from '../pipeline/budget-guard.ts';
import { revisionOf } from '../config/inspect.ts';
import type { Events } from '../domain/event.ts';
import type { PublicNow } from '../ledger/sqlite/ledger/sensitivity-labels.ts';
import {
  keepApprovals,
  keepWelcoming,
  type ApprovalKeepingDeps,
  type WelcomingDeps,
} from './approval-upkeep.ts';
import type { CallBounds } from '../brains/models/build-model.ts';
import type { Cluster, Coordination } from '../cluster/cluster.ts';
import type { WarningStatus, Health } from '../admin/admin.ts';
import type { McpHealth, McpToolState } from '../domain/tool-use.ts';
import type { Meters } from '../telemetry/meters.ts';
import type { SpendLimit } from '../domain/spend.ts';
import { problemWithoutPlace } from '../config/problems.ts';

/** How long closing may take after the drain. */
const closeMs = 5_000;
/** How long closing may take for a service that never listened. */
const bootCloseMs = 2_000;
/** The part of that time in which such a service finishes messages under way. */
const bootDrainMs = 500;

/**
 * Runs the service until `stop` aborts, and resolves when everything is closed. If the start fails,
 * or if `stop` aborts during the start, everything is closed within 4 s.
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
  #runtime: Runtime | null = null;
  #control: Control | null = null;
  #unfinished: UnsettledRows | null = null;
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
    // The signal may come when messages are accepted already but `onListening` was not called yet.
    const isAsked = ending.kind === 'ended' && this.#runtime?.runningConfig != null;
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
    const unbegun = await this.#lifetime.within(() => beginConfig(store.cluster, this.#setup));
    if (unbegun !== null) return unbegun;
    return this.#serve(deps, ids, store, { texts: skills.texts, warnings });
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
    const publicNow = publicNowOf(config, secrets);
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
    store: OpenStore,
    skills: {
      readonly texts: ReadonlyMap<string, string>;
      readonly warnings: ConfigSnapshot['warnings'];
    },
  ): Promise<Ending | null> {
    const { text, config, secrets, onReload, lookup, log } = this.#setup;
    const { ledger, reader, cluster } = store;
    const { now, steady, random } = deps;
    const flow = { ledger, events: this.#events, ids, now, steady, random };
    const runtime = new Runtime(flow, { cluster });
    this.#runtime = runtime;
    this.#lifetime.defer('the host', () => this.#drain(runtime, bootDrainMs));
    const runningConfig = createRunningConfig(text, config, secrets, deps, skills.texts);
    const unopened = await this.#lifetime.within(() => runtime.use(runningConfig));
    if (unopened !== null) return refusalOf(unopened, config);
    const figureDeps = { counts: this.#events.figures, ledger, now, over: this.#state.over };
    this.#lifetime.defer('the figures', keepFigures(figureDeps));
    this.#lifetime.defer('own messages', keepOwnMessages({ ...flow, cluster, runtime }));
    const watch = new ModelWatch(deps, this.#state.over);
    const bounds = new SharedBounds(deps.bounds, cluster);
    this.#lifetime.defer('the bounds', () => bounds[Symbol.dispose]());
    const onUsed = (used: RunningConfig): void => {
      bounds.use(used.models.map((one) => one.config));
      watch.use(used.models);
    };
    onUsed(runningConfig);
    const first = firstSnapshotOf(this.#setup, skills.warnings);
    const isAround = (this.#setup.application ?? null) !== null;
    const tokenWanted = isTokenWanted(config.observability, isAround);
    const onBehind = (why: string): void => {
      const message = `The configuration in use in the database cannot be taken here: ${why}`;
      this.#state.end({ kind: 'failed', code: 'config_behind', message });
    };
    const controlOptions = { cluster, place: this.#setup, onReload, onBehind, onUsed, tokenWanted };
    const control = new Control(
      { ...controlOptions, stop: this.#state.over, runtime, deps, reader, lookup, log },
      first,
    );
    this.#control = control;
    // A database that does not answer now has warnings of its own.
    const { brains } = config;
    recallBudgets({ reader, events: this.#events, now }, { brains }).catch(() => {});
    const admin = await startAdmin(this.#setup, this.#lifetime, {
      deps,
      events: this.#events,
      runtime,
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
    const { pairings: admissions } = runtime;
    const channels = (): ReturnType<Inside['channels']> =>
      runtime.runningConfig?.channels.map(({ name, type, channel }) => {
        return { name, type, ...channel.health() };
      }) ?? [];
    const inside = { ledger, now, reader, admissions, channels };
    const at = whereItListens(config, admin);
    const details = describeWhere(at);
    this.#events.noticed({ code: 'listening', message: 'svc is listening.', details });
    this.#setup.onListening?.(at, inside);
    return null;
  }

  /** @param inOrder gives messages under way the ledger's `drainMs` */
  async #close(inOrder: boolean): Promise<void> {
    const runtime = this.#runtime;
    if (inOrder && runtime !== null) {
      this.#events.noticed({ code: 'draining', message: runtime.draining });
      // The lifetime closes the host again, and reports a failure of the drain then.
      await this.#drain(runtime).catch(() => {});
    }
    await this.#lifetime.close(inOrder ? closeMs : bootCloseMs);
    if (runtime === null || this.#unfinished === null) return;
    const { rows, ids } = this.#unfinished;
    // With storage the next start finds these rows.
    if (!runtime.isDurable && rows > 0) {
      this.#events.warned({ code: 'left_behind', message: describeLost(rows, ids) });
    }
    if (!inOrder) return;
    const details = { left: rows };
    this.#events.noticed({ code: 'drained', message: 'Everything is closed.', details });
  }

  /**
   * Closes the intake first. A configuration change under way is then refused, and its file
   * restored.
   * @param withinMs left out: the ledger's `drainMs`; the first call's value counts
   */
  async #drain(runtime: Runtime, withinMs?: number): Promise<void> {
    try {
      this.#unfinished = await runtime.drain(withinMs, this.#abandon);
    } finally {
      if (this.#control !== null) await endsWithin(this.#control[Symbol.asyncDispose](), closeMs);
    }
  }
}

// What the start derives from the configuration before it opens anything.

/** Which channels and brains count as public for rows older than sensitivity labels. */
function publicNowOf({ channels, brains, routes }: Config, secrets: Secrets): PublicNow {
  const open = brains.filter(({ sensitivity }) => sensitivity === 'public');
  const names = open.map(({ name }) => name);
  const answersInPublic = (name: string): boolean => {
    const own = routes.filter(({ channel }) => channel === name);
    return own.length > 0 && own.every(({ brain }) => names.includes(brain));
  };
  const keys = channels
    .filter(({ name }) => answersInPublic(name))
    .flatMap((channel) => channelKeyFor(channel, secrets.get(channel.tokenEnv) ?? '') ?? []);
  return { channels: keys, brains: names };
}

/**
 * Logs which database server is used, without a secret. The log already hides the URL as a whole.
 * This also hides the password alone, since a sentence of the server may contain it.
 */
async function reportServer(
  at: AtServer,
  log: Pick<Log, 'scrub'>,
  events: Pick<Events, 'noticed'>,
  reserved: Pick<ServiceDeps['reserved'], 'addDatabase'>,
): Promise<void> {
  const named = await nameServer(at);
  if (named.kind === 'problem') return;
  reserved.addDatabase(named.hosts);
  if (named.password !== null) log.scrub([named.password]);
  const message = `Everything is kept in the ${named.text}.`;
  events.noticed({ code: 'storage_server', message });
}

/** The snapshot that the first running configuration is made from. */
function firstSnapshotOf(
  { text, config, storage, warnings }: Setup,
  skillWarnings: ConfigSnapshot['warnings'],
): ConfigSnapshot {
  return {
    text,
    revision: revisionOf(text),
    config,
    storage,
    warnings: [...warnings, ...skillWarnings],
  };
}

// Messages that svc sends by itself: approvals that wait or were decided, and welcomes.

/** @returns a function that ends it */
function keepOwnMessages(deps: ApprovalKeepingDeps & WelcomingDeps): () => void {
  const ends = [keepApprovals(deps), keepWelcoming(deps)];
  return () => ends.forEach((end) => end());
}

/** The bounds of calls to models. This process gets its share of them. */
export class SharedBounds implements Disposable {
  readonly #bounds: CallBounds;
  readonly #cluster: Coordination;
  readonly #unsubscribe: () => void;
  #models: readonly ModelConfig[] = [];

  constructor(bounds: CallBounds, cluster: Coordination) {
    this.#bounds = bounds;
    this.#cluster = cluster;
    this.#unsubscribe = cluster.onChange(() => this.#hold());
  }

  /** @param models of the running configuration from now on */
  use(models: readonly ModelConfig[]): void {
    this.#models = models;
    this.#hold();
  }

  #hold(): void {
    this.#bounds.hold(this.#models, this.#cluster.limitShare());
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
  }
}

/** Warnings about the configuration in use and about what happened since it came into use. */
function warningsNow(
  control: Pick<Control, 'warnings' | 'used'>,
  servers: { standings(): readonly McpHealth[] },
  meters: Pick<Meters, 'spend'>,
): readonly WarningStatus[] {
  return [...withMcp(control, servers.standings()), ...budgetWarnings(meters, control.used.config)];
}

const budgetFields = {
  tokens_per_day: 'tokensPerDay',
  cost_per_day: 'costPerDay',
  tokens_per_sender_per_day: 'tokensPerSenderPerDay',
} as const satisfies Record<SpendLimit['kind'], keyof NonNullable<BrainConfig['budget']>>;

type RecallDeps = {
  readonly reader: Pick<LedgerReader, 'spent'>;
  readonly events: Pick<Events, 'budgetReached'>;
  readonly now: () => number;
};
type Budgeted = { readonly brains: readonly Pick<BrainConfig, 'name' | 'budget'>[] };

/** Reports again which budgets the calls before this start have nearly used today. */
export async function recallBudgets(deps: RecallDeps, { brains }: Budgeted): Promise<void> {
  const { day, rows } = await budgetsSummary(deps.reader, brains, deps.now());
  for (const { brain, limits } of rows) {
    const budget = brains.find(({ name }) => name === brain)?.budget;
    for (const { limit, percent } of limits) {
      if (limit === 'tokens_per_turn' || (percent ?? 0) < 100 * nearlyUsedShare) continue;
      const most = budget?.[budgetFields[limit]] ?? 0;
      deps.events.budgetReached({ brain, limit, most, state: 'nearly_used', day });
    }
  }
}

/**
 * Warnings about budgets. Leaves out a brain or a limit that is not configured so now, or never
 * was, as in a trial.
 */
export function budgetWarnings(
  { spend }: Pick<Meters, 'spend'>,
  { brains }: Budgeted,
): readonly WarningStatus[] {
  return spend.budgets.warnings.flatMap((warning) => {
    const { brain, field, limit, most, code, message, remedy } = warning;
    const at = brains.findIndex(({ name }) => name === brain);
    if (brains[at]?.budget?.[budgetFields[limit]] !== most) return [];
    return [{ code, path: `brains[${at}].${field}`, message, remedy }];
  });
}

// Warnings of the status about tools of MCP servers that an agent is not offered.

/** The configuration's warnings, with `mcp_unpinned` replaced by what the servers report now. */
function withMcp(
  { warnings, used }: { warnings: readonly WarningStatus[]; used: Pick<ConfigSnapshot, 'config'> },
  standings: readonly McpHealth[],
): readonly WarningStatus[] {
  const others = warnings.filter(({ code }) => code !== 'mcp_unpinned');
  return [...others, ...mcpWarnings(standings, used.config)];
}

function mcpWarnings(
  standings: readonly McpHealth[],
  { brains }: Pick<Config, 'brains'>,
): readonly WarningStatus[] {
  return standings.flatMap(({ brain, server, state, reason, tools }) => {
    const path = `brains[${brains.findIndex(({ name }) => name === brain)}].agent.mcp`;
    if (state === 'down') {
      const message = `the MCP server ${server} of the brain ${brain} is down: ${reason}`;
      const remedy = 'svc tries again by itself; svc mcp list asks it now.';
      return [problemWithoutPlace('mcp_down', path, message, remedy)];
    }
    return tools.flatMap(({ tool, state: toolState }) => {
      const what = mcpToolFaults[toolState];
      const remedy = mcpToolRemedies[toolState];
      if (what === null) return [];
      const message = `mcp.${server}.${tool} ${what}, so the agent ${brain} is not told of it`;
      return [problemWithoutPlace('mcp_unannounced', path, message, remedy)];
    });
  });
}

const mcpToolFaults: Readonly<Record<McpToolState, string | null>> = {
  announced: null,
  waiting: null,
  missing: 'is not offered by its server, or is too large for a model',
  not_pinned: 'is not pinned',
  changed: 'is no longer what was pinned',
};

const mcpToolRemedies: Readonly<Record<McpToolState, string>> = {
  announced: '',
  waiting: '',
  missing: 'Take it out of tools, or see svc mcp list for what there is.',
  not_pinned: 'Run svc mcp pin, which shows what the server says of it.',
  changed: 'Look at it with svc mcp pin, and pin it only if it is as it should be.',
};

// Where a run listens.

/** @param placed null: there is no admin server */
function whereItListens(config: Config, placed: AdminPlaced | null): Listening {
  const routed = new Set(config.routes.map(({ channel }) => channel));
  const webhooks = config.channels.filter(isListener).filter(({ name }) => routed.has(name));
  return {
    webhooks: webhooks.map(({ bind, path }) => `http://${bind.text}${path}`),
    completions: config.completions && `http://${config.completions.bind.text}/v1`,
    admin: placed?.admin == null ? null : `http://${placed.admin}/ui`,
    window: placed?.window ?? null,
  };
}

/** The addresses, for the log. */
function describeWhere({
  webhooks,
  completions,
  admin,
  window,
}: Listening): Readonly<Record<string, unknown>> {
  const webhook = webhooks.length === 0 ? null : webhooks.join(', ');
  const others = { webhook, ...(completions !== null && { completions }), admin };
  return window === null ? others : { ...others, window: window.origin };
}

/** The code of an ending after which a new start takes the configuration in use. */
export const configMoved = 'config_moved';

/** @returns an ending if another configuration is in use by now; null: it has begun */
export async function beginConfig(
  cluster: Pick<Cluster, 'beginConfig'>,
  { text }: Pick<Setup, 'text'>,
): Promise<Ending | null> {
  const begun = await cluster.beginConfig(text);
  if (begun.kind === 'begun') return null;
  if (begun.kind === 'failed') {
    return { kind: 'failed', code: 'storage_unreachable', message: begun.message };
  }
  const message =
    'Another configuration has come into use in the database: start svc again to take that one.';
  return { kind: 'failed', code: configMoved, message };
}

/** The ending of a start that cannot open its storage. */
export function endingBy({ code, message, isPassing }: StoreProblem): Ending {
  if (isPassing) return { kind: 'failed', code, message };
  return { kind: 'refused', code, message, unbound: null };
}

/**
 * Only a listener can fail to get a configured address. An address from a flag is not configured.
 */
function refusalOf(
  { code, message, channel }: ChannelProblem,
  { channels, completions }: Config,
): Ending {
  if (channel === completionsChannel && completions?.bind.byFlag === undefined) {
    const address = completions?.bind.text ?? '';
    const unbound = code === 'bind_failed' ? { field: 'completions.bind', address } : null;
    return { kind: 'refused', code, message, unbound };
  }
  const index = channels.findIndex(({ name }) => name === channel);
  const listener = channels.filter(isListener).find(({ name }) => name === channel);
  const isOfFile = listener !== undefined && listener.bind.byFlag === undefined;
  const field = `channels[${index}].${listener?.type}.bind`;
  const isUnbound = code === 'bind_failed' && isOfFile;
  const unbound = isUnbound ? { field, address: listener.bind.text } : null;
  return { kind: 'refused', code, message, unbound };
}

/**
 * Whether a run is to end, and its health until then. A run ends when it is told to stop, when the
 * storage fails for good, or when the start fails.
 */
class RunState {
  readonly #over = new AbortController();
  readonly #isOver = Promise.withResolvers<Ending>();
  #ending: Ending | null = null;
  #health: Health = { status: 'ok' };

  /** @param stop ends the run when it aborts */
  constructor(stop: AbortSignal) {
    const stopped = (): void => this.end({ kind: 'ended' });
    if (stop.aborted) stopped();
    else stop.addEventListener('abort', stopped, { once: true, signal: this.#over.signal });
  }

  /** Aborts when the run is to end. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Resolves when the run is to end. */
  get ending(): Promise<Ending> {
    return this.#isOver.promise;
  }

  /** The final ending, once the run is closed; null: it has not ended. */
  get outcome(): Ending | null {
    return this.#ending;
  }

  get health(): Health {
    return this.#health;
  }

  /** Ends the run; the first ending counts. */
  end(ending: Ending): void {
    if (this.#ending !== null) return;
    this.#ending = ending;
    this.#health = { status: 'failing', reason: 'it is stopping', isStopping: true };
    this.#isOver.resolve(ending);
    this.#over.abort();
  }

  /** Ends the run. If the storage fails during an ordered stop, that ending becomes a failure. */
  storageFailed(): void {
    const message = 'The storage failed; the log says how.';
    const failed: Ending = { kind: 'failed', code: null, message };
    this.end(failed);
    if (this.#ending?.kind === 'ended') this.#ending = failed;
    this.#health = { status: 'failing', reason: 'the storage failed' };
  }
}
