/** A diff contains both texts, and is small when lines are equal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffLines, folded, type DiffLine } from './line-diff.ts';

const side = (lines: readonly DiffLine[], without: 'added' | 'removed'): string[] =>
  lines.filter(({ kind }) => kind !== without).map(({ text }) => text);

test('both texts can be read out of a diff, whatever they are', () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const some = (): string[] => Array.from({ length: random(30) }, () => `line ${random(6)}`);
  for (let round = 0; round < 500; round++) {
    const [old, now] = [some(), some()];
    const lines = diffLines(old.join('\n'), now.join('\n'));
    const told = `round ${round} of seed 7`;
    assert.deepEqual(side(lines, 'added'), old, told);
    assert.deepEqual(side(lines, 'removed'), now, told);
    const numbers = lines.flatMap(({ now: number }) => (number === null ? [] : [number]));
    assert.deepEqual(
      numbers,
      now.map((_, index) => index + 1),
      told,
    );
  }
});

test('one changed line is one removed and one added', () => {
  const lines = diffLines('a\nb\nc\n', 'a\nB\nc\n');
  assert.deepEqual(
    lines.map(({ kind, text }) => `${kind} ${text}`),
    ['same a', 'removed b', 'added B', 'same c'],
  );
});

test('a diff has as few changes as there can be, and what is gone comes before what is new', () => {
  const lines = diffLines('a\n\nb\nc\nd\n', 'a\n\nx\ny\nd\ne\n');
  assert.deepEqual(
    lines.map(({ kind, text, old, now }) => `${old ?? '-'} ${now ?? '-'} ${kind} ${text}`),
    [
      '1 1 same a',
      '2 2 same ',
      '3 - removed b',
      '4 - removed c',
      '- 3 added x',
      '- 4 added y',
      '5 5 same d',
      '- 6 added e',
    ],
  );
});

test('what differs in the ends of its lines alone is the same', () => {
  assert.ok(diffLines('a\r\nb\r\n', 'a\nb').every(({ kind }) => kind === 'same'));
});

test('lines far from a change are folded', () => {
  const old = Array.from({ length: 20 }, (_, index) => `line ${index}`);
  const now = old.with(10, 'another');
  const shown = folded(diffLines(old.join('\n'), now.join('\n')), 2);
  assert.deepEqual(
    shown.map((one) => (one.kind === 'gap' ? one.lines : one.kind)),
    [8, 'same', 'same', 'removed', 'added', 'same', 'same', 7],
  );
});

test('texts that have nothing in common are told whole, and soon', () => {
  const text = (word: string): string =>
    Array.from({ length: 3_000 }, (_, index) => `${word} ${index}`).join('\n');
  const lines = diffLines(text('old'), text('new'));
  assert.equal(lines.length, 6_000);
  assert.ok(
    lines.slice(0, 3_000).every(({ kind, old }, at) => kind === 'removed' && old === at + 1),
  );
  assert.ok(lines.slice(3_000).every(({ kind, now }, at) => kind === 'added' && now === at + 1));
});

test('many changes in long texts are found one by one', () => {
  const old = Array.from({ length: 5_000 }, (_, index) => `line ${index}`);
  const now = old.map((line, index) => (index % 12 === 0 ? `${line}!` : line));
  const lines = diffLines(old.join('\n'), now.join('\n'));
  assert.equal(lines.filter(({ kind }) => kind === 'same').length, 4_583);
});
