/**
 * What another side said of an error, as far as it may be kept and shown: one short line, in which
 * nothing points at a person or holds a secret. Pure.
 */

/** Numbers with more digits may be ids, and are left out. */
type Bounds = { readonly charactersMax: number; readonly digitsMax: number };
const ofPlatform: Bounds = { charactersMax: 160, digitsMax: 4 };
/** Its numbers are sizes in tokens. */
const ofProvider: Bounds = { charactersMax: 300, digitsMax: 7 };
/** More of it is not looked at. */
const lookedMax = 2_000;
/** So many characters in a row of what was sent are an echo of it. */
const echoLength = 12;
const echoLengthMin = 4;
/** Of a whole conversation common phrases come back by chance: an echo of it is longer. */
const longEchoLength = 20;

/**
 * What a messenger's platform said of a send that it refused.
 * @param sent all texts of the send, none of which may come back
 * @returns null: nothing is left of it, or it repeats what was sent
 */
export function platformWords(said: string, token: string, sent: readonly string[]): string | null {
  const looked = said.slice(0, lookedMax);
  if (sent.some((text) => echoes(looked, text))) return null;
  return scrubbed(looked, token, ofPlatform);
}

/**
 * What a model's provider said of a request that failed.
 * @param key null: it was sent none
 * @param sent all texts of the request: where the words repeat one, that piece is left out
 * @returns null: nothing is left of it
 */
export function providerWords(
  said: string,
  key: string | null,
  sent: readonly string[],
): string | null {
  return scrubbed(withoutEchoes(said.slice(0, lookedMax), sent), key ?? '', ofProvider);
}

function scrubbed(looked: string, secret: string, bounds: Bounds): string | null {
  const { charactersMax, digitsMax } = bounds;
  const plain = (secret === '' ? looked : looked.replaceAll(secret, ' '))
    .replaceAll(/[\p{C}\p{Z}"]+/gu, ' ')
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/\S*|\bwww\.\S+/gi, ' ')
    .replaceAll(/@[\p{L}\p{N}_.]+/gu, ' ')
    // Long words without a space are keys, tokens and ids.
    .replaceAll(/[\w-]{32,}/g, ' ')
    .replaceAll(/\p{N}+/gu, (digits) => (digits.length > digitsMax ? ' ' : digits))
    .replaceAll(/ +/g, ' ')
    .trim();
  const line = Array.from(plain).slice(0, charactersMax).join('').trim();
  return /\p{L}/u.test(line) ? line : null;
}

/** The words less each piece that stands in a text, and less what they quote of one. */
function withoutEchoes(said: string, texts: readonly string[]): string {
  const all = texts.map((text) => text.toLowerCase());
  const isIn = (piece: string): boolean => all.some((text) => text.includes(piece));
  const unquoted = said.replaceAll(/(["'`])([^"'`]{3,}?)\1/g, (whole, _mark, quoted: string) =>
    isIn(quoted.toLowerCase()) ? '…' : whole,
  );
  const lower = unquoted.toLowerCase();
  const where = lower.length === unquoted.length ? lower : unquoted;
  let [kept, from] = ['', 0];
  for (let at = 0; at + longEchoLength <= where.length; at++) {
    if (!isIn(where.slice(at, at + longEchoLength))) continue;
    let end = at + longEchoLength;
    while (end < where.length && isIn(where.slice(end - longEchoLength + 1, end + 1))) end++;
    kept += `${unquoted.slice(from, at)}…`;
    from = end;
    at = end - 1;
  }
  return kept + unquoted.slice(from);
}

/** Whether it holds a piece of that text, however it is spaced and capitalised. */
function echoes(said: string, text: string): boolean {
  const [where, what] = [folded(said), folded(text)];
  if (what.length < echoLengthMin) return false;
  const length = Math.min(echoLength, what.length);
  for (let at = 0; at + length <= where.length; at++) {
    if (what.includes(where.slice(at, at + length))) return true;
  }
  return false;
}

const folded = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
    .trim();
