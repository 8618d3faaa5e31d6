/**
 * How a command finds svc and its database: by the configuration file. svc goes on when it cannot
 * use a new text, so it may run on another text than the file has now. If the file has problems, a
 * command that only reads uses the newest usable text that svc kept. If nothing listens at the
 * address in the file, the command tries the address in the kept text.
 */
import { connect } from 'node:net';
import { isChannelName, registeredName, type Config } from '../../config/config.ts';
import { ProblemList, type ConfigProblem } from '../../config/problems.ts';
import { parseListenAddress, type ListenAddress } from '../../config/address.ts';
import { inspectText, type Inspection } from '../../config/inspect.ts';
import { parseDocument } from '../../config/parse.ts';
import type { Document } from '../../config/schema.ts';
import { checkShape } from '../../config/shape.ts';
import type { StoragePlace } from '../../config/storage-place.ts';
import { listKept, readKept } from '../../app/config/history.ts';
import { originOf } from '../../lib/own-address.ts';
import type { Refusal } from './boot.ts';
import { inspectConfigFile, type ConfigFile } from './config-file.ts';
import type { Io } from '../cli.ts';
import { isColoured, report, signOf } from './report.ts';
import { addressFlags, type OwnAddresses } from '../../config/own-addresses.ts';

export type ServiceLocation = {
  readonly kind: 'found';
  /**
   * `nothing`: neither the file nor its history is usable, and `config` is that of an empty file.
   */
  readonly source: 'file' | 'history' | 'nothing';
  readonly config: Config;
  /** null: no storage is known. */
  readonly storage: StoragePlace | null;
  /** Where the admin server may be, the likeliest address first; empty: it is switched off. */
  readonly addresses: readonly ListenAddress[];
};

/**
 * For a command that only reads. It warns if the file is unusable. It refuses if there is neither a
 * file nor a history of it.
 */
export async function locateService(
  configFile: ConfigFile,
  io: Io,
): Promise<ServiceLocation | Refusal> {
  const { name } = configFile;
  const inspection = await inspectConfigFile(configFile, io);
  const { file, validation, storage } = inspection;
  const kept = await newestKept(file, io);
  const keptAt = kept === null ? [] : addressesOf(kept.config);
  if (validation.kind === 'valid') {
    const { config } = validation;
    const own = addressesOf(config);
    const others = keptAt.filter(({ text }) => own.every((one) => one.text !== text));
    return { kind: 'found', source: 'file', config, storage, addresses: [...own, ...others] };
  }
  const problem = validation.problems.find(({ severity }) => severity === 'error');
  if (kept !== null) {
    warn(
      io,
      `${describeProblem(name, problem)} svc is looked for by the newest text in its history.`,
    );
    return { kind: 'found', source: 'history', ...kept, addresses: keptAt };
  }
  if (problem?.code === 'file_missing') return refusalOf(name, inspection, io);
  const config = emptyConfig();
  const addresses = addressesOf(config);
  const where = addresses.map(({ text }) => text).join();
  warn(io, `${describeProblem(name, problem)} svc is asked at ${where}, its address by default.`);
  return { kind: 'found', source: 'nothing', config, storage: null, addresses };
}

/** For a command that writes or copies. It refuses a file with problems. */
export async function locateServiceStrictly(
  configFile: ConfigFile,
  io: Io,
): Promise<ServiceLocation | Refusal> {
  const inspection = await inspectConfigFile(configFile, io);
  const { validation, storage } = inspection;
  if (validation.kind === 'invalid') return refusalOf(configFile.name, inspection, io);
  const { config } = validation;
  return { kind: 'found', source: 'file', config, storage, addresses: addressesOf(config) };
}

function refusalOf(name: string, inspection: Inspection, { stderr, env }: Io): Refusal {
  return { kind: 'refused', report: report(name, inspection, [], isColoured(stderr, env)) };
}

/** The newest kept text that is valid. Texts that cannot be read are skipped. */
async function newestKept(file: string, { env }: Io) {
  for (const { revision } of await listKept(file).catch(() => [])) {
    const kept = await readKept(file, revision).catch(() => null);
    if (kept === null) continue;
    const { validation, storage } = await inspectText(kept.text, file, env);
    if (validation.kind === 'valid') return { config: validation.config, storage };
  }
  return null;
}

