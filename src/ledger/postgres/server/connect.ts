/** Opens a connection to the host that takes writes. */
import { readFile } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import { getCACertificates, rootCertificates, type ConnectionOptions } from 'node:tls';
import type { Client, ClientConfig } from 'pg';
import { readAddress, formatHost, type ServerAddress, type ServerHost } from './address.ts';
import { codeOf, isOfTls } from './errors.ts';
import { loadPg } from './pg.ts';

export type ConnectOptions = {
  /** For all hosts together; left out: 10 s. */
  readonly timeoutMs?: number;
  /** Also takes a standby, or a host that takes no writes: for a probe. */
  readonly anyHost?: boolean;
  /** Stops the attempt. */
  readonly signal?: AbortSignal;
};

/**
 * Why there is no connection. `code` is the server's SQLSTATE, the system's code, or one of ours:
 * SVC_TIMEOUT, SVC_STANDBY, SVC_READ_ONLY, SVC_NO_PASSWORD, SVC_NO_TLS, SVC_AUTHORITIES (the file
 * of sslrootcert cannot be read), SVC_URL.
 */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  readonly code: string;
  /** The host, for people; empty where no host was tried. */
  readonly host: string;
  /** The server's function that refused; empty where the error is not the server's. */
  readonly routine: string;

  constructor(code: string, message: string, host: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.host = host;
    const routine = (cause as { readonly routine?: unknown } | undefined)?.routine;
    this.routine = typeof routine === 'string' ? routine : '';
  }
}

const timeoutMsUsual = 10_000;
const int8 = 20;
const numeric = 1700;
const neverAborted = new AbortController().signal;

/**
 * Tries one host after the other. A connection that is lost later throws nowhere: its statements
 * reject, and it emits `error` and `end`.
 * @param address a text is parsed as a URL
 * @throws the ConnectError of the host that tells most
 */
export async function connect(
  address: string | ServerAddress,
  options: ConnectOptions = {},
): Promise<Client> {
  const target = typeof address === 'string' ? readAddress(address) : address;
  if (target.kind === 'problems') throw new ConnectError('SVC_URL', target.problems.join(' '), '');
  const authorities = await authoritiesOf(target);
  const hostShareMs = (options.timeoutMs ?? timeoutMsUsual) / target.hosts.length;
  const errors: ConnectError[] = [];
  for (const host of target.hosts) {
    try {
      return await connectTo(host, target, authorities, {
        timeoutMs: target.hostTimeoutMs ?? hostShareMs,
        anyHost: options.anyHost ?? false,
        signal: options.signal ?? neverAborted,
      });
    } catch (error) {
      errors.push(asConnectError(error, host));
    }
  }
  throw errors.toSorted((a, b) => weightOf(b) - weightOf(a))[0]!;
}

/** Ends a connection at once, for one that no longer answers. All its statements reject. */
export function cut(client: Client): void {
  // The client has no other way to end that does not wait for the server.
  streamOf(client).destroy();
}

/**
 * Sends the statements of `ask` together, with one system call instead of one for each. That saves
 * system calls on both sides, and wake-ups of the server. @param ask sends statements without
 * waiting for answers
 */
export function sendTogether<T>(client: Client, ask: () => T): T {
  const stream = streamOf(client);
  stream.cork();
  try {
    return ask();
  } finally {
    stream.uncork();
  }
}

/** The types of the library lack it. */
function streamOf(client: Client): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream;
}

async function connectTo(
  host: ServerHost,
  address: ServerAddress,
  authorities: readonly string[] | null,
  { timeoutMs, anyHost, signal }: Required<ConnectOptions>,
): Promise<Client> {
  const client = await clientFor(host, address, authorities);
  signal.throwIfAborted();
  const giveUp = (): void => cut(client);
  signal.addEventListener('abort', giveUp);
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    cut(client);
  }, timeoutMs);
  try {
    await client.connect();
    const { rows } = await client.query<{ standby: boolean; reading: boolean }>(
      'SELECT pg_is_in_recovery() AS standby, ' +
        "current_setting('transaction_read_only') = 'on' AS reading",
    );
    const { standby, reading } = rows[0]!;
    if (standby && !anyHost) {
      throw new ConnectError(
        'SVC_STANDBY',
        'it is a standby, which takes no writes',
        formatHost(host),
      );
    }
    if (reading && !anyHost) {
      throw new ConnectError('SVC_READ_ONLY', 'it takes no writes', formatHost(host));
    }
    return client;
  } catch (error) {
    cut(client);
    if (!isLate) throw error;
    const ms = Math.round(timeoutMs);
    throw new ConnectError('SVC_TIMEOUT', `no answer within ${ms} ms`, formatHost(host), error);
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', giveUp);
  }
}

