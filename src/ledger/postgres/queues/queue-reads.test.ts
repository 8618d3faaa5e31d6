import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hook } from '../../../../test/contract/ledger/kit.ts';
import type { ConversationId } from '../../../domain/ids.ts';
import { steadyNow } from '../../../lib/clock.ts';
import { WorkingSet } from '../../engine/working-set.ts';
import type { Reads } from '../deps.ts';
import { QueueReads } from './queue-reads.ts';
import { OwnedQueues } from './owned-queues.ts';

/** A read of a queue is under way. */
async function reading() {
  const rows = new WorkingSet({ now: Date.now, steady: steadyNow });
  const history = { taken() {}, left() {}, drop() {} };
  const queues = new OwnedQueues({ instance: 7, rows, history, steady: steadyNow });
  const { promise: answer, reject: fail } = Promise.withResolvers<never>();
  const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
  const ask = (): Promise<never> => {
    asked();
    return answer;
  };
  const reads: Reads = { ask, async [Symbol.asyncDispose]() {} };
  const faults: unknown[] = [];
  const failed = (error: unknown): void => void faults.push(error);
  const crashIsolation = { hold() {}, suspects: 0 };
  const untold = { now: Date.now, sooner() {} };
  const queueReads = new QueueReads({
    ...untold,
    rows,
    queues,
    history,
    reads,
    crashIsolation,
    failed,
  });
  queues.take({ channel: hook, conversation: 'ann' as ConversationId }, 1, 5);
  const run = queueReads.run();
  await isAsked;
  return { queues, run, fail: () => fail(new Error('no answer')), faults };
}

test('a queue that cannot be read is a fault', async () => {
  const { run, fail, faults } = await reading();
  fail();
  await run;
  assert.equal(faults.length, 1);
});

test('that a queue is not read when all are let go is none', async () => {
  const { queues, run, fail, faults } = await reading();
  queues.close();
  fail();
  await run;
  assert.deepEqual(faults, []);
});