function addressesOf({ observability }: Config): readonly ListenAddress[] {
  return observability.enabled ? [observability.address] : [];
}

/** The configuration of an empty file: no storage, no operator, every default. */
function emptyConfig(): Config {
  const draft = checkShape({}, new ProblemList('{}', new Map()));
  return parseDocument({ ...draft, channels: [], brains: [], routes: [] } as Document, () => false);
}

function describeProblem(name: string, problem: ConfigProblem | undefined): string {
  const { line = 0, column = 0, path = '', message = 'it cannot be read' } = problem ?? {};
  const place = line === 0 ? '' : `${[`${line}:${column}`, path].join(' ').trimEnd()}: `;
  return `${name} cannot be used (${place}${message});`;
}

function warn({ stderr, env }: Io, message: string): void {
  stderr.write(`${signOf('warning', isColoured(stderr, env))} ${message}\n`);
}

/**
 * The first address at which something listens, or else the first of all.
 * @returns null: there is no address, since the admin server is switched off
 */
export async function whereSvcListens(
  addresses: readonly ListenAddress[],
  io: Io,
): Promise<ListenAddress | null> {
  const [first, ...others] = addresses;
  if (first === undefined || others.length === 0 || (await listens(first, io.stop))) {
    return first ?? null;
  }
  for (const other of others) {
    if (!(await listens(other, io.stop))) continue;
    warn(io, `Nothing listens at ${first.text}; svc is asked at ${other.text}, as it was before.`);
    return other;
  }
  return first;
}

const connectMs = 1_000;

/** Whether anything listens there. It connects, and sends nothing. */
export function listens(address: ListenAddress, stop: AbortSignal): Promise<boolean> {
  const { hostname, port } = originOf(address);
  const host = hostname.replace(/^\[|\]$/g, '');
  const signal = AbortSignal.any([stop, AbortSignal.timeout(connectMs)]);
  return new Promise((done) => {
    const socket = connect({ host, port: Number(port) || 80, signal });
    socket.once('connect', () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}

/** The addresses as written in the flags; `webhook` may have `NAME=` before each. */
type Written = {
  readonly webhook: readonly string[];
  readonly admin: string | null;
  readonly completions: string | null;
};

/** @returns the addresses, or a sentence about the first that is no address */
export function readOwnAddresses(written: Written): OwnAddresses | { readonly fault: string } {
  const webhook = new Map<string | null, ListenAddress>();
  for (const text of written.webhook) {
    const equals = text.indexOf('=');
    const name = equals < 0 ? null : registeredName(text.slice(0, equals));
    if (name !== null && !isChannelName(name)) {
      const flag = addressFlags.webhook;
      return { fault: `"${name}" is no name of a channel. Write ${flag} NAME=ADDRESS.` };
    }
    const address = readAddress('webhook', text.slice(equals + 1));
    if (typeof address === 'string') return { fault: address };
    if (webhook.has(name)) {
      const twice = name === null ? 'without a name' : `for ${name}`;
      return {
        fault: `${addressFlags.webhook} stands twice ${twice}. Write it once for each webhook.`,
      };
    }
    webhook.set(name, address);
  }
  const admin = written.admin === null ? null : readAddress('admin', written.admin);
  if (typeof admin === 'string') return { fault: admin };
  const own = written.completions;
  const completions = own === null ? null : readAddress('completions', own);
  if (typeof completions === 'string') return { fault: completions };
  return { webhook, admin, completions };
}

const examples = {
  webhook: '127.0.0.1:8090',
  admin: '127.0.0.1:2112',
  completions: '127.0.0.1:8092',
} as const;

/** @returns a sentence if the text is no address */
function readAddress(which: keyof OwnAddresses, text: string): ListenAddress | string {
  const address = parseListenAddress(text, true);
  if (address !== null) return address;
  return (
    `${addressFlags[which]} is an address to listen on, and "${text}" is none. Write host:port, ` +
    `:port or [::1]:port, with a port from 0 to 65535, such as ${examples[which]}.`
  );
}
