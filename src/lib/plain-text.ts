/**
 * Takes out what could drive a terminal: every control character but line feed and tab, and what
 * turns the writing direction. For text that somebody else wrote.
 */
export function plainText(text: string): string {
  return text.replace(/[[\p{Cc}\p{Bidi_Control}]--[\n\t]]/gv, '');
}

/** The same for a place where only one line belongs: a cell of a table, an id in a sentence. */
export function plainLine(text: string): string {
  return plainText(text).replace(/[\n\t\u2028\u2029]+/g, ' ');
}

/**
 * A value as JSON that may be shown at a terminal as it is: what could drive a terminal becomes an
 * escape, so that nothing is left out.
 * @param indent spaces a level; 0: all on one line
 */
export function plainJson(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(
    /[[\p{Cc}\p{Bidi_Control}\u2028\u2029]--\n]/gv,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
