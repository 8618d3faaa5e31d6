import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChannelKey } from '../../domain/ids.ts';
import type { CursorMove } from '../ledger.ts';
import { Cursors } from './cursors.ts';

const channel = 'webhook' as ChannelKey;
const to = (value: string, expected?: string | null): CursorMove => {
  const move = { channel, name: 'offset', value };
  return expected === undefined ? move : { ...move, expected };
};

/** Cursors over a storage whose reads the test resolves. */
function slow(isShared = false) {
  const reads: PromiseWithResolvers<string | null>[] = [];
  const cursors = new Cursors(() => {
    const read = Promise.withResolvers<string | null>();
    reads.push(read);
    return read.promise;
  }, isShared);
  return { cursors, reads, value: async () => cursors.of(channel, 'offset') };
}

test('a read that a refused move overtook says nothing of where the cursor stands', async () => {
  const { cursors, reads, value } = slow();
  const early = value();
  const [first, second] = [to('1'), to('2')];
  cursors.move([first]);
  cursors.landed([first]);
  cursors.move([second]);
  cursors.refused([second]);
  // This read began before the first move.
  reads[0]!.resolve(null);
  await new Promise(setImmediate);
  assert.equal(cursors.move([to('3', null)]), false);
  for (const { resolve } of reads.slice(1)) resolve('1');
  assert.equal(await early, '1');
  assert.equal(cursors.move([to('3', '1')]), true);
});

test('a read for a move that expects something may fail', async () => {
  const { cursors, reads, value } = slow();
  assert.equal(cursors.move([to('1', null)]), false);
  reads[0]!.reject(new Error('the storage is closed'));
  await new Promise(setImmediate);
  const again = value();
  reads[1]!.reject(new Error('the storage is closed'));
  await assert.rejects(again, /the storage is closed/);
});

test('where others move a cursor, too, it is read each time and compared elsewhere', async () => {
  const { cursors, reads, value } = slow(true);
  const first = to('1', 'nowhere');
  assert.equal(cursors.move([first]), true, 'the storage knows');
  assert.equal(await value(), '1', 'it is on its way');
  assert.equal(cursors.move([to('2', 'nowhere')]), false);
  const second = to('2', '1');
  assert.equal(cursors.move([second]), true);
  cursors.landed([first]);
  assert.equal(await value(), '2');
  cursors.refused([second]);
  for (const stored of ['1', 'another']) {
    const read = value();
    reads.at(-1)!.resolve(stored);
    assert.equal(await read, stored);
  }
  assert.equal(reads.length, 2);
  const overtaken = value();
  const third = to('3', 'another');
  cursors.move([third]);
  cursors.landed([third]);
  reads[2]!.resolve('another');
  await new Promise(setImmediate);
  reads[3]!.resolve('3');
  assert.equal(await overtaken, '3');
});
