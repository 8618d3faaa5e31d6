/**
 * Tries what a configuration needs of the world before the service is started with it: secrets,
 * providers, hosts, the place of the database. It changes nothing and sends no one's content; it
 * has connections of its own, so a service that runs in the same process is not disturbed.
 */
import { stat } from 'node:fs/promises';
import { Writable } from 'node:stream';
import type { Identity } from '../../channels/channel.ts';
import type { ChannelKind } from '../../channels/kind.ts';
import { isMessenger, kindOf } from '../../channels/registry.ts';
import type { ChannelConfig, Config, MessengerConfig, Secrets } from '../../config/config.ts';
import type { Inspection } from '../../config/inspect.ts';
import type { StoragePlace } from '../../config/storage-place.ts';
import type { FoundSecrets } from '../../config/found-secret.ts';
import { howToSet, namedSecrets, resolveSecrets, describeFoundIn } from '../../config/secrets.ts';
import { describeWhy, type MissingSecret, type ResolvedSecrets } from '../../config/secrets.ts';
import { createEvents } from '../../telemetry/events.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Listeners } from '../../lib/listener.ts';
import { createLog } from '../../lib/log.ts';
import { createMessenger, createServiceDeps, type ServiceDeps } from '../service.ts';
import type { SecretLookup } from '../../secrets/secrets.ts';
import { probeServer, storageAt } from '../storage.ts';
import { failed, ok, refusing, warning, type PreflightLine } from './lines.ts';
import { listeningLines } from './listening.ts';
import { providerLines } from './models.ts';
import { repliesLine } from './replies.ts';
import { speechLine } from './speech.ts';
import { serverLines, unaskedLine, type ServerSeen } from './server.ts';
import { storageLine } from './storage.ts';

const checkMs = 10_000;

export type Surroundings = {
  readonly lookup: SecretLookup;
  readonly version: string;
  /** The database that this process has open, which the preflight leaves alone; null: none. */
  readonly heldDatabase: string | null;
  /** What was seen of the database server already; left out: it is looked at. */
  readonly server?: ServerSeen | undefined;
  /** Of the service that would use the configuration; left out: no address is tried. */
  readonly listeners?: Listeners | undefined;
  /** Aborts when the caller has left; what is under way ends, and its lines are of no use. */
  readonly left?: AbortSignal;
};

/**
 * @param inspection of a valid configuration; one with problems gets no lines
 * @returns in the order in which a person would look: secrets, addresses to listen on, providers,
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

function secretLines(resolved: ResolvedSecrets, found: FoundSecrets): PreflightLine[] {
  const { secrets, missing, unfit, warnings } = resolved;
  const set = [...secrets.keys()].flatMap((name) => {
    const one = found.get(name);
    return one?.kind === 'value' ? [ok(name, describeFoundIn(one.source, name))] : [];
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
  // That it is no URL is told with the secrets.
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
  if (replies === undefined) return [ok(channel.type, 'has nothing that could be asked')];
  return [await repliesLine(replies, left)];
}

/** Asks the platform whose token it is. */
async function messengerLine(
  config: MessengerConfig,
  secrets: Secrets,
  deps: ServiceDeps,
): Promise<PreflightLine> {
  const { type, tokenEnv } = config;
  if (!secrets.has(tokenEnv)) {
    const message = `was not asked about its bot, since ${tokenEnv} is not set`;
    return warning(type, message, 'Set the token and try again.');
  }
  await using channel = createMessenger(config, secrets, deps);
  return lineOfIdentity(config, await channel.identify(AbortSignal.timeout(checkMs)));
}

export function lineOfIdentity(
  { type, tokenEnv }: Pick<MessengerConfig, 'type' | 'tokenEnv'>,
  identity: Identity,
): PreflightLine {
  switch (identity.kind) {
    case 'known':
      return ok(type, `knows the token in ${tokenEnv}: it is ${identity.name} (${identity.id})`);
    case 'refused':
      return failed(type, identity.message, `Set ${tokenEnv} to the token that you were given.`);
    case 'unreached':
      return warning(type, identity.message, 'Check the way to the network; svc tries again.');
    default:
      return identity satisfies never;
  }
}

/** What agents read: their skills, and the folder of `read_file`. */
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
