/** IP addresses as text, read without the platform's help: a browser can run this. */

/**
 * The bytes of an address: 4 of IPv4, 16 of IPv6.
 * @param text without brackets, zone or port
 * @returns null when it is no address
 *
 * Source: RFC 4291, section 2.2; of IPv4 only four decimal numbers without leading zeros.
 */
export function bytesOf(text: string): readonly number[] | null {
  return text.includes(':') ? sixteenOf(text) : fourOf(text);
}

function fourOf(text: string): readonly number[] | null {
  const parts = text.split('.');
  const good = parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part));
  const bytes = good ? parts.map(Number) : [];
  return good && bytes.every((byte) => byte < 256) ? bytes : null;
}

function sixteenOf(text: string): readonly number[] | null {
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
    const four = atEnd && at === parts.length - 1 ? fourOf(part) : null;
    if (four !== null) bytes.push(...four);
    else if (!/^[\da-f]{1,4}$/i.test(part)) return null;
    else bytes.push(parseInt(part, 16) >> 8, parseInt(part, 16) & 255);
  }
  return bytes;
}
