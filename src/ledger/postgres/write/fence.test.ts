/** The fence: which instance may not write any more, and the error that it gets. */
import assert from 'node:assert/strict';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { takeInstance } from '../../../../test/fake/postgres/former-instance.ts';
import {
  goneProcess,
  markStatement,
  Marks,
  placesOf,
} from '../../../../test/fake/postgres/marks.ts';
import type { Writer } from './writer.ts';
import { until } from '../../../../test/support/waiting.ts';

postgresTest('who takes over waits for the batch under way, and ends all after it', async () => {
  await using marks = await Marks.open();
  const writer = await marks.writer();
  const letGo = await marks.holdUp();
  const sending = writer.writeBatch([markStatement([1])]);
  await until('the flight waits at the server', async () => (await marks.waiting()) === 1);
  const taking = takeInstance(await marks.another(), { version: '2', self: goneProcess });
  await until('the other waits for it', async () => (await marks.waiting()) === 2);
  await letGo();
  assert.deepEqual(placesOf(await sending), [1]);
  assert.equal((await taking).kind, 'taken');
  await assertFenced(writer);
  assert.deepEqual(await marks.written(), [1]);
});

postgresTest('who was taken over from while it was away is told so', async () => {
  await using marks = await Marks.open();
  const writer = await marks.writer();
  marks.way.hold();
  const sending = writer.writeBatch([markStatement([1])]);
  await new Promise(setImmediate);
  await marks.take();
  marks.way.cut();
  marks.way.release();
  const outcome = await sending;
  assert.ok(outcome.kind === 'failed', outcome.kind);
  assert.match(outcome.error.message, /another instance of svc has taken over/);
  assert.deepEqual(await marks.written(), []);
});

async function assertFenced(writer: Writer): Promise<void> {
  const outcome = await writer.writeBatch([markStatement([9])]);
  assert.ok(outcome.kind === 'failed', outcome.kind);
  assert.match(outcome.error.message, /another instance of svc has taken over/);
}

postgresTest('a division by zero elsewhere is no other instance', async () => {
  await using marks = await Marks.open();
  const writer = await marks.writer();
  const outcome = await writer.writeBatch([{ text: 'SELECT 1 / count(*) FROM mark', values: [] }]);
  assert.ok(outcome.kind === 'failed', outcome.kind);
  assert.match(outcome.error.message, /division by zero/);
});

for (const how of ['at rest', 'in doubt'] as const) {
  postgresTest(`a server that has lost what had landed is not written to, ${how}`, async () => {
    await using marks = await Marks.open();
    const instance = await marks.take();
    const writer = await marks.writer({ instance });
    for (const mark of [1, 2, 3]) await writer.writeBatch([markStatement([mark])]);
    // A standby without the last batch would have this state.
    await marks.client.query('UPDATE svc.instance SET grp = 1; DELETE FROM mark WHERE mark > 1');
    if (how === 'in doubt') marks.way.cut();
    const outcome = await writer.writeBatch([markStatement([4])]);
    assert.ok(outcome.kind === 'failed', outcome.kind);
    assert.match(outcome.error.message, /has lost what it had said was written/);
    assert.deepEqual(await marks.written(), [1]);
  });
}
