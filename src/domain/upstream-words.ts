/**
 * What another side said of an error, as far as it may be kept and shown: one short line, in which
 * nothing points at a person or holds a secret. Pure.
 */
import { quotesAnswer } from './model-habits.ts';

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
/** A whole text of it, or a line of one, is found from this length on. */
const wholeEchoLengthMin = 8;

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
 * @param sent all texts of the request: where the words repeat one, that piece is left out, and so
 *   is what the model wrote
 * @returns null: nothing is left of it
 */
export function providerWords(
  said: string,
  key: string | null,
  sent: readonly string[],
): string | null {
  const looked = said.slice(0, lookedMax);
  const quoting = quotesAnswer.exec(looked);
  const own = quoting === null ? looked : looked.slice(0, quoting.index + quoting[0].length);
  return scrubbed(withoutEchoes(own, sent), key ?? '', ofProvider);
}

/** The words up to JSON, or a quotation of more than a name: it may be of what a model wrote. */
export function upToQuotation(words: string): string {
  const marks = words.matchAll(/(["'`])[a-z_][\w./:@-]{0,99}\1|([{[\n"`]|(?<![a-z])')/gi);
  for (const { 2: quotes, index } of marks) {
    if (quotes !== undefined) return words.slice(0, index);
  }
  return words;
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
function withoutEchoes(told: string, texts: readonly string[]): string {
  const said = onOneLine(told);
  const all = texts.map((text) => onOneLine(text).toLowerCase());
  const isIn = (piece: string): boolean => all.some((text) => text.includes(piece));
  let unquoted = said.replaceAll(/(["'`])([^"'`]{3,}?)\1/g, (whole, _mark, quoted: string) =>
    isIn(quoted.toLowerCase()) ? '…' : whole,
  );
  for (const text of all) {
    const isShort = text.length >= wholeEchoLengthMin && text.length < longEchoLength;
    if (isShort) unquoted = withoutPiece(unquoted, text);
  }
  const where = lowered(unquoted);
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

function withoutPiece(said: string, piece: string): string {
  const at = lowered(said).indexOf(piece);
  return at < 0 ? said : `${said.slice(0, at)}…${said.slice(at + piece.length)}`;
}

/** As long as it was. */
function lowered(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text;
}

/** As it was before it was written as JSON, or as a text of Python, with its spaces alike. */
function onOneLine(text: string): string {
  return text
    .replaceAll(/\\{1,2}u([\da-f]{4})/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
    .replaceAll(/\\{1,2}[nrt]/g, ' ')
    .replaceAll(/\\+(?=["'])/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
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
