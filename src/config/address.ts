/** Reads addresses to listen on and to call. It is pure, and works without the class `URL`. */
import { rangeOf, bytesOf } from '../lib/ip-address.ts';
import type { ProblemList } from './problems.ts';

/**
 * An empty `host` means every interface; an IPv6 host has no brackets. `text` is the address as a
 * person writes it.
 */
export type ListenAddress = {
  readonly host: string;
  readonly port: number;
  readonly text: string;
  readonly loopback: boolean;
  /** false: this is the default. */
  readonly given: boolean;
  /** The flag that gave this address, and the configured address that it replaces. */
  readonly byFlag?: { readonly name: string; readonly inPlaceOf: string };
};

/**
 * Reads `host:port`, `:port` (every interface) or `[::1]:port`; the host may be a name.
 * @param given false: the text is the default
 * @returns null when the text is none of these
 */
export function parseListenAddress(text: string, given: boolean): ListenAddress | null {
  const match = /^(?:\[([^[\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  if (match === null) return null;
  const [, ipv6, name = '', digits] = match;
  const port = Number(digits);
  if (port > 65_535) return null;
  if (ipv6 !== undefined ? !isIpv6(ipv6) : name !== '' && !isHostName(name)) return null;
  const host = ipv6 ?? name;
  return { host, port, text, loopback: isLoopbackHost(host), given };
}

/** Reads an address that passed the check. */
export function addressOf(text: string, given: boolean): ListenAddress {
  const parsed = parseListenAddress(text, given);
  if (parsed === null) throw new Error('a bad address passed the check');
  return parsed;
}

/** Removes slashes at the end of a base URL, so that a path can follow. */
export function withoutSlashes(url: string | null): string | null {
  if (url === null) return null;
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}

export type WebAddress = {
  readonly host: string;
  /** The scheme is https. */
  readonly isSecure: boolean;
  readonly hasCredentials: boolean;
  readonly hasQuery: boolean;
  readonly hasFragment: boolean;
};

/** Reads an http or https address; null when the text is none. The host has no brackets. */
export function parseWebAddress(text: string): WebAddress | null {
  const match = /^https?:\/\/([^/?#\\\s]*)([^\s?#]*)(\?[^\s#]*)?(#\S*)?$/i.exec(text);
  if (match === null) return null;
  const [, authority = '', , query, fragment] = match;
  const at = authority.lastIndexOf('@');
  const parts = /^(?:\[([^[\]]+)\]|([^:[\]]+))(?::(\d{0,5}))?$/.exec(authority.slice(at + 1));
  if (parts === null || Number(parts[3] ?? 0) > 65_535) return null;
  const host = parts[1] ?? parts[2]!;
  if (parts[1] === undefined ? !isHostName(host) : !isIpv6(host)) return null;
  return {
    host,
    isSecure: /^https/i.test(text),
    hasCredentials: at >= 0,
    hasQuery: query !== undefined,
    hasFragment: fragment !== undefined,
  };
}

/** Whether only this machine can answer at this host: 127.0.0.0/8, ::1, and `localhost`. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') || rangeOf(name) === 'loopback';
}

/** Whether a text can be a host: a name, an IPv4 or an IPv6 address without brackets. */
export function isHost(text: string): boolean {
  return text.includes(':') ? isIpv6(text) : isHostName(text);
}

/**
 * Accepts a name or an IPv4 address. A text that looks like a number but is no address is neither.
 * There are no tables of international names here, so a few bad names pass and fail in use.
 */
function isHostName(text: string): boolean {
  // Most names are plain. Loading the tables of all letters takes longer than the whole check.
  const hasHostLetters = /^[\w.-]+$/.test(text) || /^[\p{L}\p{N}\p{M}._-]+$/u.test(text);
  if (!hasHostLetters || text.length > 253) return false;
  if (text.startsWith('.') || text.includes('..')) return false;
  const last = text.replace(/\.$/, '').split('.').at(-1)!;
  return /^(?:\d+|0x[\da-f]*)$/i.test(last) ? isIpv4(text) : true;
}

const isIpv4 = (text: string): boolean => bytesOf(text)?.length === 4;
const isIpv6 = (text: string): boolean => bytesOf(text)?.length === 16;

/** Ports that browsers refuse (WHATWG Fetch, "port blocking"). */
const browserPorts = new Set(
  (
    '0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 ' +
    '111 113 115 117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 ' +
    '540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 ' +
    '5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080'
  )
    .split(' ')
    .map(Number),
);

/** Whether browsers refuse to connect to this port. Port 0 stands for any free port. */
export function isBrowserRefused(port: number): boolean {
  return port !== 0 && browserPorts.has(port);
}

/** Whether two listeners would need the same socket. A wildcard host overlaps with every host. */
export function overlap(a: ListenAddress, b: ListenAddress): boolean {
  if (a.port !== b.port || a.port === 0) return false;
  const [hostA, hostB] = [bareHost(a.host), bareHost(b.host)];
  return hostA === hostB || hostA === '*' || hostB === '*';
}

function bareHost(host: string): string {
  const name = host.toLowerCase();
  if (name === '' || name === '0.0.0.0' || name === '::') return '*';
  return name === 'localhost' ? '127.0.0.1' : name;
}

/**
 * Warns when a secret would go to another machine over plain http.
 * @param url as in the file; undefined when it could not be read
 * @param secret what goes there, such as `the bot token`
 */
export function checkEncrypted(
  url: string | null | undefined,
  secret: string,
  path: string,
  problems: ProblemList,
): void {
  const address = typeof url === 'string' ? parseWebAddress(url) : null;
  if (address === null || address.isSecure || isLoopbackHost(address.host)) return;
  const message = `${secret} goes to another machine, and nothing encrypts it on its way`;
  const remedy = 'Use https, or an address of this machine.';
  problems.add('not_encrypted', path, message, remedy);
}
