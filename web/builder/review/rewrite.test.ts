/** A rewritten text has the other document's values; the rest of it stays the same. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { JsonObject } from '../../../src/config/locate.ts';
import { templates, textOf } from '../../../src/config/templates/templates.ts';
import { rewrite } from './rewrite.ts';

const root = join(import.meta.dirname, '../../..');
const examples = globSync('examples/*.json', { cwd: root }).map((file) => {
  return readFileSync(join(root, file), 'utf8');
});
const read = (text: string): JsonObject => JSON.parse(text) as JsonObject;

test('every example can become every other one, and every template', () => {
  const targets = [...examples.map(read), ...templates.map(({ document }) => document)];
  for (const text of examples) {
    assert.equal(rewrite(text, read(text)), text, 'what says it already stays as it is');
    for (const target of targets) assert.deepEqual(read(rewrite(text, target)), target);
  }
});

test('entries that moved and one that changed leave the rest of the text alone', () => {
  const before = `{"_note": "mine",
  "brains": [ {"name":"a", "x": 1},   {"name": "b" , "y": [1,  2]} ]
}`;
  const b = { name: 'b', y: [1, 2] };
  const target = { _note: 'mine', brains: [b, { name: 'a', x: 2 }] };
  const after = rewrite(before, target);
  assert.deepEqual(read(after), target);
  assert.ok(after.includes('{"name": "b" , "y": [1,  2]}'), after);
  assert.ok(after.startsWith('{"_note": "mine",\n'), after);
});

test('a list may lose all its entries and win others', () => {
  const text = textOf({ brains: [{ name: 'a' }, { name: 'b' }] });
  const target = { brains: [{ name: 'c' }, { name: 'd' }, { name: 'e' }] };
  assert.deepEqual(read(rewrite(text, target)), target);
  assert.deepEqual(read(rewrite(text, { brains: [] })), { brains: [] });
});
