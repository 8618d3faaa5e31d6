/**
 * Checks what a configuration needs from outside before a service starts with it: secrets,
 * providers, hosts, the place of the database. It changes nothing and sends no one's content. Its
 * connections are its own, so it does not disturb a service in the same process.
 */
import { stat, access, constants, open, statfs } from 'node:fs/promises';
import { Writable } from 'node:stream';
import type { Identity } from '../../channels/channel.ts';
import type { ChannelKind } from '../../channels/kind.ts';
import {
  isMessenger,
  kindOf,
  isListener,
  type ChannelConfig,
  type MessengerConfig,
} from '../../channels/registry.ts';
import type { Config, Secrets } from '../../config/config.ts';
import type { Inspection } from '../../config/inspect.ts';
import type { StoragePlace } from '../../config/storage-place.ts';
import type { SecretLookupResults } from '../../config/found-secret.ts';
import {
  howToSet,
  namedSecrets,
  resolveSecrets,
  describeSource,
  describeWhy,
  type MissingSecret,
  type ResolvedSecrets,
} from '../../config/secrets.ts';
import { createEvents } from '../../telemetry/events.ts';
import { systemClock, later } from '../../lib/clock.ts';
import type { Listeners } from '../../lib/listener.ts';
import { createLog } from '../../lib/log.ts';
import { createMessenger, createServiceDeps, readingOf, type ServiceDeps } from '../service.ts';
import type { SecretLookup } from '../../secrets/secrets.ts';
import { probeServer, storageAt } from '../storage.ts';
import { failed, ok, refusing, warning, type PreflightLine } from './lines.ts';
import { providerLines, serverLines, unaskedLine, type ServerSeen } from './models.ts';
import { holderOfPort, describeHolder } from '../../lib/holders.ts';
import { connect } from 'node:net';
import type { FailureKind } from '../../domain/failure.ts';
import { speechRemedy } from '../../domain/remedy.ts';
import { strictest } from '../../domain/sensitivity.ts';
import { dirname } from 'node:path';
import { pathExists } from '../../lib/make-folder.ts';
import { isFileOf } from '../../lib/database-files.ts';

const checkMs = 10_000;

export type Surroundings = {
  readonly lookup: SecretLookup;
  readonly version: string;
  /** The database that this process has open, which the preflight does not touch; null: none. */
  readonly heldDatabase: string | null;
  /** An earlier probe result of the database server; left out: the preflight probes it. */
  readonly server?: ServerSeen | undefined;
  /** Of the service that would use the configuration; left out: no address is tried. */
  readonly listeners?: Listeners | undefined;
  /** Aborts when the caller has left. Checks under way end, and their lines are useless. */
  readonly left?: AbortSignal;
};

/**
 * @param inspection of a valid configuration; one with problems gets no lines
 * @returns the lines in a person's order of checking: secrets, addresses to listen on, providers,
 *   channels, folders of agents, storage
 */
export async function runPreflight(
  inspection: Inspection,
  surroundings: Surroundings,
): Promise<readonly PreflightLine[]> {
  const { lookup, version, listeners, left } = surroundings;
  const { validation } = inspection;
  if (validation.kind === 'invalid') return [];
  const { config } = validation;
  const names = namedSecrets(config).map(({ name }) => name);
  const found = await lookup.find(names, left);
  const resolved = resolveSecrets(config, found);
  const silence = new Writable({ write: (_part, _encoding, done) => done() });
  const log = createLog({ stream: silence, level: 'error', format: 'text' });
  const deps = createServiceDeps(createEvents({ log, ...systemClock }), version);
  const leave = (): void => void deps.http.close();
  if (left?.aborted === true) leave();
  left?.addEventListener('abort', leave, { once: true });
  try {
    const [listening, providers, channels, folders, storage] = await Promise.all([
      listeners === undefined ? [] : listeningLines(config, listeners),
      providerLines(config, resolved.secrets, deps),
      Promise.all(
        config.channels.map((channel) =>
          channelLines(channel, config, resolved.secrets, deps, left),
        ),
      ),
      folderLines(config),
      placeLines(inspection.storage, resolved, surroundings),
    ]);
    const own = [...secretLines(resolved, found), ...listening];
    return [...own, ...providers, ...channels.flat(), ...folders, ...storage];
  } finally {
    left?.removeEventListener('abort', leave);
    await deps.http.close();
  }
}

