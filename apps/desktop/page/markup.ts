/** HTML of texts that may be anything: what is put in is escaped, unless it is markup itself. */

export type Markup = { readonly html: string };
type Part = string | number | Markup | null | readonly Part[];

/** Texts that are put in show each invisible character by its number, so that none misleads. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const inside = parts.map(write);
  return { html: strings.map((text, at) => text + (inside[at] ?? '')).join('') };
}

/** A text as it is, byte for byte, for a field that gives it back. */
export function verbatim(text: string): Markup {
  return { html: escape(text) };
}

function write(part: Part): string {
  if (part === null) return '';
  if (typeof part === 'number') return String(part);
  if (typeof part === 'string') return escape(part.replace(unseen, byNumber));
  return 'html' in part ? part.html : part.map(write).join('');
}

const unseen = /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\t\n\r]]/gv;

const byNumber = (char: string): string =>
  `\\u{${char.codePointAt(0)!.toString(16).padStart(4, '0')}}`;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escape(text: string): string {
  return text.toWellFormed().replace(/[&<>"']/g, (char) => entities[char]!);
}
