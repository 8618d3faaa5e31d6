/** The part of somebody else's text beyond this length is only shown when it is asked for. */
export const shownMax = 2_000;

/** The beginning of a text, without half a character at its end. @param max UTF-16 units */
export function beginningOf(text: string, max = shownMax): string {
  if (text.length <= max) return text;
  const isHalf = (text.codePointAt(max - 1) ?? 0) > 0xffff;
  return text.slice(0, isHalf ? max - 1 : max);
}

const unbroken = /\S{50}(?<![\u200d\p{RI}])(?=[^\s\p{M}\p{Emoji_Modifier}\u200d\p{RI}])/gu;

/**
 * The text in pieces between which a line may break. A run of letters without an end costs the
 * browser the square of its length to wrap, which at 20,000 is seconds; a run of 50 is nothing.
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
