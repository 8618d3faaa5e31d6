/** Normalizes the text of answers, so that the consensus policy can compare them. */
import { withoutThinkBlock } from '../../domain/think-block.ts';

const invisible = /[\u00ad\u200b\u2060\ufeff]/g;
const single = /[\u2018-\u201b\u2032]/g;
const double = /[\u201c-\u201f\u2033\u00ab\u00bb]/g;
const dash = /[\u2010-\u2015\u2212\u2e3a\u2e3b]/g;
// Digits after a dot or a comma belong to something longer, such as "..5" or a version.
const fraction = /(?<![\p{L}\d.,])\d*\.\d+(?![\p{L}\d]|[.,]\d)/gu;
// NFKC turns the last two letters into marks.
const crowd = /([\p{M}\uff9e\uff9f]{31,})/u;

/** The text with normalized case, width, quotes, dashes, spaces and fractions. Idempotent. */
export function normalized(text: string): string {
  return composed(composed(text.replace(invisible, '')).toLowerCase())
    .replace(single, "'")
    .replace(double, '"')
    .replace(dash, '-')
    .replace(/\s+/g, ' ')
    .replace(fraction, withoutTrailingZeros);
}

/**
 * Applies NFKC, except to runs of more than 30 combining marks. Such a run takes quadratic time (a
 * minute for half a megabyte), and no language has one. UAX #15 has the same limit for its
 * stream-safe format. The text around a run is composed, so a part of a normalized text is
 * normalized.
 */
function composed(text: string): string {
  const parts = text.split(crowd);
  return parts.map((part, at) => (at % 2 === 0 ? part.normalize('NFKC') : part)).join('');
}

/** `2.50` gives `2.5`, `2.0` gives `2`, `.5` gives `0.5`. Not for versions such as `1.2.0`. */
export function withoutTrailingZeros(number: string): string {
  let end = number.length;
  while (number[end - 1] === '0') end--;
  if (number[end - 1] === '.') end--;
  const kept = number.slice(0, end);
  if (kept === '') return '0';
  return kept.startsWith('.') ? `0${kept}` : kept;
}

const label = /(\*\*|__|\*|_|)(?:final )?answer(?::\1|\1:) ?/y;
const closings: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/**
 * Removes the markup around a normalized text, layer by layer from both ends, until none is left.
 * The cost of each step is proportional to the removed text, so the whole is linear. The text is
 * never copied. The counts of marks and the pairs of brackets inside it are computed once.
 */
export class MarkupStripper {
  readonly #text: string;
  readonly #counts: Record<string, number> = { '*': 0, _: 0, '`': 0, "'": 0, '"': 0 };
  #left = 0;
  #right: number;
  #partners: Int32Array | null = null;

  constructor(text: string) {
    this.#text = text;
    this.#right = text.length;
    for (let at = 0; at < text.length; at++) this.#count(at, 1);
  }

  /** `lists`: also square and curly brackets, which may belong to JSON. */
  peel(what: 'marks' | 'marks and lists'): string {
    const brackets = what === 'marks' ? '(' : '([{';
    while (this.#right > this.#left && this.#peelOne(brackets)) continue;
    return this.#text.slice(this.#left, this.#right);
  }

  #peelOne(brackets: string): boolean {
    const first = this.#text[this.#left]!;
    const last = this.#text[this.#right - 1]!;
    if (first === ' ') return this.#drop(1, 0);
    if (last === ' ' || '.,;:!…'.includes(last)) return this.#drop(0, 1);
    if (first === '<' && this.#peelThinking()) return true;
    if ('*_`'.includes(first) && this.#peelEmphasis(first)) return true;
    if (`"'`.includes(first) && first === last && this.#counts[first] === 2) {
      return this.#drop(1, 1);
    }
    if (brackets.includes(first) && closings[first] === last && this.#wraps()) {
      return this.#drop(1, 1);
    }
    label.lastIndex = this.#left;
    const labelled = label.exec(this.#text);
    if (labelled === null || label.lastIndex > this.#right) return false;
    return this.#drop(labelled[0].length, 0);
  }

  #peelThinking(): boolean {
    const text = this.#text.slice(this.#left, this.#right);
    return this.#drop(text.length - withoutThinkBlock(text).length, 0);
  }

  /** Removes the same run of one mark at both ends, if the mark is nowhere between. */
  #peelEmphasis(mark: string): boolean {
    const run = this.#counts[mark]! / 2;
    if (!Number.isInteger(run) || this.#right - this.#left <= 2 * run) return false;
    for (let at = 0; at < run; at++) if (this.#text[this.#left + at] !== mark) return false;
    for (let at = 1; at <= run; at++) if (this.#text[this.#right - at] !== mark) return false;
    return this.#drop(run, run);
  }

  /** Whether the bracket at the left end belongs to the one at the right end. */
  #wraps(): boolean {
    this.#partners ??= partnersOf(this.#text);
    return this.#partners[this.#left] === this.#right - 1;
  }

  #drop(left: number, right: number): boolean {
    for (let at = 0; at < left; at++) this.#count(this.#left + at, -1);
    for (let at = 1; at <= right; at++) this.#count(this.#right - at, -1);
    this.#left += left;
    this.#right -= right;
    return left + right > 0;
  }

  #count(at: number, by: number): void {
    const char = this.#text[at]!;
    const count = this.#counts[char];
    if (count !== undefined) this.#counts[char] = count + by;
  }
}

/** For each opening bracket, the place of its closing bracket; 0: none. */
function partnersOf(text: string): Int32Array {
  const partners = new Int32Array(text.length);
  const open: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char in closings) open.push(at);
    else if (char === ')' || char === ']' || char === '}') {
      const from = open.pop();
      if (from !== undefined && closings[text[from]!] === char) partners[from] = at;
    }
  }
  return partners;
}
