/**
 * `svc doctor`: checks everything that svc needs, and prints a remedy for each fault. The checks
 * are those of the preflight, and others in this file: clock, keychain, MCP servers, open files,
 * database, webhooks of other programs, and addresses.
 */
import type { Config } from '../../config/config.ts';
import { isMessenger, isListener, kindOf, type MessengerConfig } from '../../channels/registry.ts';
import type { ListenAddress } from '../../config/address.ts';
import type { Inspection } from '../../config/inspect.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { warningsOfSkills } from '../../app/config/skill-warnings.ts';
import { withWarnings } from '../frame/config-check.ts';
import { findStorage } from '../frame/find-storage.ts';
import { findConfigFile, inspectConfigFile } from '../frame/config-file.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainJson, plainLine } from '../../lib/plain-text.ts';
import { failed, ok, warning, type PreflightLine } from '../../app/preflight/lines.ts';
import { runPreflight } from '../../app/preflight/preflight.ts';
import type { ServerSeen } from '../../app/preflight/models.ts';
import { probeServer, examineStorage, roomOfDisk, type ServerProbe } from '../../app/storage.ts';
import { programVersion, versionAt } from '../../lib/program.ts';
import { codeOf, isColoured, report } from '../frame/report.ts';
import { desktopLines } from './desktop.ts';
import { keychainOf } from '../secrets/secrets.ts';
import { formatDuration, localTime, formatBytes } from '../ledger/table.ts';
import { plural } from '../../domain/plural.ts';
import { explainKeychain } from '../../app/keychain.ts';
import type { Keychain } from '../../secrets/secrets.ts';
import { pinsFileBeside, readPins, type Pins } from '../../config/mcp-pins.ts';
import { readSecrets, createCommandLog } from '../frame/boot.ts';
import { isOfMcpServer, namedSecrets, resolveSecrets } from '../../config/secrets.ts';
import { askServers, nameOf, describeDown, toolLines, type Surveyed } from '../mcp/survey.ts';
import {
  connectionsWithin,
  openFilesMax,
  openFilesMin,
  createListeners,
} from '../../lib/listener.ts';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { forShell } from '../../lib/for-shell.ts';
import { describeHolder, holderOfPort } from '../../lib/holders.ts';
import type { WebhookProbe } from '../../channels/channel.ts';
import { createEvents } from '../../telemetry/events.ts';
import { systemClock, later, steadyNow } from '../../lib/clock.ts';
import { createMessenger, createServiceDeps } from '../../app/service.ts';
import { addressFlags } from '../../config/own-addresses.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient, type HttpClient } from '../../lib/http-client.ts';
import { originOf } from '../../lib/own-address.ts';

