import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compose, sizeOf } from './compose.ts';
import { Waiting } from './waiting.ts';
import type { AcceptWrite } from './accepts.ts';
import type { Write } from './writes.ts';

const million = 1024 * 1024;

test('what is long goes in several batches, in order', () => {
  const waiting = new Waiting<number, null>((size) => size);
  const sizes = [5, 3, 1, 20, 1, 1].map((size) => size * million);
  for (const size of sizes) {
    waiting.add(size);
    waiting.wait({ written() {}, refused: null });
  }
  const batches: (readonly number[])[] = [];
  while (waiting.hasMore) {
    waiting.send();
    batches.push(waiting.sent!);
    waiting.landed();
  }
  assert.deepEqual(batches, [
    sizes.slice(0, 2),
    sizes.slice(2, 3),
    sizes.slice(3, 4),
    [million, million],
  ]);
});

test('who may conflict with others goes alone, and is told', () => {
  const waiting = new Waiting<number, null>(() => 0);
  const told: number[] = [];
  for (const [at, alone] of [false, false, true, true, false].entries()) {
    waiting.add(at);
    const conflicted = (): void => void told.push(at);
    waiting.wait({ written() {}, refused: null, ...(alone ? { conflicted } : {}) });
  }
  const batches: (readonly number[])[] = [];
  for (; waiting.hasMore; waiting.landed()) {
    waiting.send();
    batches.push(waiting.sent!);
    if (waiting.sent![0] !== 3) continue;
    waiting.takeOutConflicted();
    assert.deepEqual(waiting.sent, []);
  }
  assert.deepEqual(batches, [[0, 1], [2], [3], [4]]);
  assert.deepEqual(told, [3]);
});

test('so many of the longest messages at once become texts that can be', () => {
  const body = '"'.repeat(million);
  const waiting = new Waiting<Write, null>(sizeOf);
  for (let n = 0; n < 300; n++) {
    const place = { id: `${n}`, channel: 'webhook', conversation: `${n}`, at: 0, sender: 's' };
    const write: AcceptWrite = {
      kind: 'accept',
      ...place,
      private: false,
      body,
      key: null,
      expiresAt: 0,
      fingerprint: null,
    };
    waiting.add(write);
    waiting.wait({ written() {}, refused: null });
  }
  waiting.send();
  const { statements } = compose(waiting.sent!, { instance: 1, takes: true, takesSuspects: true });
  for (const { values } of statements) assert.ok(String(values[0]).length < 20 * million);
});
