/** Host names in requests. A page elsewhere can let its own name resolve to this machine. */

const ownNames = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * Whether the name in a Host header is a loopback name or one of `allowed`. The port does not
 * matter. Format: RFC 9110, section 7.2.
 */
export function isKnownHost(host: string | undefined, allowed: readonly string[]): boolean {
  const name = hostNameOf(host);
  return name !== null && (ownNames.has(name) || isAllowedHost(name, allowed));
}

/** The host's name in lower case; null: it is not a host. */
export function hostNameOf(host: string | undefined): string | null {
  const match = /^(\[[\da-f:.]+\]|[^\s:[\]/@]+)(?::\d{0,5})?$/i.exec(host ?? '');
  return match === null ? null : match[1]!.toLowerCase();
}

/** @param name in lower case */
export function isAllowedHost(name: string, allowed: readonly string[]): boolean {
  return allowed.some((other) => other.toLowerCase() === name);
}