const table = {
  config: { type: 'string' },
  'delete-webhook': { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

export const doctor: Command = {
  name: 'doctor',
  summary: 'Check everything that svc needs, and name a remedy for each problem',
  usage: `Usage: svc doctor [--config <file>] [--delete-webhook] [--json]

Checks everything that svc needs:

- the configuration and its secrets, and the keychain if svc secrets set has put a value there
- models, and how many tokens a local one reads in one call
- the addresses for replies
- the bots of messengers: the owner of each token, and whether another program set a webhook
- MCP servers: it asks each for its tools (it starts a command for this, and ends it)
- a database in a file: whether it is sound, its schema, its rights, its owner, room on the disk
- a database on a server: its version, the encryption, whether a commit lasts, the rights, the
  schema, the programs that use it
- how many files may be open, the addresses of the configuration to listen on, the windows that svc
  desktop has here, and the clock

It sends nobody's words anywhere, and you can run it while svc runs. Without a flag it changes
nothing.

  --config <file>   the configuration file (default: svc.json)
  --delete-webhook  delete a webhook that another program set for a bot; no waiting message is lost
  --json            print {"valid", "problems", "checks"}

Exit codes: 0 fine (warnings too), 1 a check failed, 2 wrong usage, 78 the configuration has a
problem or a secret is missing.
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'doctor', parsed.message);
  const file = findConfigFile(parsed.flags.config, io);
  const inspected = await inspectConfigFile(file, io);
  const inspection = withWarnings(inspected, await warningsOfSkills(inspected));
  const { validation } = inspection;
  const valid = validation.kind === 'valid';
  const deleting = parsed.flags['delete-webhook'];
  const lines = valid ? await runChecks(inspection, validation.config, deleting, io) : [];
  if (parsed.flags.json) {
    io.stdout.write(`${plainJson({ valid, problems: validation.problems, checks: lines }, 2)}\n`);
  } else {
    const coloured = isColoured(io.stdout, io.env);
    io.stdout.write(report(file.name, inspection, lines, coloured, 'check'));
  }
  return io.stop.aborted ? exitCode.failed : codeOf(inspection, lines);
}

async function runChecks(
  inspection: Inspection,
  config: Config,
  deletingWebhook: boolean,
  io: Io,
): Promise<readonly PreflightLine[]> {
  const at = await findStorage(inspection.storage, config, io);
  const server = at?.kind === 'server' ? await probeServer(at) : undefined;
  const path = at?.kind === 'file' ? at.path : null;
  const examined = await examinePlace(path);
  const owned = isOwned(examined, server);
  const [preflight, listeners, servers, webhooks] = await Promise.all([
    runPreflight(inspection, {
      lookup: io.secrets,
      version: programVersion(),
      heldDatabase: null,
      server,
      left: io.stop,
    }),
    listenerLines(config, owned),
    mcpLines(config, inspection.file, io),
    webhookLines(config, io, deletingWebhook),
  ]);
  const ownerPid = examined?.kind === 'examined' ? examined.ownerPid : null;
  const newestAt =
    examined?.kind === 'examined'
      ? examined.newestAt
      : server?.kind === 'looked'
        ? server.newestAt
        : null;
  return [
    ...preflight,
    ...webhooks,
    ...servers,
    ...(await keychainLines(keychainOf(io), io.stop)),
    ...(await storageLines(path, examined)),
    ...(server?.kind === 'looked' ? databaseLines(server) : []),
    ...openFilesLines(ownerPid),
    ...listeners,
    ...(await desktopLines(io.env)),
    clockLine({ now: Date.now(), newestAt, versionAt }),
  ];
}

/** Whether a svc works on the database now; null: there is no database, or nobody can tell. */
function isOwned(
  examined: Awaited<ReturnType<typeof examinePlace>>,
  server: ServerSeen | undefined,
): boolean | null {
  if (server !== undefined) return server.kind === 'looked' ? server.owner !== null : null;
  return examined === null ? null : examined.kind === 'examined' && examined.owned;
}

/** A correction of the clock may step it this far without being a fault. */
const slackMs = 1_000;

/**
 * A clock that is behind puts new messages before old ones, and keeps expired things alive. All
 * times are in milliseconds since 1970. `newestAt` is the time of the newest stored message; null:
 * none.
 */
export function clockLine({
  now,
  newestAt,
  versionAt: madeAt,
}: {
  readonly now: number;
  readonly newestAt: number | null;
  readonly versionAt: number;
}): PreflightLine {
  const remedy = 'Set the clock, and let it be kept right (NTP).';
  if (now < madeAt) {
    return failed('clock', `${localTime(now)} is before this version was made`, remedy);
  }
  if (newestAt !== null && now + slackMs < newestAt) {
    const message = `is ${formatDuration(newestAt - now)} behind the newest message stored`;
    return failed('clock', message, remedy);
  }
  return ok('clock', `${localTime(now)}, as far as can be told from here`);
}

const keychainSubject = 'keychain';

/**
 * Checks the keychain of the operating system. If it never got a secret, there is no question and
 * no line. No prompt opens. A keychain that does not answer is only a warning, since the secrets
 * that are missing fail by themselves.
 */
export async function keychainLines(
  keychain: Keychain,
  stop: AbortSignal,
): Promise<readonly PreflightLine[]> {
  const stored = await keychain.stored();
  if (stored.kind === 'fault')
    return [warning(keychainSubject, afterSubject(stored.message), stored.remedy)];
  const names = stored.secrets.map(({ name }) => name);
  if (names.length === 0) return [];
  const state = await keychain.state(stop);
  if (state !== 'ready') {
    const { message, remedy } = explainKeychain(state);
    return [warning(keychainSubject, afterSubject(message), remedy)];
  }
  const holdings = await keychain.holds(names, stop);
  if (holdings.kind === 'fault')
    return [warning(keychainSubject, afterSubject(holdings.message), holdings.remedy)];
  const lost = names.filter((name) => !holdings.names.has(name));
  const lines = lost.map((name) => {
    const remedy = `Store it again with svc secrets set ${name}, or svc secrets delete ${name}.`;
    return warning(keychainSubject, `has lost ${name}, which was put there`, remedy);
  });
  const kept = plural(names.length - lost.length, 'secret');
  return [ok(keychainSubject, `answers; svc has ${kept} there`), ...lines];
}

/** Turns a sentence into the text that follows the subject of a line. */
function afterSubject(message: string): string {
  return message.replace(/^The keychain |\.$/g, '').replace(/^[A-Z]/, (one) => one.toLowerCase());
}

/**
 * Asks each MCP server, as `svc mcp list` does. Other lines report missing pins, unreadable pins
 * and missing secrets.
 * @param file the absolute path of the configuration
 */
export async function mcpLines(
  config: Config,
  file: string,
  io: Io,
): Promise<readonly PreflightLine[]> {
  if (config.brains.every(({ agent }) => agent === null || agent.mcp.length === 0)) return [];
  const read = await readSecrets(config, io, { concerns: isOfMcpServer });
  const pins = await readPins(pinsFileBeside(file));
  if (read.kind === 'refused' || pins.kind === 'unreadable') return [];
  const servers = await askServers(config, read.secrets, io);
  return servers.flatMap((server) => linesOf(server, pins.pins));
}

function linesOf(surveyed: Surveyed['servers'][number], pins: Pins): readonly PreflightLine[] {
  const { server, answer, listed } = surveyed;
  const subject = `MCP server ${server}`;
  if (answer.kind === 'down') {
    const remedy = 'Start or repair the server. Its tools are missing until it answers.';
    return [warning(subject, `is down: ${describeDown(answer)}`, remedy)];
  }
  const tools = toolLines(surveyed, pins).filter(({ tool }) => listed.includes(tool));
  const pinned = tools.filter(({ state }) => state === 'pinned').length;
  const faults = tools.flatMap(({ tool, state, changed }) => {
    const name = nameOf(server, tool);
    if (state === 'changed') {
      const remedy = 'Look at it with svc mcp pin, and pin it only if it is as it should be.';
      const what = `is no longer what was pinned (${changed.join(', ')})`;
      return [warning(name, `${what}, so no agent is told of it`, remedy)];
    }
    if (state !== 'not offered') return [];
    const remedy = 'Take it out of tools, or see svc mcp list for what there is.';
    return [warning(name, 'is not offered by its server, or is too large for a model', remedy)];
  });
  const count = `${pinned} of ${plural(listed.length, 'listed tool')} as pinned`;
  return [ok(subject, `answers; ${count}`), ...faults];
}

/**
 * How many files, and so connections, svc may have open. No line if the system does not report it.
 * @param ownerPid the running svc, which may have another limit; null: one that starts here
 */
function openFilesLines(ownerPid: number | null): readonly PreflightLine[] {
  const max = (ownerPid === null ? null : openFilesMax(ownerPid)) ?? openFilesMax();
  return max === null ? [] : [openFilesLine(max)];
}

export function openFilesLine(max: number): PreflightLine {
  if (max >= openFilesMin) return ok('open files', `${max} may be open at once`);
  const message =
    `only ${max} may be open at once, so only ${connectionsWithin(max)} connections are taken at ` +
    'each address';
  const remedy = `Let svc have ${openFilesMin} or more: ulimit -n, or LimitNOFILE= of its service.`;
  return warning('open files', message, remedy);
}

/** The tables and the owner of a database on a server, as the probe found them. */
export function databaseLines(probe: ServerProbe): readonly PreflightLine[] {
  return [schemaLine(probe), ownerLine(probe)];
}

function schemaLine({ schema, stepsBehind, bytes }: ServerProbe): PreflightLine {
  const size = formatBytes(bytes);
  if (schema === null) {
    return ok('database', `has no tables of svc yet (${size}); the first start makes them`);
  }
  if (stepsBehind < 0) {
    const message = `was written by a newer svc (version ${schema} of the schema, ${size})`;
    return failed('database', message, 'Run that svc, or a newer one.');
  }
  if (stepsBehind === 0) {
    return ok('database', `is of this version (version ${schema} of the schema, ${size})`);
  }
  const message = `was written by an older svc (version ${schema} of the schema, ${size})`;
  return warning('database', message, 'Nothing to do: the next start brings it up to date.');
}

function ownerLine({ owner }: ServerProbe): PreflightLine {
  if (owner === null) return ok('owner', 'no svc works on the database');
  const seconds = Math.round(owner.heartbeatAgoMs / 1000);
  return ok(
    'owner',
    `a running svc (${owner.version}) works on the database, seen ${seconds} s ago`,
  );
}

type Examination = Awaited<ReturnType<typeof examineStorage>>;
type Room = Pick<Examined, 'freeBytes' | 'freeBytesMin'>;
type Examined = Extract<Examination, { readonly kind: 'examined' }>;

/** The room on the disk of the future database: that of the nearest folder that exists. */
async function roomAt(path: string): Promise<Room | null> {
  const folder = dirname(path);
  if (!existsSync(folder)) return folder === path ? null : roomAt(folder);
  return roomOfDisk(folder);
}

/** @returns null without storage, and before there is a database */
export async function examinePlace(path: string | null): Promise<Examination | null> {
  return path === null || !existsSync(path) ? null : examineStorage(path);
}

/** Lines about the examination of the database; before there is one, about the room for it. */
export async function storageLines(
  path: string | null,
  examination: Examination | null,
): Promise<readonly PreflightLine[]> {
  if (path === null) return [];
  if (examination === null) {
    const room = await roomAt(path);
    return room === null ? [] : [diskLine(room)];
  }
  if (examination.kind === 'problem') {
    const remedy = 'Nothing else of the database could be looked at.';
    return [failed('database', examination.message, remedy)];
  }
  return [
    soundLine(examination),
    storageOwnerLine(examination),
    rightsLine(examination),
    diskLine(examination),
  ];
}

function soundLine({ damage, stepsBehind, bytes }: Examined): PreflightLine {
  if (damage !== null) {
    const remedy = 'Stop svc, move the file away, and put a backup in its place.';
    return failed('database', `is damaged: ${damage}`, remedy);
  }
  const size = formatBytes(bytes);
  if (stepsBehind === 0) return ok('database', `is sound, and of this version (${size})`);
  const message = `is sound (${size}), and was written by an older svc`;
  return warning('database', message, 'Nothing to do: the next start brings it up to date.');
}

function storageOwnerLine({ owned, ownerPid, unclean }: Examined): PreflightLine {
  if (owned) return ok('owner', `a running svc${describeHolder(ownerPid)} holds the database`);
  if (!unclean) return ok('owner', 'no svc holds the database; the last one closed it');
  const message =
    'no svc holds the database, and the last one ended without closing it, or this is a backup';
  return warning('owner', message, 'Nothing to do: the next start recovers what was accepted.');
}

function rightsLine({ openFiles }: Examined): PreflightLine {
  if (openFiles.length === 0) return ok('rights', 'only the owner may read the database');
  const message = `other users of this machine may use ${openFiles.join(', ')}`;
  return warning('rights', message, `Run chmod go-rwx ${openFiles.map(forShell).join(' ')}`);
}

export function diskLine({ freeBytes, freeBytesMin }: Room): PreflightLine {
  const least = formatBytes(freeBytesMin);
  const message = `${formatBytes(freeBytes)} are free; below ${least} nothing new is accepted`;
  const remedy = 'Make room on the disk that holds the database.';
  if (freeBytes < freeBytesMin) return failed('disk', message, remedy);
  return freeBytes < 4 * freeBytesMin ? warning('disk', message, remedy) : ok('disk', message);
}

const askMs = 10_000;

/**
 * A line for each messenger bot for which another program has set a webhook: svc polls, so it gets
 * no messages then. Another line, about its token, reports a bot that cannot be asked. If its
 * webhook was to be deleted, this reports it too.
 * @param deleting whether to delete the webhooks
 */
async function webhookLines(
  config: Config,
  io: Io,
  deleting: boolean,
): Promise<readonly PreflightLine[]> {
  const messengers = config.channels.filter(isMessenger);
  if (messengers.length === 0) return [];
  const names = namedSecrets(config).map(({ name }) => name);
  const { secrets } = resolveSecrets(config, await io.secrets.find(names, io.stop));
  const log = createCommandLog(io, 'error');
  log.scrub(secrets.values());
  const deps = createServiceDeps(createEvents({ log, ...systemClock }), programVersion());
  const signal = AbortSignal.any([io.stop, AbortSignal.timeout(askMs)]);
  const lines = messengers.map(async (messenger) => {
    if (!secrets.has(messenger.tokenEnv)) return [];
    await using channel = createMessenger(messenger, secrets, deps);
    const seen = (await channel.webhook?.(signal, deleting)) ?? ({ kind: 'none' } as const);
    const line = deleting ? lineAfter(messenger, seen) : lineOf(messenger, seen);
    return line === null ? [] : [line];
  });
  try {
    return (await Promise.all(lines)).flat();
  } finally {
    await deps.http.close();
  }
}

type Bot = Pick<MessengerConfig, 'name' | 'tokenEnv'>;

function lineOf({ name, tokenEnv }: Bot, seen: WebhookProbe): PreflightLine | null {
  if (seen.kind !== 'set') return null;
  return warning(
    name,
    `another program set a webhook for its bot, to ${plainLine(seen.host)}: ` +
      'meanwhile svc gets no messages',
    `End that program, or give svc a bot of its own in ${tokenEnv}; then svc doctor ` +
      '--delete-webhook deletes it, as svc does when it starts. No message that waits is lost.',
  );
}

/** The line after an attempt to delete the webhook. */
function lineAfter({ name, tokenEnv }: Bot, seen: WebhookProbe): PreflightLine | null {
  switch (seen.kind) {
    case 'none':
      return null;
    case 'deleted':
      return ok(
        name,
        `its webhook, which led to ${plainLine(seen.host)}, is deleted; ` +
          'no message that waits is lost',
      );
    case 'set':
      return failed(
        name,
        `its webhook, which leads to ${plainLine(seen.host)}, could not be deleted`,
        'Run svc doctor --delete-webhook again in a minute. svc deletes it too, when it starts.',
      );
    case 'unknown':
      return failed(
        name,
        'it could not be asked for a webhook of its bot, so none is deleted',
        `Look at the token in ${tokenEnv} and at the network; then run svc doctor ` +
          '--delete-webhook again.',
      );
    default:
      return seen satisfies never;
  }
}

type Listener = {
  readonly subject: string;
  readonly address: ListenAddress;
  /** The field that holds the address. */
  readonly field: string;
  /** The flag of `svc serve` that may have set another address. */
  readonly flag: string;
  /** Whether svc starts without this listener if the address is taken. */
  readonly optional: boolean;
};

type ListeningConfig = Pick<Config, 'channels' | 'completions' | 'observability'>;

/**
 * Checks whether svc can listen at its addresses, or already does.
 * @param owned whether a running svc holds the database; null: there is no database to tell by
 */
export async function listenerLines(
  config: ListeningConfig,
  owned: boolean | null,
): Promise<readonly PreflightLine[]> {
  const http = createHttpClient(createDeadlines());
  try {
    return await Promise.all(listenersOf(config).map((one) => listenerLine(one, owned, http)));
  } finally {
    await http.close();
  }
}

function listenersOf(config: ListeningConfig): readonly Listener[] {
  const { channels, completions, observability } = config;
  const listeners = channels.filter(isListener).map(({ name, type, bind }): Listener => {
    const field = `${kindOf(type).listener.block}.bind`;
    const flag = addressFlags.webhook;
    return { subject: `${name} at ${bind.text}`, address: bind, field, flag, optional: false };
  });
  if (completions !== null) {
    const { bind: address } = completions;
    const subject = `completions API at ${address.text}`;
    const flag = addressFlags.completions;
    listeners.push({ subject, address, field: 'completions.bind', flag, optional: false });
  }
  if (!observability.enabled) return listeners;
  const { address } = observability;
  const field = 'observability.addr';
  const admin = { subject: `admin server at ${address.text}`, address, field };
  const flag = addressFlags.admin;
  return [...listeners, { ...admin, flag, optional: !address.given }];
}

async function listenerLine(
  { subject, address, field, flag, optional }: Listener,
  owned: boolean | null,
  http: HttpClient,
): Promise<PreflightLine> {
  if (address.port === 0) return ok(subject, 'takes any free port');
  const answer = await whoAnswers(address, http);
  switch (answer) {
    case 'svc': {
      if (owned !== false) return ok(subject, 'a running svc answers');
      const message = 'an svc answers that does not hold this database';
      return warning(subject, message, `Stop that one, or change ${field}.`);
    }
    case 'free': {
      if (owned !== true) return ok(subject, 'is free');
      const message = 'is free, though a running svc holds the database';
      const remedy =
        `That svc has another configuration: start it again. Or ${flag} gave it another address ` +
        'at its start: then all is well.';
      return warning(subject, message, remedy);
    }
    case 'taken': {
      const message = `is taken by another program${describeHolder(holderOfPort(address.port))}`;
      const remedy = `Stop that program, or change ${field}.`;
      return optional ? warning(subject, message, remedy) : failed(subject, message, remedy);
    }
    default: {
      const message = `cannot be listened on (${answer.code})`;
      return failed(subject, message, `Change ${field} to an address of this machine.`);
    }
  }
}

const answerMs = 3_000;

/**
 * Asks over HTTP before it tries to listen, so that no program loses the address even for a moment.
 */
async function whoAnswers(
  address: ListenAddress,
  http: HttpClient,
): Promise<'svc' | 'free' | 'taken' | { readonly code: string }> {
  const result = await http.send({
    method: 'GET',
    url: new URL('/healthz', originOf(address)),
    headers: {},
    body: null,
    deadlineAt: later(steadyNow(), answerMs),
    bodyBytesMax: 65_536,
  });
  if (result.kind === 'answer') return isHealth(result.body) ? 'svc' : 'taken';
  if (result.fault !== 'connect_failed') return 'taken';
  const listener = await createListeners().take(address);
  if (listener.kind === 'fault')
    return listener.code === 'EADDRINUSE' ? 'taken' : { code: listener.code };
  await listener.release(0);
  return 'free';
}

function isHealth(body: string): boolean {
  try {
    const status: unknown = (JSON.parse(body) as { status?: unknown } | null)?.status;
    return status === 'ok' || status === 'failing';
  } catch {
    return false;
  }
}
