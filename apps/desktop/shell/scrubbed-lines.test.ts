import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LastLines, scrubByShape } from './core-supervisor.ts';

test('what has the shape of a secret is taken out, and words and paths stay', () => {
  const token = `123456789:${'aB3'.repeat(12)}`;
  assert.equal(
    scrubByShape(`Error: 401 for bot${token}!`),
    'Error: 401 for bot123456789:[secret]!',
  );
  assert.equal(scrubByShape(`sk-proj-${'x9'.repeat(20)} is wrong`), '[secret] is wrong');
  const stack = '    at file:///usr/lib/svc/dist/main.js:12:34 ERR_SQLITE_ERROR';
  assert.equal(scrubByShape(stack), stack);
  assert.equal(scrubByShape('\u001B[31mred\u001B[0m \u0007bell'), ' red   bell');
});

test('lines come whole, the last of them are kept, and one without an end counts', () => {
  const told: string[] = [];
  const lines = new LastLines((line) => told.push(line));
  lines.take('one\ntw');
  lines.take('o\n\n');
  assert.deepEqual(told, ['one', 'two']);
  for (let index = 0; index < 50; index++) lines.take(`line ${index}\n`);
  lines.take('no end');
  const kept = lines.end();
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [40, 'line 11', 'no end']);
  lines.take('x'.repeat(1_000_000));
  assert.ok(lines.end().every((line) => line.length <= 1_000));
});
