/**
 * One run of the service: open the ledger, take the first Plan into use, open the admin server,
 * wait until told to stop, drain, close. Nothing here waits for the outside: a provider that is
 * down shows in the answers and on the status page, not at boot.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { AdminPorts, Health, PlanView } from './admin/admin.ts';
import type { OperatorAccess } from './admin/auth.ts';
import type { AdminServer } from './admin/server.ts';
import type { Config, ConfigProblem, Secrets } from './config/config.ts';
import { Control } from './control/control.ts';
import { warnOfForwarding } from './control/forwarded.ts';
import { problemOfSkills, warningOfSkill, type Stand } from './control/next.ts';
import type { Events } from './domain/event.ts';
import { createIdSource } from './domain/ids.ts';
import { createEvents, type EventHub } from './events.ts';
import { Host, type Left } from './host.ts';
import { systemClock } from './lib/clock.ts';
import { createTokenCheck } from './lib/bearer.ts';
import type { Log } from './lib/log.ts';
import { listenTo } from './news.ts';
import type { Plan } from './plan.ts';
import { createQuestions } from './questions.ts';
import { createPlan, createServiceKit, openAdmin } from './service.ts';
import { readSkills, type ServiceKit } from './service.ts';
import { openLedger } from './storage.ts';
import type { Ledger, LedgerReader } from './store/store.ts';

export type Setup = {
  readonly config: Config;
  readonly text: string;
  /** Where the configuration lies, absolute; relative paths are taken from its folder. */
  readonly file: string;
  /** Where secrets were looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Calls what it is given when the file is to be read again; null: the text stands in no file. */
  readonly onReload: ((reload: () => void) => void) | null;
  /** First characters of the file's digest. */
  readonly revision: string;
  /** Absolute; null: no storage, everything in memory. */
  readonly storagePath: string | null;
  readonly secrets: Secrets;
  /** What the check of the config warned of, for the status page. */
  readonly warnings: readonly ConfigProblem[];
  readonly log: Log;
  readonly version: string;
  /** The folder of the pages. */
  readonly webRoot: URL;
  /** Ends the service: drain, then close. */
  readonly stop: AbortSignal;
  readonly onListening?: (at: Listening) => void;
};

export type Listening = { readonly webhook: string | null; readonly admin: string | null };

export type Ending =
  | { readonly kind: 'ended' }
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  /** The storage failed for good; a restart recovers what was accepted. */
  | { readonly kind: 'failed'; readonly message: string };

/** Runs the service until `stop` aborts; resolves when everything is closed. */
export async function runService(setup: Setup): Promise<Ending> {
  const skills = await readSkills(setup.config.brains);
  if (skills.kind === 'problem') {
    const { code, path, message, remedy } = problemOfSkills(skills);
    return { kind: 'refused', code, message: `${path}: ${message}. ${remedy}` };
  }
  const events = createEvents({ log: setup.log, ...systemClock });
  const kit = createServiceKit(events, setup.version, setup.storagePath);
  const broken = Promise.withResolvers<Ending>();
  const health: { now: Health } = { now: { status: 'ok' } };
  const heard = listenTo(events);
  const skillWarnings = skills.warnings.map(warningOfSkill);
  for (const { code, path, message } of skillWarnings) events.warned({ code, path, message });
  const ids = createIdSource(kit.now, (bytes) => void crypto.getRandomValues(bytes));
  const store = await openLedger({
    storage: setup.config.storage,
    path: setup.storagePath,
    ids,
    now: kit.now,
    steady: kit.steady,
    news: heard.news,
    failed(error) {
      events.faulted({ where: 'the storage', error });
      health.now = { status: 'failing', reason: 'the storage failed' };
      broken.resolve({ kind: 'failed', message: 'The storage failed; the log says how.' });
    },
  });
  if ('kind' in store) {
    return { ...store, kind: passingProblems.has(store.code) ? 'failed' : 'refused' };
  }
  const { ledger, reader } = store;
  const { now, steady, random } = kit;
  const host = new Host({ ledger, events, ids, now, steady, random });
  const plan = createPlan(setup.revision, setup.config, setup.secrets, kit, skills.texts);
  const problem = await host.use(plan);
  const onUsed = ({ models }: Plan): void => {
    kit.bounds.hold(models.map(({ config }) => config));
    void warnOfForwarding(models, kit);
  };
  if (problem === null) onUsed(plan);
  const { onReload, file, env, log, stop } = setup;
  const source = onReload && { file, env, onReload };
  const control = new Control(
    { source, host, kit, log, stop, onUsed },
    firstOf(setup, skillWarnings),
  );
  const admin =
    problem ??
    (await startAdmin(
      setup,
      kit,
      portsOf(setup, kit, events, host, store, {
        control,
        health: () => (health.now.status === 'ok' ? heard.health() : health.now),
        warnings: () => [...control.warnings, ...heard.warnings()],
      }),
      control,
    ));
  if (admin?.kind === 'problem') {
    await close({ kit, host, reader, control, admin: null });
    return { ...admin, kind: 'refused' };
  }
  sayListening(setup, events, admin?.port ?? null);
  const ending = await Promise.race([stopped(setup.stop), broken.promise]);
  if (ending.kind === 'ended') health.now = { status: 'failing', reason: 'it is stopping' };
  events.noticed({ code: 'draining', message: 'No new messages; finishing what is in hand.' });
  const left = await close({ kit, host, reader, control, admin: admin?.server ?? null });
  sayDrained(events, left, ledger.terms.durable);
  return ending;
}

