/**
 * HTTP requests of tools: the cage of hosts and addresses, and the one way to send a request
 * through it.
 */
import { later, type Clock, type SteadyTime } from '../../lib/clock.ts';
import type { Deadline, Deadlines } from '../../lib/deadlines.ts';
import { sendPinned, type PinnedRequest, type PinnedResult } from '../../lib/pinned-client.ts';
import { stopOf, unlessStopped } from '../../lib/stop.ts';
import type { ToolSurroundings } from './tool.ts';
import { isIP } from 'node:net';
import { rangeOf } from '../../lib/ip-address.ts';
import type { BoundPlace, Listeners } from '../../lib/listener.ts';
import { isOwnAddress, isUnspecified, plainAddress } from '../../lib/own-address.ts';

/** What the tools that use the network need from the process. */
export type NetworkDeps = Clock & {
  readonly deadlines: Deadlines;
  readonly resolve: Resolve;
  readonly reserved: ReservedPlaces;
  /** svc's own version, sent to the servers as `user-agent`. */
  readonly version: string;
};

export type CagedRequest = Pick<
  PinnedRequest,
  'method' | 'headers' | 'body' | 'deadlineAt' | 'bodyBytesMax' | 'wantsBody'
> & {
  /** As the model or a redirect wrote it. */
  readonly address: string;
  readonly base: URL | null;
};

export type CagedAnswer =
  | (Extract<PinnedResult, { kind: 'answer' }> & { readonly url: URL })
  | Refusal
  | {
      readonly kind: 'failed';
      readonly text: string;
      /** The request may have reached the server. */
      readonly sent: boolean;
      /** The status of an answer that broke off; null: no answer had begun. */
      readonly status: number | null;
    };

const connectMs = 5_000;
/** At most so many addresses of one name are tried, until one connects. */
const triesMax = 4;

/** Sends one request, if the cage admits it, to an address that the cage has judged. */
export async function sendCaged(
  request: CagedRequest,
  cage: HostCage,
  deps: NetworkDeps,
  { signal, sensitivity }: ToolSurroundings,
): Promise<CagedAnswer> {
  const admitting = cage.admit(request.address, request.base, sensitivity);
  const admission = await unlessEnded(admitting, request.deadlineAt, deps.deadlines, signal);
  if (admission.kind === 'refused') return admission;
  if (admission.kind !== 'admitted') return unsent(admission.text);
  let lastFailure: CagedAnswer = unsent('It has no address.');
  for (const address of admission.addresses.slice(0, triesMax)) {
    const connectDeadlineAt = later(deps.steady(), connectMs);
    const pinned = { ...request, url: admission.url, address, connectDeadlineAt };
    const headers = { ...request.headers, 'user-agent': `svc/${deps.version}` };
    const result = await sendPinned({ ...pinned, headers }, deps.deadlines, signal);
    if (result.kind === 'answer') return { ...result, url: admission.url };
    const { sent, status } = result;
    lastFailure = { kind: 'failed', text: faultText(result), sent, status };
    const canTryNext = result.fault === 'connect_failed' || result.fault === 'connect_timeout';
    if (!canTryNext || deps.steady() >= request.deadlineAt) return lastFailure;
  }
  return lastFailure;
}

const unsent = (text: string): CagedAnswer => ({ kind: 'failed', text, sent: false, status: null });

type Ended = { readonly kind: 'ended'; readonly text: string };

/** A name lookup cannot be cancelled, so this stops waiting for it. */
async function unlessEnded(
  admission: Promise<Admission>,
  deadlineAt: SteadyTime,
  deadlines: Deadlines,
  signal: AbortSignal,
): Promise<Admission | Ended> {
  let deadline: Deadline | undefined;
  const late = new Promise<Ended>((resolve) => {
    deadline = deadlines.at(deadlineAt, () => {
      resolve({ kind: 'ended', text: 'The name was not resolved in time.' });
    });
  });
  const result = await unlessStopped(Promise.race([admission, late]), stopOf(signal));
  deadline?.cancel();
  return result ?? { kind: 'ended', text: `${texts.cancelled}.` };
}

const texts = {
  connect_failed: 'No connection could be made',
  connect_timeout: 'No connection was made in time',
  connection_lost: 'The connection broke off before the answer was whole',
  answer_too_large: 'Far more came around the answer than an answer needs',
  timeout: 'The answer did not come whole in time',
  cancelled: 'The call was cancelled',
} as const;

function faultText({ fault, code }: Extract<PinnedResult, { kind: 'fault' }>): string {
  return code === null ? `${texts[fault]}.` : `${texts[fault]} (${code}).`;
}

// The cage of the tools that use the network: which host and port a tool may reach, and at which
// addresses. The cage first judges the host's name, as an address if it is one in any spelling.
// Then it judges every address that the name resolves to. It admits addresses, and the caller
// connects to that very address, so the name cannot resolve to another address in between.

