import { normalized, withoutTrailingZeros } from './normalized-text.ts';

const depthMax = 64;

/** As TypeScript's library knows it: without the third argument, which gives a value's source. */
type Reviver = (key: string, value: unknown) => unknown;

/**
 * One spelling of a JSON object or array: keys sorted, no layout, strings and numbers normalized.
 * @returns null when the text is no such value, or nests deeper than 64
 */
export function canonicalAnswer(text: string): string | null {
  if (!/^[[{]/.test(text) || !/[\]}]$/.test(text) || depthOf(text) > depthMax) return null;
  try {
    return written(JSON.parse(text, keepNumber as Reviver));
  } catch {
    return null;
  }
}

/** A number by its digits, for the value that JSON.parse makes of them has fewer. */
class Digits {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

function keepNumber(_key: string, value: unknown, context: { source?: string }): unknown {
  return typeof value === 'number' ? new Digits(context.source ?? String(value)) : value;
}

function written(value: unknown): string {
  if (value instanceof Digits) return writtenNumber(value.text);
  if (typeof value === 'string') return JSON.stringify(normalized(value));
  if (Array.isArray(value)) return `[${value.map(written).join(',')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const members = entries.map(([key, member]) => `${JSON.stringify(key)}:${written(member)}`);
  return `{${members.join(',')}}`;
}

function writtenNumber(digits: string): string {
  if (!/[eE]/.test(digits)) return digits.includes('.') ? withoutTrailingZeros(digits) : digits;
  const value = Number(digits);
  return Number.isFinite(value) && value !== 0 ? String(value) : digits.toLowerCase();
}

/** How deep brackets nest, those inside of strings left out: a bound, not a parse. */
function depthOf(text: string): number {
  let depth = 0;
  let most = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') quoted = !quoted;
    else if (quoted) at += char === '\\' ? 1 : 0;
    else if (char === '[' || char === '{') most = Math.max(most, ++depth);
    else if (char === ']' || char === '}') depth--;
  }
  return most;
}
