/**
 * The principals. A `prober` (a supervisor, a metrics scraper) may use any host name, since its
 * pages tell nothing of use to others. A `reader` must use a known host name: a page elsewhere
 * could let its own name resolve to this machine and read along. An `operator` has also sent the
 * administrator's token. Texts and all writes are the operator's.
 */
import type { IncomingMessage } from 'node:http';
import { rangeOf } from '../../lib/ip-address.ts';
import { hostNameOf, isAllowedHost, isKnownHost } from '../../lib/known-host.ts';
import { bearerOf, type TokenCheck } from '../../lib/bearer.ts';

export type Principal = 'prober' | 'reader' | 'operator';

/** The caller, for an answer that tells an operator more than others. */
export type Viewer = Exclude<Principal, 'prober'>;

/** How the server recognises an operator; without a token the service is read-only. */
export type OperatorAccess =
  | { readonly kind: 'bearer'; readonly matches: TokenCheck }
  /** `remedy` is one sentence that says how to switch it on. */
  | { readonly kind: 'none'; readonly remedy: string };

const bearerScheme = /^bearer(?:\s|$)/i;

/** The bearer in a request. Two Authorization headers count as wrong. */
export type BearerState = 'without' | 'wrong' | 'operator';

/**
 * Judges the bearer of a request. It ignores other schemes, since a proxy in front may add its own
 * login to every request.
 */
export function bearerStateOf(request: IncomingMessage, access: OperatorAccess): BearerState {
  const sent = request.headersDistinct['authorization'] ?? [];
  if (!sent.some((header) => bearerScheme.test(header))) return 'without';
  const token = bearerOf(request);
  const right = token !== null && access.kind === 'bearer' && access.matches(token);
  return right ? 'operator' : 'wrong';
}

/** Whether a request has nothing but the login of a proxy in front, in a scheme of browsers. */
export function hasProxyLogin({ headersDistinct }: IncomingMessage): boolean {
  const sent = headersDistinct['authorization'] ?? [];
  return sent.length > 0 && sent.every((header) => /^(?:basic|digest) /i.test(header));
}

/**
 * Whether a browser says that a foreign page made the request. A page of this server has the same
 * host and port as the request. For a host in `allowed`, a proxy may have removed the port.
 * Formats: RFC 6454, section 7; https://www.w3.org/TR/fetch-metadata/.
 */
export function isForeign(
  { headersDistinct }: IncomingMessage,
  host: string | undefined,
  allowed: readonly string[],
): boolean {
  const sites = headersDistinct['sec-fetch-site'] ?? [];
  if (sites.some((site) => site.toLowerCase().includes('cross-site'))) return true;
  const origins = headersDistinct['origin'] ?? [];
  return origins.length > 1 || origins.some((origin) => !isOwn(origin, host, allowed));
}

const ofProxies = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/**
 * Whether the caller is on this machine. The connection comes from loopback, the host is a loopback
 * name, and no header names a proxy. A local proxy without such headers, or an SSH tunnel, looks
 * like a person at this machine.
 */
export function isAskedHere(
  { headersDistinct, socket }: IncomingMessage,
  host: string | undefined,
): boolean {
  if (rangeOf(socket.remoteAddress ?? '') !== 'loopback' || !isKnownHost(host, [])) return false;
  if (ofProxies.some((name) => headersDistinct[name] !== undefined)) return false;
  const origins = headersDistinct['origin'] ?? [];
  return origins.every((origin) => isKnownHost(origin.replace(/^https?:\/\//i, ''), []));
}

function isOwn(origin: string, host: string | undefined, allowed: readonly string[]): boolean {
  const place = /^https?:\/\/([^/?#]+)$/i.exec(origin)?.[1]?.toLowerCase();
  if (place === undefined) return false;
  const name = hostNameOf(place);
  return place === host?.toLowerCase() || (name !== null && isAllowedHost(name, allowed));
}
