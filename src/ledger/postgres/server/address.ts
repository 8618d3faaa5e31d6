/**
 * Where the server is, and how svc verifies that it is the right one. Both come from the URL, which
 * is a secret: no problem or warning repeats a part of it that could be the password.
 *
 * Source: PostgreSQL, "Connection URIs" and "SSL Support" of libpq. The differences: nothing comes
 * from environment variables or other files, and a certificate is verified unless the URL says
 * otherwise.
 */
import { userInfo } from 'node:os';
import { rangeOf } from '../../../lib/ip-address.ts';
import { isIPv6 } from 'node:net';

/** The hosts of a server's URL: names, addresses, and folders of sockets. */
export type ServerHost = {
  /** A name, an address without brackets, or the folder of a socket, which begins with `/`. */
  readonly host: string;
  readonly port: number;
};

type Hosts = { readonly hosts: readonly ServerHost[] } | { readonly problem: string };

const defaultPort = 5432;
const hostsMax = 16;

/**
 * @param written the part between the user and the database: `db1:5432,db2`, or nothing
 * @param named the parameter `host`, which goes before it
 * @param ports the parameter `port`: one for all hosts, or one for each
 */
function hostsOf(written: string, named: string | undefined, ports: string | undefined): Hosts {
  const parsed =
    named === undefined
      ? written.split(',').map(hostOfAuthority)
      : named.split(',').map((host) => ({ host, port: null }));
  if (parsed.length > hostsMax)
    return { problem: `The URL names more than ${hostsMax} hosts; name fewer.` };
  const givenPorts = ports?.split(',') ?? [];
  if (givenPorts.length > 1 && givenPorts.length !== parsed.length) {
    return { problem: 'The URL has another number of ports than of hosts; give one port for all.' };
  }
  const hosts: ServerHost[] = [];
  for (const [index, one] of parsed.entries()) {
    const port = portOf(one?.port ?? givenPorts[index] ?? givenPorts[0] ?? null);
    // Neither message repeats its text: a password with a / in it would stand here.
    if (one === null || !isHost(one.host)) return { problem: unreadable };
    if (port === null) return { problem: 'The URL has a port that is none; write 1 to 65535.' };
    hosts.push({ host: one.host, port });
  }
  return { hosts };
}

const unreadable =
  'The URL names no host that can be read. Write a name or an address, an IPv6 address in ' +
  'brackets, or ?host=/var/run/postgresql for the folder of a socket.';

function hostOfAuthority(
  text: string,
): { readonly host: string; readonly port: string | null } | null {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(text);
  if (match === null) return null;
  const [, six, name = '', port = ''] = match;
  if (six !== undefined && !isIPv6(six)) return null;
  try {
    return { host: six ?? decodeURIComponent(name), port: port === '' ? null : port };
  } catch {
    return null;
  }
}

function isHost(host: string): boolean {
  return /^\/[^\0]*$/.test(host) || isIPv6(host) || /^[\w.-]+$/.test(host);
}

function portOf(text: string | null): number | null {
  if (text === null || text === '') return defaultPort;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port > 0 && port < 65_536 ? port : null;
}

/**
 * - `disable`: not encrypted.
 * - `require`: encrypted, but the server's identity is not verified.
 * - `verify-ca`: the server has a certificate of a trusted authority.
 * - `verify-full`: that certificate also names the host.
 */
export type Encryption = 'disable' | 'require' | 'verify-ca' | 'verify-full';

/** The content of a URL. */
type AddressParts = {
  /** In the order in which they are tried. */
  readonly hosts: readonly ServerHost[];
  readonly user: string;
  readonly database: string;
  readonly encryption: Encryption;
  /** A file with the trusted authorities; `system`: those of this machine; null: those of Node. */
  readonly authorities: string | null;
  /** How long one host may take to answer; null: the caller's timeout, shared among the hosts. */
  readonly hostTimeoutMs: number | null;
  readonly applicationName: string;
  /** Sentences about what the URL gives up. */
  readonly warnings: readonly string[];
};

/** A parsed URL. Its text form and its JSON do not contain the password. */
export class ServerAddress {
  readonly kind = 'address';
  readonly hosts: AddressParts['hosts'];
  readonly user: string;
  readonly database: string;
  readonly encryption: Encryption;
  readonly authorities: string | null;
  readonly hostTimeoutMs: number | null;
  readonly applicationName: string;
  readonly warnings: readonly string[];
  readonly #password: string | null;

