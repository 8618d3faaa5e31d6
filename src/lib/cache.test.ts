import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cache, setNewest } from './cache.ts';

test('it never holds more than its weight, but for the newest value', () => {
  const cache = new Cache<number, string>(100);
  for (let key = 0; key < 1_000; key++) {
    cache.put(key, 'x', 7);
    assert.ok(cache.weight <= 100 + 7, String(cache.weight));
  }
});

test('what is used stays, what is not used goes', () => {
  const cache = new Cache<string, number>(100);
  cache.put('used', 1, 10);
  cache.put('unused', 2, 10);
  for (let key = 0; key < 50; key++) {
    cache.put(`other ${key}`, key, 10);
    assert.equal(cache.get('used'), 1);
  }
  assert.equal(cache.get('unused'), undefined);
});

test('a value that changes takes the place and the weight of the one before', () => {
  const cache = new Cache<string, number>(100);
  cache.put('a', 1, 10);
  cache.put('a', 2, 30);
  assert.equal(cache.get('a'), 2);
  assert.equal(cache.weight, 30);
});

test('a map that is set anew keeps its newest entries', () => {
  const map = new Map([
    ['a', 1],
    ['b', 2],
  ]);
  setNewest(map, 'a', 3, 2);
  setNewest(map, 'c', 4, 2);
  assert.deepEqual(
    [...map],
    [
      ['a', 3],
      ['c', 4],
    ],
  );
});