/** @returns every address of a name, at least one; rejects when there is none */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** Where a request would go: `host` as `hostOf` writes it, `address` from the name lookup. */
export type Place = { readonly host: string; readonly address: string; readonly port: number };

/** Places that an entry of the list reaches only when it names their port. */
export interface ReservedPlaces {
  holds(place: Place): Promise<boolean>;
}

export type Admission =
  | {
      readonly kind: 'admitted';
      readonly url: URL;
      /** Each of them may be connected to; try them in this order. */
      readonly addresses: readonly string[];
    }
  | Refusal
  | { readonly kind: 'unresolved'; readonly text: string };

/** `rule` is a stable code. `text` is for the model and names no address of the lookup. */
type Refusal = { readonly kind: 'refused'; readonly rule: string; readonly text: string };

export interface HostCage {
  /**
   * @param address as the model or a redirect wrote it
   * @param base the base of a relative address; null: the address must be absolute
   */
  admit(address: string, base: URL | null, sensitivity: 'public' | 'private'): Promise<Admission>;
}

/** `host` as `hostOf` writes it; `port` null: every port of the host. */
type Entry = { readonly host: string; readonly port: number | null };

const addressLengthMax = 4_096;
/** At most so many addresses of a name are judged and tried. */
const addressesMax = 16;

/**
 * @param allowHosts `host` or `host:port`, IPv6 bare or in brackets; other entries match nothing
 */
export function createHostCage(
  allowHosts: readonly string[],
  { resolve, reserved }: { readonly resolve: Resolve; readonly reserved: ReservedPlaces },
): HostCage {
  const entries = allowHosts.map(entryOf).filter((entry) => entry !== null);
  return {
    async admit(address, base, sensitivity) {
      const url = webAddressIn(address, base);
      if ('kind' in url) return url;
      const host = hostOf(url);
      const port = portOf(url);
      if (!lists(entries, host, port)) {
        const text = `The host ${url.host} is not on the list of hosts that may be reached.`;
        return { kind: 'refused', rule: 'host_not_listed', text };
      }
      const addresses = isIP(host) === 0 ? await addressesOf(host, resolve) : [host];
      if (addresses === null) {
        return { kind: 'unresolved', text: `The name ${host} could not be resolved.` };
      }
      const entriesWithPort = entries.filter((entry) => entry.port === port);
      for (const one of addresses) {
        const refusal = judgeAddress(one, port, entries, sensitivity);
        if (refusal !== null) return refusal;
        if (!(await reserved.holds({ host, address: one, port }))) continue;
        const isNamed = lists(entriesWithPort, host, port);
        if (!isNamed || judgeAddress(one, port, entriesWithPort, sensitivity) !== null)
          return portNotNamed;
      }
      return { kind: 'admitted', url, addresses };
    },
  };
}

const portNotNamed: Refusal = {
  kind: 'refused',
  rule: 'address_reserved',
  text:
    'At this port is svc itself, its database, or a server that its configuration names. It is ' +
    'reached only where the list of hosts names that very port.',
};

/** The cage in a few words. */
export function hostCountText(allowHosts: readonly string[]): string {
  return allowHosts.length === 1 ? '1 host' : `${allowHosts.length} hosts`;
}

const hostsShownMax = 20;

/** For a tool's description: without it a model can only guess the hosts. */
export function hostsForModel(allowHosts: readonly string[]): string {
  const more = allowHosts.length - hostsShownMax;
  const shown = allowHosts.slice(0, hostsShownMax).join(', ');
  return `Hosts that can be reached: ${shown}${more > 0 ? `, and ${more} more` : ''}.`;
}

/** Parses an address once: the checks and the request both use parts of this URL. */
function webAddressIn(address: string, base: URL | null): URL | Refusal {
  const bad = (text: string): Refusal => ({ kind: 'refused', rule: 'bad_url', text });
  if (address.length > addressLengthMax) {
    return bad(`The address is longer than ${addressLengthMax} characters.`);
  }
  // The URL parser silently drops tabs and line ends.
  if (hasControls(address)) return bad('The address holds control characters.');
  const url = URL.parse(address, base ?? undefined);
  if (url === null) return bad('This is not a whole web address, like https://example.com/page.');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    const text = 'Only http and https addresses can be reached.';
    return { kind: 'refused', rule: 'scheme', text };
  }
  if (url.username !== '' || url.password !== '') {
    const text = 'An address with a user name or password in it is not used.';
    return { kind: 'refused', rule: 'credentials_in_url', text };
  }
  url.hash = '';
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  return url;
}

