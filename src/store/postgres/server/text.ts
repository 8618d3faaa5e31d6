/**
 * Plain texts in columns. A text of PostgreSQL holds neither NUL nor half a surrogate pair, and
 * what people write may hold both. Each of them, and the mark itself, stands as the mark and four
 * hexadecimal digits. What has none of them stays as it is.
 */

/** The first character of the private use area. */
const mark = '\uE000';
const unstorable =
  /[\0\uE000]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;
const marked = /\uE000([0-9a-f]{4})/g;

/** Every text has one form, and no two texts have the same. */
export function toText(text: string): string {
  if (text.isWellFormed() && !text.includes('\0') && !text.includes(mark)) return text;
  return text.replace(unstorable, (one) => mark + one.charCodeAt(0).toString(16).padStart(4, '0'));
}

export function fromText(stored: string): string {
  if (!stored.includes(mark)) return stored;
  return stored.replace(marked, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
}

export function toTextOrNull(text: string | null): string | null {
  return text === null ? null : toText(text);
}

export function fromTextOrNull(stored: string | null): string | null {
  return stored === null ? null : fromText(stored);
}