const describeHowToSet = (one: MissingSecret): string => howToSet(one).join(' ');

function secretLines(resolved: ResolvedSecrets, found: SecretLookupResults): PreflightLine[] {
  const { secrets, missing, unfit, warnings } = resolved;
  const set = [...secrets.keys()].flatMap((name) => {
    const one = found.get(name);
    return one?.kind === 'value' ? [ok(name, describeSource(one.source, name))] : [];
  });
  const faults = missing.map((one) => {
    const { name, usedAt } = one;
    const message = `${describeWhy(one)}; it is used at ${usedAt.join(' and ')}`;
    return { ...refusing(name, message, describeHowToSet(one)), secret: true };
  });
  const wrong = unfit.map(({ path, message, remedy }) => {
    return { ...refusing(path, message, remedy), secret: true };
  });
  const doubts = warnings.map(({ path, message, remedy }) => warning(path, message, remedy));
  return [...set, ...faults, ...wrong, ...doubts];
}

async function placeLines(
  place: StoragePlace | null,
  { secrets, unfit }: ResolvedSecrets,
  { heldDatabase, server }: Surroundings,
): Promise<readonly PreflightLine[]> {
  if (place === null) return [];
  if (place.kind === 'file') return [await storageLine(place.path, heldDatabase)];
  const { urlEnv } = place;
  const at = storageAt(place, secrets);
  if (at?.kind !== 'server' || !secrets.has(urlEnv)) return [unaskedLine(urlEnv)];
  // The lines about secrets already say that it is no URL.
  if (unfit.some(({ path }) => path === 'storage.url_env')) return [];
  return serverLines(server ?? (await probeServer(at)), urlEnv);
}

async function channelLines(
  channel: ChannelConfig,
  config: Config,
  secrets: Secrets,
  deps: ServiceDeps,
  left: AbortSignal | undefined,
): Promise<readonly PreflightLine[]> {
  if (isMessenger(channel)) {
    const lines = [messengerLine(channel, secrets, deps), speechLine(channel, config, deps)];
    return (await Promise.all(lines)).filter((line) => line !== null);
  }
  const kind: ChannelKind = kindOf(channel.type);
  const replies = kind.repliesTo?.(channel as never);
  if (replies === undefined) return [ok(channel.name, 'has nothing that could be asked')];
  return [await repliesLine(replies, left)];
}

/** Asks the platform whose token it is. */
async function messengerLine(
  config: MessengerConfig,
  secrets: Secrets,
  deps: ServiceDeps,
): Promise<PreflightLine> {
  const { name, tokenEnv } = config;
  if (!secrets.has(tokenEnv)) {
    const message = `was not asked about its bot, since ${tokenEnv} is not set`;
    return warning(name, message, 'Set the token and try again.');
  }
  await using channel = createMessenger(config, secrets, deps);
  return lineOfIdentity(config, await channel.identify(AbortSignal.timeout(checkMs)));
}

export function lineOfIdentity(
  { name: channel, tokenEnv }: Pick<MessengerConfig, 'name' | 'tokenEnv'>,
  identity: Identity,
): PreflightLine {
  switch (identity.kind) {
    case 'known': {
      const { name, id, note } = identity;
      const more = note === undefined ? '' : `; ${note}`;
      return ok(channel, `knows the token in ${tokenEnv}: it is ${name} (${id})${more}`);
    }
    case 'refused':
      return failed(channel, identity.message, `Set ${tokenEnv} to the token that you were given.`);
    case 'unreached':
      return warning(channel, identity.message, 'Check the way to the network; svc tries again.');
    default:
      return identity satisfies never;
  }
}

