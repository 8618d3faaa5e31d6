import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { Journal } from './journal.ts';

/** A storage thread that ends at the first thing that it is sent. */
const mortal = `require('node:worker_threads').parentPort.once('message', () => process.exit(0))`;

test('a storage thread that ends by itself fails what waits, and all that follows', async () => {
  const journal = new Journal(new Worker(mortal, { eval: true }), Infinity);
  const told: string[] = [];
  journal.onBroken((message) => told.push(message));
  journal.add(['owned']);
  const written = await new Promise((resolve) => journal.flush(resolve));
  assert.equal(written, null);
  assert.equal(await new Promise((resolve) => journal.flush(resolve)), null);
  assert.deepEqual(told, ['the storage thread ended']);
  await journal.close();
});
