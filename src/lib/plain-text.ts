/**
 * Removes characters that could control a terminal: every control character but line feed and tab,
 * and characters that change the writing direction. For text from other sources.
 */
export function plainText(text: string): string {
  return text.replace(/[[\p{Cc}\p{Bidi_Control}]--[\n\t]]/gv, '');
}

/** The same for places with only one line: a cell of a table, an id in a sentence. */
export function plainLine(text: string): string {
  return plainText(text).replace(/[\n\t\u2028\u2029]+/g, ' ');
}

/**
 * A value as JSON that is safe to show at a terminal. Characters that could control a terminal
 * become escapes, so nothing is lost.
 * @param indent spaces per level; 0: all on one line
 */
export function plainJson(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(
    /[[\p{Cc}\p{Bidi_Control}\u2028\u2029]--\n]/gv,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * A JSON value with each lone surrogate replaced by U+FFFD, in names too. A text with a lone
 * surrogate cannot be written as UTF-8, and some services refuse a whole request because of one.
 * @returns the value itself if it has no lone surrogate, or cannot be written as JSON
 */
export function wellFormed<Value>(value: Value): Value {
  if (typeof value === 'string') return value.toWellFormed() as Value;
  try {
    const text = JSON.stringify(value) ?? '';
    // JSON.stringify writes pairs as they are, and lone surrogates as escapes.
    const whole = text.replace(loneEscape, '$1\\ufffd');
    return whole === text ? value : (JSON.parse(whole) as Value);
  } catch {
    return value;
  }
}

const loneEscape = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;
