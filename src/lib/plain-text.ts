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

/**
 * A JSON value with half characters replaced by U+FFFD, in names too: a text with a lone surrogate
 * cannot be written as UTF-8, and some services refuse a whole request for one. The value itself
 * where it has no half character, and where it cannot be written as JSON.
 */
export function wellFormed<Value>(value: Value): Value {
  if (typeof value === 'string') return value.toWellFormed() as Value;
  try {
    const text = JSON.stringify(value) ?? '';
    // JSON.stringify writes pairs as they are, and lone ones as an escape.
    const whole = text.replace(loneEscape, '$1\\ufffd');
    return whole === text ? value : (JSON.parse(whole) as Value);
  } catch {
    return value;
  }
}

const loneEscape = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;