/** The folders that agents read: their skills, and the folder of `read_file`. */
async function folderLines({ brains }: Config): Promise<PreflightLine[]> {
  const folders = brains.flatMap(({ name, agent }) => [
    { folder: agent?.skillsDir, what: `the skills of "${name}"`, field: 'skills_dir' },
    { folder: agent?.readFile?.root, what: `what "${name}" may read`, field: 'read_file.root' },
  ]);
  const lines = folders.map(async ({ folder, what, field }) => {
    if (!folder) return [];
    const found = await stat(folder).catch(() => null);
    if (found?.isDirectory() === true) return [ok(folder, `holds ${what}`)];
    const remedy = `Make the folder, or name another in ${field}.`;
    return [failed(folder, `is no folder; it is to hold ${what}`, remedy)];
  });
  return (await Promise.all(lines)).flat();
}

// The addresses where the configuration's channels listen.

/**
 * Listens for a moment where a routed channel or the completions API would. It shares an address
 * where the service listens already, as a change of configuration does.
 * @param listeners of the service that would use the configuration
 */
export function listeningLines(
  { channels, routes, completions }: Pick<Config, 'channels' | 'routes' | 'completions'>,
  listeners: Listeners,
): Promise<readonly PreflightLine[]> {
  const routed = channels.filter(({ name }) => routes.some(({ channel }) => channel === name));
  const places = routed.filter(isListener).map(({ name, type, bind }) => {
    const field = `${kindOf(type).listener.block}.bind`;
    return { subject: `${name} at ${bind.text}`, bind, field };
  });
  if (completions !== null) {
    const { bind } = completions;
    places.push({ subject: `completions API at ${bind.text}`, bind, field: 'completions.bind' });
  }
  return Promise.all(
    places.map(async ({ subject, bind, field }) => {
      if (bind.port === 0) return ok(subject, 'takes any free port');
      const held = await listeners.take(bind);
      if (held.kind === 'held') {
        await held.release(0);
        return ok(subject, 'can be listened on');
      }
      if (held.code !== 'EADDRINUSE') {
        const message = `cannot be listened on (${held.code})`;
        return refusing(subject, message, `Change ${field} to an address of this machine.`);
      }
      const message = `is taken by another program${describeHolder(holderOfPort(bind.port))}`;
      return refusing(subject, message, `Stop that program, or change ${field}.`);
    }),
  );
}

/** How long connecting to the address for replies may take. */
const connectMs = 5_000;

/**
 * Connects to the address for a channel's replies, and sends nothing. No answer is a warning, since
 * replies wait for the receiver.
 * @param left aborts when nobody waits for the line any more
 */
async function repliesLine(
  { url, field }: { readonly url: string; readonly field: string },
  left?: AbortSignal,
): Promise<PreflightLine> {
  const { hostname, origin, port, protocol } = new URL(url);
  const subject = `replies to ${origin}`;
  const host = hostname.replace(/^\[|\]$/g, '');
  const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
  const found = await connectTo(host, number, left);
  if (found.kind === 'connected') return ok(subject, `${found.address} takes connections`);
  const { code } = found;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    const remedy = `Check the host in ${field}; until it is found, replies wait.`;
    return warning(subject, `the host ${hostname} cannot be found`, remedy);
  }
  const act = `Start what takes the replies (svc receive prints them), or change ${field}`;
  return warning(
    subject,
    `nobody takes connections there (${code})`,
    `${act}; until then, replies wait.`,
  );
}

type Found =
  | { readonly kind: 'connected'; readonly address: string }
  | { readonly kind: 'failed'; readonly code: string };

function connectTo(host: string, port: number, left?: AbortSignal): Promise<Found> {
  return new Promise((resolve) => {
    const signals = [AbortSignal.timeout(connectMs), ...(left === undefined ? [] : [left])];
    const ended = AbortSignal.any(signals);
    const socket = connect({ host, port, signal: ended });
    socket.on('connect', () => {
      resolve({ kind: 'connected', address: socket.remoteAddress ?? host });
      socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const code = ended.aborted ? 'ETIMEDOUT' : (error.code ?? error.name);
      resolve({ kind: 'failed', code });
    });
  });
}