function hasControls(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

/** Names in lower case and ASCII, IPv4 as four numbers, IPv6 shortened and without brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

/** Uses the same parser as for addresses, so that two spellings of a host are equal. */
function entryOf(text: string): Entry | null {
  const match = /^(?:\[([^[\]]+)\]|([^:[\]/?#@\\]+))(?::(\d{1,5}))?$/.exec(text);
  const bareIpv6 = match === null && isIP(text) === 6 ? text : null;
  const ipv6 = bareIpv6 ?? match?.[1];
  const url = URL.parse(`http://${ipv6 === undefined ? match?.[2] : `[${ipv6}]`}/`);
  if (url === null || (match === null && bareIpv6 === null)) return null;
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  const port = match?.[3];
  return { host: hostOf(url), port: port === undefined ? null : Number(port) };
}

function lists(entries: readonly Entry[], host: string, port: number): boolean {
  return entries.some((entry) => entry.host === host && (entry.port ?? port) === port);
}

async function addressesOf(name: string, resolve: Resolve): Promise<readonly string[] | null> {
  try {
    const addresses = await resolve(name);
    return addresses.length === 0 ? null : addresses.slice(0, addressesMax);
  } catch {
    return null;
  }
}

/**
 * A private brain's tools stay on this machine and its private networks. A public brain's tools
 * stay out of them, unless the operator listed that address, or `localhost` for this machine. A
 * listed name is not enough: its owner decides where it leads.
 */
function judgeAddress(
  address: string,
  port: number,
  entries: readonly Entry[],
  sensitivity: 'public' | 'private',
): Refusal | null {
  const range = rangeOf(address);
  if (sensitivity === 'private') {
    if (range === 'loopback' || range === 'private') return null;
    const text = 'This agent is private: only this machine and private networks can be reached.';
    return { kind: 'refused', rule: 'address_not_private', text };
  }
  if (range === 'public') return null;
  if (lists(entries, address, port)) return null;
  if (range === 'loopback' && lists(entries, 'localhost', port)) return null;
  const text = 'This host leads into a network that is not public, and that is not allowed.';
  return { kind: 'refused', rule: 'address_not_public', text };
}

// Places that no agent reaches by accident: svc's own listeners, the servers that the configuration
// names (models, MCP servers, speech), and the database. They trust everybody who can connect. A
// place is recognized by its address and port, whatever name the request uses.

/** `host`: a name, or an address without brackets. */
type ServerPlace = { readonly host: string; readonly port: number };

type KnownServer = ServerPlace & {
  /** Other servers may have the same public addresses. */
  readonly isShared: boolean;
};

export class OwnPlaces implements ReservedPlaces {
  readonly #listeners: Pick<Listeners, 'places'>;
  readonly #resolve: Resolve;
  readonly #servers: readonly KnownServer[];
  /** One list for all copies that `withServers` makes. */
  readonly #databases: KnownServer[];

  constructor(
    listeners: Pick<Listeners, 'places'>,
    resolve: Resolve,
    servers: readonly KnownServer[] = [],
    databases: KnownServer[] = [],
  ) {
    this.#listeners = listeners;
    this.#resolve = resolve;
    this.#servers = servers;
    this.#databases = databases;
  }

  /**
   * A copy with the same listeners and databases, and the servers of one configuration.
   * @param urls absolute URLs
   */
  withServers(urls: readonly string[]): OwnPlaces {
    const servers = urls.flatMap((text) => placeOfUrl(text) ?? []);
    return new OwnPlaces(this.#listeners, this.#resolve, servers, this.#databases);
  }

  /** Adds the hosts of the process's database; the folder of a Unix socket is skipped. */
  addDatabase(hosts: readonly ServerPlace[]): void {
    for (const { host, port } of hosts) {
      if (host.startsWith('/')) continue;
      this.#databases.push({ host: host.toLowerCase().replace(/\.$/, ''), port, isShared: false });
    }
  }

  async holds(place: Place): Promise<boolean> {
    if (this.#listeners.places.some((bound) => isListenedAt(place, bound))) return true;
    for (const known of [...this.#servers, ...this.#databases]) {
      if (known.port === place.port && (await this.#isAt(place, known))) return true;
    }
    return false;
  }

  /**
   * A server on this machine may listen on all of its addresses. A vendor may share a public
   * address with others, so there only the name decides. A name that cannot be resolved now may
   * lead anywhere.
   */
  async #isAt({ host, address }: Place, { host: name, isShared }: KnownServer): Promise<boolean> {
    if (host === name) return true;
    const isOwn = isOwnAddress(address);
    const isPublic = !isOwn && rangeOf(address) === 'public';
    if (isPublic && isShared) return false;
    const addresses = isIP(name) === 0 ? await this.#resolve(name).catch(() => null) : [name];
    if (addresses === null) return !isPublic;
    const plain = plainAddress(address);
    return addresses.some((one) => plainAddress(one) === plain || (isOwn && isOwnAddress(one)));
  }
}

function isListenedAt({ address, port }: Place, bound: BoundPlace): boolean {
  if (port !== bound.port || !isOwnAddress(address)) return false;
  if (isUnspecified(bound.address) || isUnspecified(address)) return true;
  return plainAddress(address) === plainAddress(bound.address);
}

function placeOfUrl(text: string): KnownServer | null {
  const url = URL.parse(text);
  if (url === null) return null;
  const host = url.hostname.replace(/^\[(.*)\]$|\.$/, '$1');
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return { host, port, isShared: true };
}
