import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { markStatement, Marks, placesOf } from '../../../../test/fake/postgres/marks.ts';
import { connect } from '../server/connect.ts';
import { Writer } from './writer.ts';
import { patienceMs, until } from '../../../../test/support/waiting.ts';

const undone = { kind: 'undone', why: null };

postgresTest('a batch lands whole, and tells the rows of each statement', async () => {
  await using marks = await Marks.open();
  const instance = await marks.take();
  const writer = await marks.writer({ instance });
  const first = await writer.writeBatch([markStatement([1, 2]), markStatement([3])]);
  assert.deepEqual(placesOf(first), [1, 2, 3]);
  assert.deepEqual(await writer.writeBatch([]), { kind: 'landed', answers: [], behind: [] });
  assert.deepEqual(await marks.written(), [1, 2, 3]);
  assert.equal((await marks.instance(instance))['grp'], 2);
});

postgresTest('nothing of a batch with a fault is written, and the fault is told', async () => {
  await using marks = await Marks.open();
  const instance = await marks.take();
  const writer = await marks.writer({ instance });
  const wrong = { text: 'INSERT INTO mark VALUES (1)', values: [] };
  const outcome = await writer.writeBatch([markStatement([1]), wrong, markStatement([2])]);
  assert.ok(outcome.kind === 'failed', outcome.kind);
  assert.match(outcome.error.message, /cannot insert a non-DEFAULT value/);
  assert.deepEqual(await marks.written(), []);
  assert.equal((await marks.instance(instance))['grp'], 0);
});

postgresTest('nothing of a batch lasts in its connection', async () => {
  await using marks = await Marks.open();
  const client = await connect(marks.url);
  const instance = await marks.take();
  const writer = new Writer(client, { instance, connect: marks.connect, answerMs: patienceMs });
  const bounds = {
    text:
      "SELECT current_setting('statement_timeout') || current_setting('lock_timeout') || " +
      "current_setting('idle_in_transaction_session_timeout') AS place",
    values: [],
  };
  assert.deepEqual(placesOf(await writer.writeBatch([bounds])), ['10s5s3s']);
  assert.deepEqual((await client.query(bounds.text)).rows, [{ place: '000' }]);
  await client.end();
});

postgresTest('a batch that landed while its answer was lost is answered again', async () => {
  await using marks = await Marks.open();
  const writer = await marks.writer();
  const letGo = await marks.holdUp();
  const sending = writer.writeBatch([{ text: 'SELECT 7', values: [] }, markStatement([1, 2])]);
  await until('the flight waits at the server', async () => (await marks.waiting()) === 1);
  marks.way.hold();
  await letGo();
  await until('it has landed', async () => (await marks.written()).length === 2);
  marks.way.cut();
  marks.way.release();
  const outcome = await sending;
  assert.deepEqual(placesOf(outcome), [1, 2]);
  assert.deepEqual(placesOf(await writer.writeBatch([markStatement([3])])), [3]);
  assert.deepEqual(await marks.written(), [1, 2, 3]);
});

postgresTest('a batch that never arrived is undone, and may be sent again', async () => {
  await using marks = await Marks.open();
  const writer = await marks.writer();
  assert.equal((await writer.writeBatch([markStatement([1])])).kind, 'landed');
  marks.way.hold();
  const sending = writer.writeBatch([markStatement([2])]);
  await new Promise(setImmediate);
  marks.way.cut();
  marks.way.release();
  assert.deepEqual(await sending, undone);
  assert.deepEqual(await marks.written(), [1]);
  assert.equal((await writer.writeBatch([markStatement([2])])).kind, 'landed');
  assert.deepEqual(await marks.written(), [1, 2]);
});

/** A batch that is held on its way and given up. Its writer connects again by another way. */
async function batchOnItsWay(marks: Marks) {
  const isGivenUp = Promise.withResolvers<void>();
  const mayConnect = Promise.withResolvers<void>();
  const again = async (): Promise<Client> => {
    isGivenUp.resolve();
    await mayConnect.promise;
    return connect(marks.url);
  };
  const writer = await marks.writer({ connect: again, answerMs: 50 });
  marks.way.hold();
  const sending = writer.writeBatch([markStatement([1, 2])]);
  await isGivenUp.promise;
  const arrive = async (): Promise<void> => {
    const open = await marks.others();
    marks.way.release();
    await until('its connection ends', async () => (await marks.others()) < open);
  };
  return { writer, sending, arrive, mayConnect: mayConnect.resolve };
}

/** Sends a batch again while a busy server undoes it. */
function lands(writer: Writer, marks: readonly number[]): Promise<void> {
  const isLanded = async () => (await writer.writeBatch([markStatement(marks)])).kind === 'landed';
  return until('it lands', isLanded);
}

postgresTest('a batch that was given up cannot land later', async () => {
  await using marks = await Marks.open();
  const { writer, sending, arrive, mayConnect } = await batchOnItsWay(marks);
  mayConnect();
  assert.deepEqual(await sending, undone);
  await arrive();
  assert.deepEqual(await marks.written(), []);
  // The next batch may hold other writes.
  await lands(writer, [2]);
  assert.deepEqual(await marks.written(), [2]);
});