async function clientFor(
  host: ServerHost,
  address: ServerAddress,
  authorities: readonly string[] | null,
): Promise<Client> {
  const { Client: Connection, types } = await loadPg();
  const config: ClientConfig & { readonly pipeline: boolean } = {
    host: host.host,
    port: host.port,
    user: address.user,
    database: address.database,
    // A function keeps the client from reading variables and files.
    password: () => passwordOf(host, address),
    application_name: address.applicationName,
    ssl: encryptionFor(host, address, authorities),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
    types: {
      getTypeParser: ((oid: number, format: 'text' | 'binary') =>
        oid === int8 || oid === numeric
          ? Number
          : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
    },
  };
  const client = new Connection(config);
  // The client takes these from environment variables, and a pooler refuses them.
  const { connectionParameters } = client as unknown as {
    connectionParameters: { options?: unknown; replication?: unknown };
  };
  delete connectionParameters.options;
  delete connectionParameters.replication;
  // Without a listener the loss of an idle connection would end the process.
  client.on('error', () => {});
  containReading(client);
  return client;
}

/** A stream, as far as the library's parser uses it. */
type Readable = { on(event: string, listener: (part: Buffer) => void): unknown };

/**
 * Lets a parse error end the connection, with the same error, and not the process. The library
 * reads in a listener of the socket. It throws there at input that it does not know: another
 * sign-in method, or a damaged message.
 */
function containReading(client: Client): void {
  const { connection } = client as unknown as {
    connection: { attachListeners(stream: Readable): void };
  };
  const attach = connection.attachListeners.bind(connection);
  connection.attachListeners = (stream: Duplex) => {
    const on: Readable['on'] = (event, listener) =>
      stream.on(event, (part: Buffer) => {
        try {
          listener(part);
        } catch (error) {
          stream.destroy(error as Error);
        }
      });
    attach({ on });
  };
}

function passwordOf(host: ServerHost, address: ServerAddress): string {
  const password = address.password();
  if (password !== null) return password;
  const message = 'it asks for a password, and the URL has none';
  throw new ConnectError('SVC_NO_PASSWORD', message, formatHost(host));
}

function encryptionFor(
  { host }: ServerHost,
  { encryption }: ServerAddress,
  authorities: readonly string[] | null,
): false | ConnectionOptions {
  if (host.startsWith('/') || encryption === 'disable') return false;
  return {
    rejectUnauthorized: encryption !== 'require',
    ...(authorities === null ? {} : { ca: [...authorities] }),
    ...(encryption === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
  };
}

/** Trusted certificates; null: those that Node brings. */
async function authoritiesOf({
  authorities,
  encryption,
}: ServerAddress): Promise<readonly string[] | null> {
  if (authorities === null || encryption === 'disable') return null;
  if (authorities === 'system') return [...getCACertificates('system'), ...rootCertificates];
  try {
    return [await readFile(authorities, 'utf8')];
  } catch (error) {
    const what = `the file of sslrootcert cannot be read (${codeOf(error)})`;
    throw new ConnectError('SVC_AUTHORITIES', what, '', error);
  }
}

function asConnectError(error: unknown, host: ServerHost): ConnectError {
  if (error instanceof ConnectError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const noTls = message.includes('does not support SSL') ? 'SVC_NO_TLS' : '';
  return new ConnectError(codeOf(error) || noTls, message, formatHost(host), error);
}

/**
 * An error that only a person can fix tells more than one that passes. An answer of a server tells
 * more than no answer.
 */
function weightOf({ code }: ConnectError): number {
  if (/^(?:28|3D|42)/.test(code) || code === 'SVC_NO_PASSWORD') return 4;
  if (isOfTls(code) || code === 'SVC_NO_TLS') return 3;
  if (code === 'SVC_STANDBY' || code === 'SVC_READ_ONLY') return 2;
  return /^[0-9A-Z]{5}$/.test(code) && code !== 'EPIPE' ? 1 : 0;
}