/** How long the speech server may take to transcribe. */
const lookMs = 10_000;

/** Failures of a server that is there but busy. */
const passing: ReadonlySet<FailureKind> = new Set(['overloaded', 'rate_limited']);

/**
 * Sends a moment of silence to transcribe.
 * @returns null: the channel has no speech server
 */
export async function speechLine(
  channel: MessengerConfig,
  config: Pick<Config, 'routes' | 'brains'>,
  deps: Pick<ServiceDeps, 'http' | 'pictures' | 'steady'>,
): Promise<PreflightLine | null> {
  const { speech } = readingOf(channel, deps);
  if (speech === undefined) return null;
  const { baseUrl, model } = channel.speech!;
  const subject = `${channel.name} speech at ${baseUrl}`;
  const routes = config.routes.filter((one) => one.channel === channel.name);
  const brains = config.brains.filter(({ name }) => routes.some(({ brain }) => brain === name));
  const sensitivity = strictest('public', ...brains.map((brain) => brain.sensitivity));
  const failure = await speech.look(sensitivity, later(deps.steady(), lookMs));
  if (failure === null) return ok(subject, `writes down what is spoken, with the model ${model}`);
  const { kind, detail } = failure;
  if (kind === 'timeout') {
    const remedy = 'Try again in a minute: many servers load the model when they are first asked.';
    return warning(subject, 'did not write down a moment of silence within 10 s', remedy);
  }
  const message = `writes nothing down: ${detail}`;
  return (passing.has(kind) ? warning : failed)(subject, message, speechRemedy(kind));
}

// The place of the database.

/**
 * Checks whether a database could be opened or created here, and creates nothing.
 * @param held the database that this process has open. The check opens none of its files, since
 *   closing one releases SQLite's locks on it.
 */
export async function storageLine(path: string, held: string | null): Promise<PreflightLine> {
  const found = await stat(path, { bigint: true }).catch(() => null);
  if (found !== null && held !== null && (await isFileOf(held, found))) {
    return ok(path, 'is in use by this service');
  }
  const remedy = 'Choose another storage.path, or give this user the right to write there.';
  if (found === null) return placeLine(path, dirname(path), remedy);
  if (!found.isFile()) return failed(path, 'is no file', remedy);
  if (!(await mayWrite(path))) return failed(path, 'cannot be written', remedy);
  if (!(await mayWrite(dirname(path)))) {
    return failed(path, 'stands in a folder that cannot be written', remedy);
  }
  if (!(await isDatabase(path))) return failed(path, 'is no SQLite file', 'Name another file.');
  return ok(path, 'can be written');
}

/** The nearest folder above that exists decides. */
async function placeLine(path: string, folder: string, remedy: string): Promise<PreflightLine> {
  const found = await stat(folder).catch(() => null);
  const isMissing = found === null && !pathExists(folder) && dirname(folder) !== folder;
  if (isMissing) return placeLine(path, dirname(folder), remedy);
  if (found?.isDirectory() !== true) return failed(path, `${folder} is no folder`, remedy);
  if (!(await mayWrite(folder))) return failed(path, `${folder} cannot be written`, remedy);
  if (await keepsNoFiles(folder)) return failed(path, `no file can be made in ${folder}`, remedy);
  return ok(path, 'is not there yet and can be made');
}

/**
 * The system's own file systems, /proc and /sys, have no blocks, so no file can be created there.
 */
async function keepsNoFiles(folder: string): Promise<boolean> {
  const found = await statfs(folder).catch(() => null);
  return found?.blocks === 0 && found.files === 0;
}

function mayWrite(path: string): Promise<boolean> {
  return access(path, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** An empty file is a database without content. Format: sqlite.org/fileformat.html */
async function isDatabase(path: string): Promise<boolean> {
  await using file = await open(path, 'r');
  const head = Buffer.alloc(16);
  const { bytesRead } = await file.read(head, 0, 16, 0);
  return bytesRead === 0 || head.toString('latin1') === 'SQLite format 3\0';
}
