import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue } from './fair-queue.ts';

function all(queue: FairQueue<string>): readonly string[] {
  const taken: string[] = [];
  for (let first = queue.first(); first !== undefined; first = queue.first()) {
    assert.equal(queue.shift(), first);
    taken.push(first);
  }
  return taken;
}

test('each who waits has one taken in turn, and what is theirs in order', () => {
  const queue = new FairQueue<string>();
  for (const item of ['ann 1', 'ann 2', 'ann 3', 'bob 1', 'cleo 1', 'bob 2']) {
    queue.push(item.split(' ', 1)[0]!, item);
  }
  assert.equal(queue.shift(), 'ann 1');
  queue.push('dora', 'dora 1');
  assert.deepEqual(all(queue), ['bob 1', 'cleo 1', 'ann 2', 'dora 1', 'bob 2', 'ann 3']);
  assert.equal(queue.shift(), undefined);
});

test('who leaves with all that is theirs has no turn', () => {
  const queue = new FairQueue<string>();
  for (const item of ['ann 1', 'bob 1', 'bob 2']) queue.push(item.split(' ', 1)[0]!, item);
  assert.equal(queue.delete('ann', 'ann 1'), true);
  assert.equal(queue.delete('ann', 'ann 1'), false);
  assert.equal(queue.delete('bob', 'bob 1'), true);
  assert.deepEqual(all(queue), ['bob 2']);
});
