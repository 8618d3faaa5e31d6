import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as hold, constantFrom, integer, property, tuple } from 'fast-check';
import { splitText, type Part } from './splitting.ts';
import { anyText } from '../../../test/support/any-text.ts';
import { runs } from '../../../test/support/runs.ts';

const utf16 = (text: string): number => text.length;
const points = (text: string): number => Array.from(text).length;
const bytes = (text: string): number => Buffer.byteLength(text);

const cut = (text: string, unitsMax: number, fences = true): readonly string[] =>
  splitText(text, { unitsMax, unitsOf: utf16, fences }).map((part) => part.text);

test('what fits is one part, as it is', () => {
  assert.deepEqual(cut('hello\n\nworld', 64), ['hello\n\nworld']);
  assert.deepEqual(cut('', 64), []);
  assert.deepEqual(cut(' \n\t\n', 64), []);
});

test('a text is cut between paragraphs, else between lines, else between words', () => {
  const [a, b] = ['a'.repeat(40), 'b'.repeat(40)];
  assert.deepEqual(cut(`${a}\nx\n\n${b}`, 64), [`${a}\nx`, b]);
  assert.deepEqual(cut(`${a} x\n${b}`, 64), [`${a} x`, b]);
  assert.deepEqual(cut(`${a} ${b}`, 64), [a, b]);
  assert.deepEqual(cut('c'.repeat(100), 64), ['c'.repeat(64), 'c'.repeat(36)]);
});

test('a paragraph that would leave a small part is not cut there', () => {
  const long = `Yes.\n\n${'word '.repeat(20).trim()}`;
  assert.ok(cut(long, 64)[0]!.length > 50);
});

test('the next line keeps its indentation', () => {
  const list = `- ${'a'.repeat(50)}\n  - ${'b'.repeat(50)}`;
  assert.equal(cut(list, 64)[1], `  - ${'b'.repeat(50)}`);
});

test('a code block is closed at the cut and opened again with its language', () => {
  const lines = Array.from({ length: 6 }, (_, i) => `  const line${i} = ${i};`);
  const parts = cut(`See:\n\n\`\`\`ts title=x\n${lines.join('\n')}\n\`\`\`\nDone.`, 96);
  assert.ok(parts.length > 1);
  for (const part of parts.slice(0, -1)) assert.ok(part.endsWith('\n```'), part);
  for (const part of parts.slice(1)) assert.ok(part.startsWith('```ts title=x\n  const'), part);
  assert.equal(parts.at(-1)!.endsWith('\n```\nDone.'), true);
  for (const line of lines) assert.equal(parts.filter((part) => part.includes(line)).length, 1);
});

test('a block is never cut right behind its opening or right before its end', () => {
  const text = `${'a'.repeat(50)}\n~~~~\n${'b'.repeat(12)}\n~~~\n${'c'.repeat(40)}\n~~~~\nend`;
  const parts = cut(text, 72);
  for (const part of parts) assert.doesNotMatch(part, /~~~~\n(~~~~|$)/);
});

test('fences of a rendered text are text', () => {
  const text = `\`\`\`ts\n${'a b '.repeat(30)}\n\`\`\``;
  assert.equal(cut(text, 64, false).join(' ').replaceAll('\n', ' ').split('```').length, 3);
});

const words = [
  'word',
  ' ',
  '  ',
  '\n',
  '\n\n',
  '😀',
  'é',
  'a'.repeat(70),
  '- item\n',
  '\t',
  '\uD83D',
];
const fencings = ['```', '```js', '~~~~', '\n```\n', '\n```py x\n', '`', '\r\n'];
const pieces = constantFrom(...words, ...fencings);
const texts = tuple(
  array(pieces, { maxLength: 120, size: 'max' }),
  anyText({ maxLength: 200, size: 'max' }),
);

test('no part is blank, too long or cut in a character, and only white space is lost', () => {
  const law = property(
    texts,
    integer({ min: 64, max: 300 }),
    constantFrom(utf16, points, bytes),
    constantFrom(true, false),
    ([many, tail], unitsMax, unitsOf, fences) => {
      const text = many.join('') + tail;
      const parts = splitText(text, { unitsMax, unitsOf, fences });
      for (const part of parts) {
        assert.notEqual(part.text.trim(), '');
        assert.ok(unitsOf(part.text) <= unitsMax, `${unitsOf(part.text)} of ${unitsMax}`);
        assert.ok(part.text.includes(text.slice(part.from, part.to)));
        assert.ok(!text.isWellFormed() || part.text.isWellFormed());
      }
      assert.equal(lostOf(text, parts).trim(), '');
    },
  );
  hold(law, { numRuns: runs(1_000) });
});

/** The characters of the text that no part contains. */
function lostOf(text: string, parts: readonly Part[]): string {
  let lost = '';
  let at = 0;
  for (const { from, to } of parts) {
    assert.ok(from >= at && to > from);
    lost += text.slice(at, from);
    at = to;
  }
  return lost + text.slice(at);
}

const plain = ['word', 'two words', '', '  - item', 'x = 1;', '    indented', '1234567890123456'];
const edges = ['```', '```', '```js', '~~~~', '~~~ py', '~~~~~', '``` no `fence`'];
const lines = constantFrom(...plain, ...edges);

test('every line stands in the code block, or outside, where it stood before the cuts', () => {
  const law = property(
    array(lines, { minLength: 1, maxLength: 60, size: 'max' }),
    integer({ min: 64, max: 200 }),
    (source, unitsMax) => {
      const parts = cut(source.join('\n'), unitsMax).map((part) => part.split('\n'));
      assert.deepEqual(parts.flatMap(placesOf), placesOf(source));
      for (const part of parts.slice(0, -1)) assert.equal(openAtEnd(part), null);
    },
  );
  hold(law, { numRuns: runs(1_000) });
});

/** For each line that is no fence: the opening of its block. */
function placesOf(source: readonly string[]): readonly string[] {
  let open: string | null = null;
  const places: string[] = [];
  for (const line of source) {
    const after = fenceAfter(open, line);
    if (after === open && line.trim() !== '') places.push(`${open ?? 'text'}: ${line.trimEnd()}`);
    open = after;
  }
  return places;
}

function openAtEnd(source: readonly string[]): string | null {
  return source.reduce(fenceAfter, null);
}

/** The line that opened the block behind this line; null: no block is open. */
function fenceAfter(open: string | null, line: string): string | null {
  const [, marker] = /^(```+|~~~+)[^`]*$/.exec(line) ?? [];
  if (marker === undefined) return open;
  if (open === null) return line.replace(/(?<=[`~]) /, '');
  return marker === line && marker.startsWith(/^[`~]+/.exec(open)![0]) ? null : open;
}