postgresTest('a batch that was given up and arrives before the look has landed', async () => {
  await using marks = await Marks.open();
  const { writer, sending, arrive, mayConnect } = await batchOnItsWay(marks);
  await arrive();
  mayConnect();
  assert.deepEqual(placesOf(await sending), [1, 2]);
  await lands(writer, [3]);
  assert.deepEqual(await marks.written(), [1, 2, 3]);
});

for (const [state, kind] of [
  ['53100', 'full'],
  ['40P01', 'undone'],
  ['55P03', 'undone'],
  ['57014', 'undone'],
] as const) {
  postgresTest(
    `what the server says by ${state} is ${kind}, and the same may fly again`,
    async () => {
      await using marks = await Marks.open();
      const writer = await marks.writer();
      await marks.refuse(state);
      for (let tries = 0; tries < 3; tries++) {
        assert.equal((await writer.writeBatch([markStatement([1])])).kind, kind);
      }
      await marks.letIn();
      assert.deepEqual(placesOf(await writer.writeBatch([markStatement([1])])).length, 1);
      assert.deepEqual(await marks.written(), [1]);
    },
  );
}

postgresTest('of two batches that lock each other out one is undone, and lands then', async () => {
  await using marks = await Marks.open();
  await marks.client.query('CREATE TABLE twice (id integer PRIMARY KEY, times integer NOT NULL)');
  await marks.client.query('INSERT INTO twice VALUES (1, 0), (2, 0)');
  const [other, third] = [await marks.another(), await marks.another()];
  const writer = await marks.writer();
  const count = (id: number) => ({
    text: 'UPDATE twice SET times = times + 1 WHERE id = $1',
    values: [id],
  });
  // Only the transaction of the writer looks for a deadlock within the time of the test.
  await other.query("BEGIN; SET LOCAL deadlock_timeout = '60s'");
  await other.query(count(2).text, [2]);
  // The server looks once in each wait. So the writer reaches row 2 only when the other waits.
  await third.query('SELECT pg_advisory_lock(1)');
  const halt = { text: 'SELECT pg_advisory_xact_lock(1)', values: [] };
  const sending = writer.writeBatch([count(1), halt, count(2)]);
  await until('the flight waits at the server', async () => (await marks.waiting()) === 1);
  const crossed = other.query(count(1).text, [1]);
  await until('the other waits for it', async () => (await marks.waiting()) === 2);
  await third.query('SELECT pg_advisory_unlock(1)');
  const outcome = await sending;
  assert.ok(outcome.kind === 'undone' && outcome.why !== null);
  assert.match(outcome.why.message, /deadlock detected/);
  await crossed;
  await other.query('COMMIT');
  assert.equal((await writer.writeBatch([count(1), count(2)])).kind, 'landed');
  const { rows } = await marks.client.query('SELECT times FROM twice');
  assert.deepEqual(rows, [{ times: 2 }, { times: 2 }]);
});

postgresTest('a server that refuses connections is asked until it lets in', async () => {
  await using marks = await Marks.open();
  let refusals = 0;
  const writer = await marks.writer({
    async connect() {
      try {
        return await marks.connect();
      } catch (error) {
        if (++refusals === 3) await marks.way.open();
        throw error;
      }
    },
  });
  await marks.way.close();
  assert.deepEqual(await writer.writeBatch([markStatement([1])]), undone);
  assert.ok(refusals >= 3, String(refusals));
  assert.equal((await writer.writeBatch([markStatement([1])])).kind, 'landed');
});

postgresTest('a server that is cut off at each look is not asked without a pause', async () => {
  await using marks = await Marks.open();
  let connected = 0;
  const startedAt = performance.now();
  const writer = await marks.writer({
    async connect() {
      const client = await marks.connect();
      if (++connected < 4) marks.way.cut();
      return client;
    },
  });
  marks.way.cut();
  assert.deepEqual(await writer.writeBatch([markStatement([1])]), undone);
  assert.equal(connected, 4);
  assert.ok(performance.now() - startedAt > 100 + 200 + 400 - 3);
});

postgresTest('a writer that is closed gives up the batch that it asks about', async () => {
  await using marks = await Marks.open();
  const writer = await marks.writer();
  await marks.way.close();
  const sending = writer.writeBatch([markStatement([1])]);
  setImmediate(() => writer.close());
  assert.deepEqual(await sending, { kind: 'closed' });
  assert.deepEqual(await writer.writeBatch([]), { kind: 'closed' });
});

postgresTest('batches are counted beyond what fits into 32 bits', async () => {
  await using marks = await Marks.open();
  const instance = await marks.take();
  const landed = 2 ** 31 - 2;
  await marks.client.query('UPDATE svc.instance SET grp = $1', [landed]);
  const writer = await marks.writer({ instance, landed });
  for (const mark of [1, 2, 3]) {
    assert.equal((await writer.writeBatch([markStatement([mark])])).kind, 'landed');
  }
  marks.way.cut();
  assert.deepEqual(await writer.writeBatch([]), undone);
  assert.equal((await marks.instance(instance))['grp'], 2 ** 31 + 3);
});
