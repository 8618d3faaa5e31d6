import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { locate, type Json, type Place } from './locate.ts';

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
test.before(() => console.log(`seed ${seed}`));

/** A place as its contents in the text: the key, the value, and all places inside. */
type PlaceContents = {
  readonly key: unknown;
  readonly value: unknown;
  readonly entries: readonly PlaceContents[];
};

function contentsOf(text: string, place: Place): PlaceContents {
  const { key, keyEnd, value, end, name, entries } = place;
  const written = key === keyEnd ? null : JSON.parse(text.slice(key, keyEnd));
  assert.deepEqual(written, name);
  if (name === null) assert.equal(key, value);
  const inner = entries.map((entry) => contentsOf(text, entry));
  return { key: written, value: JSON.parse(text.slice(value, end)), entries: inner };
}

function expectedOf(key: string | null, value: unknown): PlaceContents {
  const members = Array.isArray(value)
    ? value.map((entry) => expectedOf(null, entry))
    : typeof value === 'object' && value !== null
      ? Object.entries(value).map(([name, entry]) => expectedOf(name, entry))
      : [];
  return { key, value, entries: members };
}

test('every key and every value stands where its place says', () => {
  const texts = fc.tuple(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom('', ' ', '\t', '  \r\n'));
  const all = fc.property(texts, ([any, space]) => {
    const value: unknown = JSON.parse(JSON.stringify(any));
    const text = `${space}${JSON.stringify(value, null, space.trimEnd())}${space}`;
    const { whole, places } = locate(text);
    assert.deepEqual(contentsOf(text, whole!), expectedOf(null, value));
    assert.equal(places.get(''), whole);
  });
  fc.assert(all, { seed, numRuns: 200 });
});

test('a key that is written twice has two places, and the path leads to the last', () => {
  const text = '\uFEFF{ "a": [1, 22], "a" : {"b": null} }';
  const { whole, places, value } = locate(text);
  assert.deepEqual(
    whole!.entries.map(({ name, key, value: at, end }) => [
      name,
      text.slice(key, at),
      text.slice(at, end),
    ]),
    [
      ['a', '"a": ', '[1, 22]'],
      ['a', '"a" : ', '{"b": null}'],
    ],
  );
  assert.equal(places.get('a'), whole!.entries[1]);
  assert.equal(places.get('a[1]'), whole!.entries[0]!.entries[1]);
  assert.equal(JSON.stringify(value satisfies Json | undefined), '{"a":{"b":null}}');
});

test('what is no JSON has no places', () => {
  for (const text of [
    '',
    '{',
    '[1,]',
    '{"a" 1}',
    '1 2',
    '// x\n1',
    `${'['.repeat(65)}${']'.repeat(65)}`,
  ]) {
    const { whole, places } = locate(text);
    assert.deepEqual([whole, places.size], [null, 0], text);
  }
});
