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