/** A restart may find the disk well again; of the others only a person can rid us. */
const passingProblems = new Set([
  'storage_io',
  'storage_full',
  'storage_locked',
  'storage_unusable',
]);

function firstOf(setup: Setup, skillWarnings: Stand['warnings']): Stand {
  const { text, revision, config, storagePath, warnings } = setup;
  return { text, revision, config, storagePath, warnings: [...warnings, ...skillWarnings] };
}

type OpenAdmin = { readonly kind: 'admin'; readonly server: AdminServer; readonly port: number };
type Refusal = { readonly kind: 'problem'; readonly code: string; readonly message: string };

/** A default address that is taken costs the admin server; one that was written down, the boot. */
async function startAdmin(
  { config, secrets, webRoot }: Setup,
  kit: ServiceKit,
  ports: AdminPorts,
  control: Control,
): Promise<OpenAdmin | Refusal | null> {
  const settings = config.observability;
  const access = operatorAccess(config.admin, secrets);
  const allowedHosts = (): readonly string[] => control.used.config.observability.allowedHosts;
  const admin = await openAdmin({ settings, access, allowedHosts, webRoot, ports }, kit);
  if (admin === null) return null;
  const { server, opened } = admin;
  if (opened.kind === 'opened') return { kind: 'admin', server, port: opened.port };
  if (settings.address.given) return opened;
  kit.events.warned({ code: 'admin_off', message: `${opened.message} It is off for this run.` });
  return null;
}

/** How the administrator is known; read-only where the block or the variable's value is missing. */
function operatorAccess(admin: Config['admin'], secrets: Secrets): OperatorAccess {
  if (admin === null) {
    const remedy = 'An admin block in the configuration, with token_env, switches writing on.';
    return { kind: 'none', remedy };
  }
  const token = secrets.get(admin.tokenEnv);
  if (token !== undefined) return { kind: 'bearer', matches: createTokenCheck(token) };
  const remedy = `Set ${admin.tokenEnv}, which admin.token_env names, and restart.`;
  return { kind: 'none', remedy };
}

function portsOf(
  setup: Setup,
  kit: ServiceKit,
  events: EventHub,
  host: Host,
  { ledger, reader }: { readonly ledger: Ledger; readonly reader: LedgerReader },
  state: {
    readonly control: Control;
    readonly health: () => Health;
    readonly warnings: () => PlanView['warnings'];
  },
): AdminPorts {
  const { version, file, env, log, storagePath: heldDatabase } = setup;
  const { control } = state;
  const view = (): PlanView => {
    const channels = host.plan?.channels ?? [];
    return {
      revision: control.used.revision,
      usedAt: control.inUse().usedAt,
      config: control.used.config,
      warnings: state.warnings(),
      channels: channels.map(({ type, channel }) => ({ type, ...channel.health() })),
    };
  };
  return {
    version,
    startedAt: kit.now(),
    now: kit.now,
    health: state.health,
    plan: view,
    meters: events.meters,
    frames: events.frames,
    gauges: () => ledger.gauges(),
    backlog: () => ledger.backlog(),
    connections: () => kit.listeners.connections,
    modelLoads: () => kit.bounds.loads,
    reader,
    writes: ledger,
    audit: (row) => ledger.recordWrite(row),
    turnedAway: () => host.gate.turnedAway,
    pairings: host.pairings,
    control,
    questions: createQuestions({
      file,
      env,
      heldDatabase,
      config: () => control.used.config,
      kit,
      log,
    }),
    events,
  };
}

function sayListening(setup: Setup, events: Events, adminPort: number | null): void {
  const { channels, routes, observability } = setup.config;
  const configured = channels.find((channel) => channel.type === 'webhook');
  const isRouted = routes.some(({ channel }) => channel === 'webhook');
  const webhook = isRouted ? configured : undefined;
  const at: Listening = {
    webhook: webhook === undefined ? null : `http://${webhook.bind.text}${webhook.path}`,
    admin: adminPort === null ? null : `http://${observability.address.text}/ui`,
  };
  events.noticed({ code: 'listening', message: 'svc is listening.', details: { ...at } });
  setup.onListening?.(at);
}

function stopped(stop: AbortSignal): Promise<Ending> {
  return new Promise((resolve) => {
    const done = (): void => resolve({ kind: 'ended' });
    if (stop.aborted) done();
    else stop.addEventListener('abort', done, { once: true });
  });
}

/** Without storage what is left is lost, so it is named; with storage the next start has it. */
function sayDrained(events: Events, { rows, ids }: Left, durable: boolean): void {
  if (rows > 0 && !durable) {
    const message = `${rows} rows were not finished in time and are lost: ${ids.join(' ')}`;
    events.warned({ code: 'left_behind', message });
  }
  events.noticed({ code: 'drained', message: 'Everything is closed.', details: { left: rows } });
}

type Parts = {
  readonly kit: ServiceKit;
  readonly host: Host;
  readonly reader: LedgerReader;
  readonly control: Control;
  readonly admin: AdminServer | null;
};

/** The intake closes first. A configuration on its way is refused then, and its file put back. */
async function close({ kit, host, reader, control, admin }: Parts): Promise<Left> {
  const left = await host.drain();
  await Promise.race([control[Symbol.asyncDispose](), pause(settleMs, null, { ref: false })]);
  await admin?.[Symbol.asyncDispose]();
  await reader[Symbol.asyncDispose]();
  await kit.http.close();
  return left;
}

const settleMs = 5_000;