  constructor(parts: AddressParts, password: string | null) {
    this.hosts = parts.hosts;
    this.user = parts.user;
    this.database = parts.database;
    this.encryption = parts.encryption;
    this.authorities = parts.authorities;
    this.hostTimeoutMs = parts.hostTimeoutMs;
    this.applicationName = parts.applicationName;
    this.warnings = parts.warnings;
    this.#password = password;
  }

  /** Null: the server must accept the user without a password. */
  password(): string | null {
    return this.#password;
  }

  /** For people: `database "svc" on db1.example:5432 or db2.example:5432`. */
  toString(): string {
    const hosts = this.hosts.map(formatHost).join(' or ');
    return `database "${this.database}" on ${hosts}`;
  }
}

/** The problems of a URL, each as a sentence that says what to do. */
export type AddressProblems = { readonly kind: 'problems'; readonly problems: readonly string[] };

/** `db.example:5432`, or the folder of a socket. */
export function formatHost({ host, port }: ServerHost): string {
  if (host.startsWith('/')) return `${host} (port ${port})`;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Whether data sent there stays on this machine. */
export function isLocal({ host }: ServerHost): boolean {
  return host.startsWith('/') || host === 'localhost' || rangeOf(host) === 'loopback';
}

const example = 'postgres://user:password@host:5432/database';
const escapes =
  'in a user or password write each of / ? # @ : % as its code (%2F %3F %23 %40 %3A %25)';

/** @returns a list of problems where the URL is not the address of a server */
export function readAddress(url: string): ServerAddress | AddressProblems {
  const scheme = /^postgres(?:ql)?:\/\//i.exec(url);
  if (scheme === null)
    return problemsOf(`The URL has to begin with postgres://, as in ${example}.`);
  const [, authority = '', path = '', query = ''] =
    /^([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s.exec(url.slice(scheme[0].length)) ?? [];
  // The text after such a sign may be the end of a password.
  if (/[@#]/.test(path + query) || /[#\s]/.test(authority)) {
    return problemsOf(`The URL has a sign where it cannot stand: ${escapes}.`);
  }
  const at = authority.lastIndexOf('@');
  const [, user = '', password = null] =
    /^([^:]*)(?::(.*))?$/s.exec(at < 0 ? '' : authority.slice(0, at)) ?? [];
  const parsed = parametersOf(query);
  const problems = [...parsed.problems];
  const decodePart = (text: string): string => {
    const decoded = decode(text);
    if (decoded === null) problems.push(`The URL has a % that begins no code: ${escapes}.`);
    return decoded ?? '';
  };
  const hosts = hostsOf(authority.slice(at + 1), parsed.parameters.host, parsed.parameters.port);
  if ('problem' in hosts) problems.push(hosts.problem);
  const named = parsed.parameters.user ?? decodePart(user);
  const who = named === '' ? ownName() : named;
  if (who === null) problems.push(`The URL names no user; write it as in ${example}.`);
  const given = parsed.parameters.password ?? (password === null ? null : decodePart(password));
  const database = parsed.parameters.dbname ?? decodePart(path);
  if (database.includes('/')) problems.push(`The URL has a / too many: ${escapes}.`);
  if ([who ?? '', given ?? '', database].some((text) => text.includes('\0'))) {
    problems.push('The URL has a NUL, which no name and no password can have; take it out.');
  }
  if ('problem' in hosts || who === null || problems.length > 0) return problemsOf(...problems);
  const parts = partsOf(hosts.hosts, parsed.parameters);
  return new ServerAddress(
    { ...parts, user: who, database: database === '' ? who : database },
    given === '' ? null : given,
  );
}

function partsOf(
  hosts: readonly ServerHost[],
  parameters: Parameters,
): Omit<AddressParts, 'user' | 'database'> {
  const far = hosts.find((host) => !isLocal(host));
  const { sslmode: mode, sslrootcert: authorities = null } = parameters;
  const encryption = mode ?? (far === undefined ? 'disable' : 'verify-full');
  return {
    hosts,
    // As in libpq: a URL that names authorities wants the certificate verified.
    encryption: encryption === 'require' && authorities !== null ? 'verify-ca' : encryption,
    authorities,
    hostTimeoutMs: parameters.connectTimeoutMs ?? null,
    applicationName: parameters.application_name ?? 'svc',
    warnings: far === undefined ? [] : warningsOf(encryption, authorities, formatHost(far)),
  };
}

function warningsOf(
  encryption: Encryption,
  authorities: string | null,
  host: string,
): readonly string[] {
  const better = 'take sslmode out of the URL, or name the authority with sslrootcert.';
  if (encryption === 'disable') {
    return [`The way to ${host} is not encrypted: who is on it reads every message; ${better}`];
  }
  if (encryption === 'verify-full') return [];
  const who = authorities === null ? 'anybody' : 'any server with a certificate of that authority';
  return [`The way to ${host} is encrypted, but ${who} may answer there in its place; ${better}`];
}

function problemsOf(...problems: readonly string[]): AddressProblems {
  return { kind: 'problems', problems: [...new Set(problems)] };
}

/** @returns null where a % begins no code */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The name of the account that this process runs as; null: it has none. */
function ownName(): string | null {
  try {
    return userInfo().username;
  } catch {
    return null;
  }
}

/** The parameters of a server's URL, each under libpq's name. */
type Parameters = {
  readonly host?: string;
  readonly port?: string;
  readonly user?: string;
  readonly password?: string;
  readonly dbname?: string;
  readonly sslmode?: Encryption;
  readonly sslrootcert?: string;
  readonly connectTimeoutMs?: number;
  readonly application_name?: string;
};

type Read = { readonly parameters: Parameters; readonly problems: readonly string[] };

/** These are taken as they are; the others are parsed. */
const textParameters = [
  'host',
  'port',
  'user',
  'password',
  'dbname',
  'sslrootcert',
  'application_name',
];
const parameterNames = [...textParameters, 'sslmode', 'connect_timeout', 'target_session_attrs'];

const modes: Readonly<Record<string, Encryption>> = {
  disable: 'disable',
  // In libpq both go on without encryption when somebody between claims that the server has none.
  allow: 'require',
  prefer: 'require',
  require: 'require',
  'verify-ca': 'verify-ca',
  'verify-full': 'verify-full',
};
const timeoutSecondsMax = 300;

const allowed = `It knows ${parameterNames.join(', ')}.`;

/** @param query without the question mark */
function parametersOf(query: string): Read {
  const parameters: Record<string, unknown> = {};
  const problems: string[] = [];
  // URLSearchParams would make a space of a plus sign, which may be in a password.
  const pairs = query.split('&').filter((pair) => pair !== '');
  for (const pair of pairs) {
    const [name = '', ...rest] = pair.split('=');
    const value = decode(rest.join('='));
    if (value === null) problems.push(`The URL's ${nameOf(name)} has a % that begins no code.`);
    else if (Object.hasOwn(parameters, name)) problems.push(`The URL has ${nameOf(name)} twice.`);
    else {
      const wrong = setParameter(parameters, name, value);
      if (wrong !== null) problems.push(wrong);
    }
  }
  return { parameters: parameters, problems };
}

/** @returns what is wrong with it; null: nothing */
function setParameter(
  parameters: Record<string, unknown>,
  name: string,
  value: string,
): string | null {
  if (textParameters.includes(name)) {
    if (value !== '') parameters[name] = value;
    return null;
  }
  switch (name) {
    case 'sslmode':
      parameters[name] = Object.hasOwn(modes, value) ? modes[value] : undefined;
      if (parameters[name] !== undefined) return null;
      return `The URL's sslmode has to be one of ${Object.keys(modes).join(', ')}.`;
    case 'connect_timeout': {
      const seconds = /^\d{1,3}$/.test(value) ? Number(value) : 0;
      if (seconds < 1 || seconds > timeoutSecondsMax) {
        return `The URL's connect_timeout has to be whole seconds from 1 to ${timeoutSecondsMax}.`;
      }
      parameters['connectTimeoutMs'] = seconds * 1_000;
      return null;
    }
    // svc finds the primary in any case.
    case 'target_session_attrs':
      if (['read-write', 'primary', 'any', ''].includes(value)) return null;
      return (
        "The URL's target_session_attrs has to be read-write: svc writes. " +
        'Take it out, since svc looks for the primary in any case.'
      );
    default:
      return `The URL has ${nameOf(name)}, which svc does not know; take it out. ${allowed}`;
  }
}

/** A text that is not a valid name may be a piece of a password. */
function nameOf(name: string): string {
  return /^[a-z][a-z_]{1,40}$/.test(name) ? name : 'a parameter';
}
