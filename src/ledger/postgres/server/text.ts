/**
 * Texts as PostgreSQL can hold them. It refuses NUL, and half of a surrogate pair is no UTF-8.
 * Both, and the marker itself, are written as U+E000 and four hex digits. Different texts
 * stay different.
 */

/** From Unicode's private use area: hardly any text has it. */
const marker = '\uE000';
const signOrNul = /[\0\uE000]/;
/** With the `u` flag only an unpaired half counts as a surrogate. */
const unstorable = /[\0\uE000\p{Surrogate}]/gu;
const escaped = /\uE000([0-9a-f]{4})/g;

/** @returns a text that a column, or a key of JSON that becomes one, can hold */
export function toText(text: string): string {
  if (text.isWellFormed() && !signOrNul.test(text)) return text;
  return text.replaceAll(unstorable, (one) => {
    return marker + one.charCodeAt(0).toString(16).padStart(4, '0');
  });
}

/** @param stored a result of `toText` */
export function fromText(stored: string): string {
  if (!stored.includes(marker)) return stored;
  return stored.replaceAll(escaped, (_, digits: string) => {
    return String.fromCharCode(parseInt(digits, 16));
  });
}

export function toTextOrNull(text: string | null): string | null {
  return text === null ? null : toText(text);
}

export function fromTextOrNull(stored: string | null): string | null {
  return stored === null ? null : fromText(stored);
}
