/** IP addresses as text, read without the platform's help, so that a browser can run this file. */

/**
 * The bytes of an address: 4 of IPv4, 16 of IPv6.
 * @param text without brackets, zone or port
 * @returns null: it is no address
 *
 * Source: RFC 4291, section 2.2; for IPv4 only four decimal numbers without leading zeros.
 */
export function bytesOf(text: string): readonly number[] | null {
  return text.includes(':') ? ipv6BytesOf(text) : ipv4BytesOf(text);
}

function ipv4BytesOf(text: string): readonly number[] | null {
  const parts = text.split('.');
  const good = parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part));
  const bytes = good ? parts.map(Number) : [];
  return good && bytes.every((byte) => byte < 256) ? bytes : null;
}

function ipv6BytesOf(text: string): readonly number[] | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const [left, right = []] = halves.map((half, index) => {
    return groupsOf(half, index === halves.length - 1);
  });
  if (left == null || right === null) return null;
  const missing = 16 - left.length - right.length;
  if (halves.length === 1) return missing === 0 ? left : null;
  return missing > 0 ? [...left, ...Array<number>(missing).fill(0), ...right] : null;
}

/** @param atEnd the last group may be an IPv4 address */
function groupsOf(half: string, atEnd: boolean): readonly number[] | null {
  const bytes: number[] = [];
  const parts = half === '' ? [] : half.split(':');
  for (const [at, part] of parts.entries()) {
    const four = atEnd && at === parts.length - 1 ? ipv4BytesOf(part) : null;
    if (four !== null) bytes.push(...four);
    else if (!/^[\da-f]{1,4}$/i.test(part)) return null;
    else bytes.push(parseInt(part, 16) >> 8, parseInt(part, 16) & 255);
  }
  return bytes;
}

// The part of the Internet that an address belongs to. An address that is not known to be public
// counts as not public. For IPv6 only 2000::/3 is for the world, without the ranges inside it that
// are reserved.
//
// Source: IANA's IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and its successors).

/**
 * `loopback`: this machine. `private`: RFC 1918 and RFC 4193. `shared`: RFC 6598, which carriers
 * and private overlays use inside their networks. `special`: reserved for other purposes
 * (link-local with its metadata services, multicast, documentation, translations of IPv4), or no
 * address at all.
 */
export type AddressRange = 'public' | 'loopback' | 'private' | 'shared' | 'special';

const loopback = subnetsOf('127.0.0.0/8 ::1/128');

const privateUse = subnetsOf('10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7');

const shared = subnetsOf('100.64.0.0/10');

const special = subnetsOf(
  '0.0.0.0/8 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 ' +
    '198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ' +
    // Protocol assignments with Teredo, documentation, 6to4, documentation.
    '2001::/23 2001:db8::/32 2002::/16 3fff::/20',
);

const unicastIpv6 = subnetsOf('2000::/3');
const ipv4Mapped = subnetsOf('::ffff:0:0/96');

/** @param address as text, without brackets or a zone */
export function rangeOf(address: string): AddressRange {
  const whole = bytesOf(address);
  if (whole === null) return 'special';
  // IPv4 inside IPv6 follows the rules of IPv4, but is never public.
  const mapped = isIn(ipv4Mapped, whole);
  const bytes = mapped ? whole.slice(12) : whole;
  if (isIn(loopback, bytes)) return 'loopback';
  if (isIn(privateUse, bytes)) return 'private';
  if (isIn(shared, bytes)) return 'shared';
  if (mapped || isIn(special, bytes)) return 'special';
  return bytes.length === 4 || isIn(unicastIpv6, bytes) ? 'public' : 'special';
}

/**
 * Whether bytes sent to the address stay on this machine or in a private network. The wildcard
 * address means this machine: systems that connect to it connect to themselves (RFC 1122, section
 * 3.2.1.3).
 */
export function isNear(address: string): boolean {
  const range = rangeOf(address);
  if (range === 'special') return address === '0.0.0.0' || address === '::';
  return range !== 'public';
}

type Subnet = { readonly net: readonly number[]; readonly bits: number };

function isIn(list: readonly Subnet[], bytes: readonly number[]): boolean {
  return list.some(({ net, bits }) => {
    if (net.length !== bytes.length) return false;
    return net.every((byte, at) => {
      const mask = 0xff00 >> Math.min(8, Math.max(0, bits - 8 * at));
      return ((byte ^ bytes[at]!) & mask & 255) === 0;
    });
  });
}

function subnetsOf(subnets: string): readonly Subnet[] {
  return subnets.split(' ').map((subnet) => {
    const [net = '', bits] = subnet.split('/');
    return { net: bytesOf(net)!, bits: Number(bits) };
  });
}
