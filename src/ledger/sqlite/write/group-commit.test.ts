import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { sqliteLimits } from '../ledger/limits.ts';
import { GroupCommit } from './group-commit.ts';
import type { ToWriter } from './statements.ts';

/** A storage thread that ends at the first message it receives. */
const mortal = `require('node:worker_threads').parentPort.once('message', () => process.exit(0))`;

test('a storage thread that ends by itself fails what waits, and all that follows', async () => {
  const groupCommit = new GroupCommit(new Worker(mortal, { eval: true }), Infinity, sqliteLimits);
  const answers: string[] = [];
  groupCommit.onBroken((message) => answers.push(message));
  groupCommit.add(['owned']);
  const written = await new Promise((resolve) => groupCommit.flush(resolve));
  assert.equal(written, null);
  assert.equal(await new Promise((resolve) => groupCommit.flush(resolve)), null);
  assert.deepEqual(answers, ['the storage thread ended']);
  await groupCommit.close();
});

/**
 * A thread that writes each group, reports that it closes, and ends at the first message after
 * that.
 */
const orderly = `
  const { parentPort } = require('node:worker_threads');
  let closing = false;
  parentPort.on('message', (message) => {
    if (closing) return parentPort.close();
    closing = message.kind === 'close';
    if (closing) parentPort.postMessage({ kind: 'disk', freeBytes: 1 });
    else {
      const { number } = JSON.parse(message);
      parentPort.postMessage({ kind: 'done', number, known: [], reservings: [] });
    }
  });`;

test('what is asked of a group commit that closes is written, or told that it is not', async () => {
  const groupCommit = new GroupCommit(new Worker(orderly, { eval: true }), Infinity, sqliteLimits);
  groupCommit.onBroken((message) => assert.fail(message));
  const answers: string[] = [];
  const ask = async (when: string): Promise<void> => {
    groupCommit.add(['owned']);
    answers.push(`${when}: ${await groupCommit.written(() => {})}`);
  };
  const asking = [ask('before the close').then(() => ask('in answer to it'))];
  groupCommit.onDisk(() => void asking.push(ask('too late')));
  await groupCommit.close();
  await Promise.all(asking);
  await ask('after the close');
  assert.deepEqual(answers, [
    'before the close: true',
    'in answer to it: true',
    'too late: false',
    'after the close: false',
  ]);
});

/** A writer that never answers this kind of request. `ends`: whether it can be ended. */
function mute(about: 'a group' | 'the close', ends: boolean) {
  const writer = new EventEmitter();
  const postMessage = (message: ToWriter): void => {
    if (typeof message !== 'string' || about === 'a group') return;
    const { number } = JSON.parse(message) as { number: number };
    setImmediate(() => writer.emit('message', { kind: 'done', number, known: [], reservings: [] }));
  };
  const terminate = (): Promise<void> => (ends ? Promise.resolve() : new Promise(() => {}));
  return Object.assign(writer, { postMessage, terminate });
}

for (const about of ['a group', 'the close'] as const) {
  for (const ends of [true, false]) {
    const thread = ends ? 'a thread that ends' : 'one that does not';
    test(`a disk that never answers ${about} is closed in time, under ${thread}`, async () => {
      const groupCommit = new GroupCommit(mute(about, ends), Infinity, { closeMs: 20, endMs: 20 });
      const answers: string[] = [];
      groupCommit.onBroken((message) => answers.push(message));
      groupCommit.add(['owned']);
      const written = groupCommit.written(() => {});
      if (about === 'the close') assert.equal(await written, true);
      assert.equal(await groupCommit.close(), ends);
      assert.equal(await written, about === 'the close');
      assert.deepEqual([answers, groupCommit.silent], [['it did not close in time'], true]);
    });
  }
}
