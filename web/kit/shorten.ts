/** The length from which the rest of a text shows only after a press. */
export const shownMax = 2_000;

/** The beginning of a text, which never ends with half a character. @param max UTF-16 units */
export function beginningOf(text: string, max = shownMax): string {
  if (text.length <= max) return text;
  const isHalf = (text.codePointAt(max - 1) ?? 0) > 0xffff;
  return text.slice(0, isHalf ? max - 1 : max);
}

const unbroken = /\S{50}(?<![\u200d\p{RI}])(?=[^\s\p{M}\p{Emoji_Modifier}\u200d\p{RI}])/gu;

/**
 * Splits a text into pieces between which a line may break. The browser's cost to wrap an unbroken
 * run grows with the square of its length: 20,000 characters take seconds, 50 take no time.
 */
export function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let from = 0;
  for (const { 0: run, index } of text.matchAll(unbroken)) {
    pieces.push(text.slice(from, index + run.length));
    from = index + run.length;
  }
  return [...pieces, text.slice(from)];
}
