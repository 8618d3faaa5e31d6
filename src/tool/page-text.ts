/**
 * The text of an HTML page, for reading: no markup, no scripts, a line for each block. It is no
 * parser of HTML: what is badly nested loses its layout, and nothing else. Every step looks at a
 * character a bounded number of times, whatever the page holds.
 */

/** Between the start and the end tag of these stands nothing for a reader. */
const skipped = new Set(['script', 'style', 'template', 'svg', 'iframe', 'object']);

const blocks = new Set(
  (
    'address article aside blockquote body br dd details div dl dt fieldset figcaption figure ' +
    'footer form h1 h2 h3 h4 h5 h6 head header hr li main nav ol option p pre section select ' +
    'summary table tbody textarea thead title tr ul'
  ).split(' '),
);

const cells = new Set(['td', 'th']);

/** @param page HTML, whole or its beginning */
export function textOfPage(page: string): string {
  const lower = page.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
  const out = new Lines();
  let at = 0;
  let preformatted = 0;
  while (at < page.length) {
    const open = page.indexOf('<', at);
    const textEnd = open < 0 ? page.length : open;
    if (textEnd > at) out.add(withEntities(page.slice(at, textEnd)), preformatted > 0);
    if (open < 0) break;
    const tag = tagAt(lower, open);
    if (tag === null) {
      out.add('<', preformatted > 0);
      at = open + 1;
      continue;
    }
    at = tag.end;
    if (blocks.has(tag.name)) out.endLine();
    else if (cells.has(tag.name)) out.add(' ', false);
    if (tag.name === 'pre') preformatted = Math.max(0, preformatted + (tag.closes ? -1 : 1));
    if (skipped.has(tag.name) && !tag.closes) at = endOf(lower, tag.name, at);
  }
  return out.text();
}

type Tag = { readonly name: string; readonly closes: boolean; readonly end: number };

/** @returns null when this `<` begins no markup; markup that does not end takes all that is left */
function tagAt(lower: string, open: number): Tag | null {
  if (lower.startsWith('<!--', open)) {
    return { name: '', closes: false, end: behind(lower, '-->', open + 4) };
  }
  const closes = lower[open + 1] === '/';
  const from = open + (closes ? 2 : 1);
  const first = lower[from];
  if (first === '!' || first === '?') {
    return { name: '', closes: false, end: behind(lower, '>', from) };
  }
  if (first === undefined || first < 'a' || first > 'z') return null;
  let nameEnd = from;
  while (nameEnd - from < 32 && /[a-z0-9]/.test(lower[nameEnd] ?? '')) nameEnd++;
  return { name: lower.slice(from, nameEnd), closes, end: tagEnd(lower, nameEnd) };
}

/** Behind the `>` that stands in no quoted value. */
function tagEnd(lower: string, from: number): number {
  let quote = '';
  let before = '';
  for (let at = from; at < lower.length; at++) {
    const sign = lower[at]!;
    if (quote !== '') quote = sign === quote ? '' : quote;
    else if ((sign === '"' || sign === "'") && before === '=') quote = sign;
    else if (sign === '>') return at + 1;
    if (sign > ' ') before = sign;
  }
  return lower.length;
}

function endOf(lower: string, name: string, from: number): number {
  const close = lower.indexOf(`</${name}`, from);
  return close < 0 ? lower.length : tagEnd(lower, close);
}

function behind(lower: string, sign: string, from: number): number {
  const at = lower.indexOf(sign, from);
  return at < 0 ? lower.length : at + sign.length;
}

/** Runs of white space are one space, empty lines at most one in a row. */
class Lines {
  readonly #parts: string[] = [];
  #atStart = true;

  add(text: string, preformatted: boolean): void {
    if (preformatted) {
      this.#parts.push(text);
      this.#atStart = text.endsWith('\n');
      return;
    }
    const plain = text.replaceAll(/[ \t\r\n\f]+/g, ' ');
    const shown = this.#atStart && plain.startsWith(' ') ? plain.slice(1) : plain;
    if (shown === '') return;
    this.#parts.push(shown);
    this.#atStart = shown.endsWith(' ');
  }

  endLine(): void {
    if (this.#parts.length > 0 && !this.#parts.at(-1)!.endsWith('\n')) this.#parts.push('\n');
    this.#atStart = true;
  }

  text(): string {
    const lines = this.#parts.join('').split('\n');
    const kept: string[] = [];
    for (const line of lines) {
      const trimmed = line.trimEnd();
      if (trimmed !== '' || (kept.length > 0 && kept.at(-1) !== '')) kept.push(trimmed);
    }
    return kept.join('\n').trimEnd();
  }
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  copy: '©',
  reg: '®',
  deg: '°',
  euro: '€',
  pound: '£',
  middot: '·',
  bull: '•',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  times: '×',
  larr: '←',
  rarr: '→',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  Auml: 'Ä',
  Ouml: 'Ö',
  Uuml: 'Ü',
  szlig: 'ß',
  eacute: 'é',
  egrave: 'è',
};

/** The usual ones and the numeric ones; others stay as they are. */
function withEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z]{2,6});/g, (whole, name) => {
    if (!name.startsWith('#')) return Object.hasOwn(entities, name) ? entities[name]! : whole;
    const hex = name[1] === 'x' || name[1] === 'X';
    const code = hex ? parseInt(name.slice(2), 16) : Number(name.slice(1));
    const known = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return known ? String.fromCodePoint(code) : '\uFFFD';
  });
}
