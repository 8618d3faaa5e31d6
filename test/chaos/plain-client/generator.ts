/** Random answers: most are nearly right, since every parser rejects a very wrong one. */
import { seeded } from '../proof.ts';
import { codings, headerLines, headLines, lengths, sizes } from './corpus.ts';
import type { Case } from './sides.ts';

/** Replacements of a byte. */
const marks = '\r\n\t :;,0159afAFxX"=-+\0\x01\x0b\x7f\x80\xff'.split('');
const plainHeaders = [
  'Content-Type: application/json',
  'Date: Mon, 01 Jan 2026 00:00:00 GMT',
  'Connection: keep-alive',
  'Keep-Alive: timeout=5',
  'Server: one/2.3',
  'Retry-After: 3',
];
const endings = ['open', 'open', 'end', 'reset'] as const;

class Dice {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  is(share: number): boolean {
    return this.#random() < share;
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}

/** The same for the same seed and number. */
export function caseOf(seed: number, number: number): Case {
  const dice = new Dice(seeded(Math.imul(seed, 0x9e37_79b1) ^ number));
  let text = answer(dice);
  for (let spoilt = dice.is(0.4) ? 1 + dice.below(3) : 0; spoilt > 0; spoilt--) {
    text = spoil(dice, text);
  }
  return {
    reads: cut(dice, Buffer.from(text, 'latin1')),
    ending: dice.of(endings),
    unasked: dice.is(0.15) ? Buffer.from(unasked(dice), 'latin1') : null,
    atOnce: dice.is(0.3),
    slowLoad: dice.is(0.2),
    ...(dice.is(0.15) ? { bodyBytesMax: dice.below(24) } : {}),
    ...(dice.is(0.15) ? { discardBody: true } : {}),
  };
}

function answer(dice: Dice): string {
  let text = '';
  while (dice.is(0.08))
    text += `HTTP/1.1 ${dice.of(['103 Early', '102 Wait', '100 Continue'])}\r\n\r\n`;
  const status = dice.of(['200 OK', '202 Accepted', '204 No Content', '404 Not Found', '503 No']);
  text += dice.is(0.9) ? `HTTP/1.1 ${status}\r\n` : `${dice.of(headLines)}\r\n`;
  const content = body(dice);
  const lines: string[] = [];
  for (let more = dice.below(4); more > 0; more--) lines.push(dice.of(plainHeaders));
  if (dice.is(0.15)) lines.push(dice.of(headerLines.filter(({ length }) => length < 1_000)));
  let framed = content;
  const framing = dice.below(20);
  if (framing < 9) lines.push(`Content-Length: ${content.length}`);
  else if (framing < 17) {
    lines.push(`Transfer-Encoding: ${dice.is(0.9) ? 'chunked' : dice.of(codings)}`);
    framed = chunks(dice, content);
  } else if (framing === 17) lines.push(`Content-Length: ${dice.of(lengths)}`);
  else if (framing === 18) {
    lines.push(`Content-Length: ${content.length}`, `Transfer-Encoding: ${dice.of(codings)}`);
    if (dice.is(0.5)) framed = chunks(dice, content);
  }
  // Last or first: a line before the framing may change its meaning.
  if (dice.is(0.5)) lines.reverse();
  text += `${lines.map((line) => `${line}\r\n`).join('')}\r\n${framed}`;
  return dice.is(0.1) ? text + unasked(dice) : text;
}

function body(dice: Dice): string {
  let text = '';
  for (let left = dice.below(30); left > 0; left--) {
    text += dice.is(0.2) ? dice.of(marks) : String.fromCodePoint(0x61 + dice.below(26));
  }
  return text;
}

function chunks(dice: Dice, content: string): string {
  let text = '';
  for (let at = 0; at < content.length;) {
    const size = 1 + dice.below(content.length - at);
    const written = dice.is(0.1) ? size.toString(16).toUpperCase() : size.toString(16);
    const line = dice.is(0.95)
      ? written
      : dice.of([`${written};a=b`, `0${written}`, dice.of(sizes)]);
    text += `${line}\r\n${content.slice(at, at + size)}\r\n`;
    at += size;
  }
  return `${text}0\r\n${dice.is(0.05) ? 'X-T: a\r\n' : ''}\r\n`;
}

function unasked(dice: Dice): string {
  const next = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad';
  return dice.of(['\r\n', '\r', '\n\n', ' ', 'x', 'HTTP', next, `\r\n${next}`]);
}

function spoil(dice: Dice, text: string): string {
  const at = dice.below(text.length);
  const [before, rest] = [text.slice(0, at), text.slice(at)];
  switch (dice.below(4)) {
    case 0:
      return before + dice.of(marks) + rest.slice(1);
    case 1:
      return before + dice.of(marks) + rest;
    case 2:
      return before + rest.slice(1 + dice.below(3));
    default:
      return before + rest.slice(0, 1 + dice.below(12)) + rest;
  }
}

function cut(dice: Dice, bytes: Buffer): readonly Buffer[] {
  if (dice.is(0.5)) return [bytes];
  const places = Array.from({ length: 1 + dice.below(4) }, () => dice.below(bytes.length + 1));
  const all = [0, ...places, bytes.length].toSorted((one, other) => one - other);
  return all.slice(1).map((end, at) => bytes.subarray(all[at], end));
}
