/**
 * Who may ask. A `prober` (a supervisor, a metrics scraper) may come under any host name, since
 * its pages tell nothing of use to others. A `reader` must have used a host name that is known
 * here: a page elsewhere can have its own name resolve to this machine, and would read along.
 */
export type Principal = 'prober' | 'reader';

const ownNames = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * Whether the name in a Host header is one of this machine's loopback names, or of `allowed`.
 * The port does not matter. Format: RFC 9110, section 7.2.
 */
export function isKnownHost(host: string | undefined, allowed: readonly string[]): boolean {
  if (host === undefined) return false;
  const match = /^(\[[\da-f:.]+\]|[^\s:[\]/@]+)(?::\d{0,5})?$/i.exec(host);
  if (match === null) return false;
  const name = match[1]!.toLowerCase();
  return ownNames.has(name) || allowed.some((other) => other.toLowerCase() === name);
}
