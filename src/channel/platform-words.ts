/**
 * What a platform said of a send that it refused, as far as it may be kept and shown with the
 * delivery: one short line, in which nothing points at a person or holds a secret. Pure.
 */

/** In characters. */
const wordsMax = 160;
/** More of it is not looked at. */
const lookedMax = 2_000;
/** So many characters in a row of what was sent are an echo of it. */
const echoLength = 12;
const echoLengthMin = 4;

/**
 * @param sent all texts of the send, none of which may come back
 * @returns null: nothing is left of it, or it repeats what was sent
 */
export function platformWords(said: string, token: string, sent: readonly string[]): string | null {
  const looked = said.slice(0, lookedMax);
  if (sent.some((text) => echoes(looked, text))) return null;
  const scrubbed = (token === '' ? looked : looked.replaceAll(token, ' '))
    .replaceAll(/[\p{C}\p{Z}"]+/gu, ' ')
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/\S*|\bwww\.\S+/gi, ' ')
    .replaceAll(/@[\p{L}\p{N}_.]+/gu, ' ')
    // Long words without a space are keys, tokens and ids.
    .replaceAll(/[\w-]{32,}/g, ' ')
    .replaceAll(/\p{N}{5,}/gu, ' ')
    .replaceAll(/ +/g, ' ')
    .trim();
  const line = Array.from(scrubbed).slice(0, wordsMax).join('').trim();
  return /\p{L}/u.test(line) ? line : null;
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
