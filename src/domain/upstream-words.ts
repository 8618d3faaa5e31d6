/**
 * Error texts from the other side, reduced to one short line that svc may keep and show. The line
 * has no secret, and nothing in it identifies a person. Pure.
 */
import { quotesAnswer } from './model-habits.ts';

/** The functions remove numbers with more digits, since they may be ids. */
type Bounds = { readonly charactersMax: number; readonly digitsMax: number };
const ofPlatform: Bounds = { charactersMax: 160, digitsMax: 4 };
/** The numbers of providers are sizes in tokens. */
const ofProvider: Bounds = { charactersMax: 300, digitsMax: 7 };
/** The functions ignore the rest of a longer text. */
const startCharactersMax = 2_000;
/** This many characters in a row from a sent text are an echo of it. */
const echoLength = 12;
const echoLengthMin = 4;
/** The same for a whole conversation. It is longer, since common phrases repeat by chance. */
const longEchoLength = 20;
/** The shortest whole text, or line of one, that counts as an echo. */
const wholeEchoLengthMin = 8;

/**
 * The words of a messenger's platform about a send that it refused.
 * @param sent all texts of the send; none of them may come back
 * @returns null: nothing is left of the words, or they repeat a sent text
 */
export function platformWords(said: string, token: string, sent: readonly string[]): string | null {
  const start = said.slice(0, startCharactersMax);
  if (sent.some((text) => repeatsPieceOf(start, text))) return null;
  return scrubbed(start, token, ofPlatform);
}

/**
 * The words of a model's provider about a request that failed.
 * @param key null: svc sent none
 * @param sent all texts of the request. The result leaves out pieces that repeat one of them, and
 *   text that the model wrote.
 * @returns null: nothing is left of the words
 */
export function providerWords(
  said: string,
  key: string | null,
  sent: readonly string[],
): string | null {
  const start = said.slice(0, startCharactersMax);
  const quoting = quotesAnswer.exec(start);
  const own = quoting === null ? start : start.slice(0, quoting.index + quoting[0].length);
  return scrubbed(withoutEchoes(own, sent), key ?? '', ofProvider);
}

/**
 * The words before JSON, or before a quotation that is longer than a name: it may quote a model.
 */
export function upToQuotation(words: string): string {
  const marks = words.matchAll(/(["'`])[a-z_][\w./:@-]{0,99}\1|([{[\n"`]|(?<![a-z])')/gi);
  for (const { 2: quotes, index } of marks) {
    if (quotes !== undefined) return words.slice(0, index);
  }
  return words;
}

function scrubbed(start: string, secret: string, bounds: Bounds): string | null {
  const { charactersMax, digitsMax } = bounds;
  const plain = (secret === '' ? start : start.replaceAll(secret, ' '))
    .replaceAll(/[\p{C}\p{Z}"]+/gu, ' ')
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/\S*|\bwww\.\S+/gi, ' ')
    .replaceAll(/@[\p{L}\p{N}_.]+/gu, ' ')
    // Long words are keys, tokens and ids.
    .replaceAll(/[\w-]{32,}/g, ' ')
    .replaceAll(/\p{N}+/gu, (digits) => (digits.length > digitsMax ? ' ' : digits))
    .replaceAll(/ +/g, ' ')
    .trim();
  const line = Array.from(plain).slice(0, charactersMax).join('').trim();
  return /\p{L}/u.test(line) ? line : null;
}

/** The words without the pieces that repeat a sent text or quote one. */
function withoutEchoes(words: string, texts: readonly string[]): string {
  const said = onOneLine(words);
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

/** In lower case, if that keeps the length. */
function lowered(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text;
}

/** The text before it was escaped as JSON or as a Python string, with single spaces. */
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

/** Whether the words contain a piece of the text, in any spacing and case. */
function repeatsPieceOf(said: string, text: string): boolean {
  const where = folded(said);
  const what = folded(text);
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
