import assert from 'node:assert/strict';
import { seeded } from '../../../../test/chaos/proof.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { Marks, type Mark } from '../../../../test/fake/postgres/marks.ts';
import { never, newsOf, Told, write } from '../../../../test/fake/postgres/batch-callers.ts';
import type { SteadyTime } from '../../../lib/clock.ts';
import { turns } from '../../../../test/contract/ledger/kit.ts';
import { runs } from '../../../../test/support/runs.ts';
import { until } from '../../../../test/support/waiting.ts';

postgresTest('what is written while a batch is under way goes together with the next', async () => {
  await using marks = await Marks.open();
  const batches = await marks.batches({ times: never });
  const first = write(batches, 1);
  await new Promise(setImmediate);
  const others = Promise.all([2, 3, 4].map((mark) => write(batches, mark)));
  assert.equal(batches.pending, 4);
  assert.equal(await first, true);
  assert.equal(batches.pending, 3);
  assert.deepEqual(await others, [true, true, true]);
  assert.equal(batches.pending, 0);
  assert.deepEqual(await marks.written(), [1, 2, 3, 4]);
  assert.equal((await marks.instance(1))['grp'], 2);
});

postgresTest('a write that nobody waits for goes with the one after it', async () => {
  await using marks = await Marks.open();
  const batches = await marks.batches({ times: never });
  batches.add(1);
  batches.flushSoon(() => {});
  await write(batches, 2);
  assert.equal((await marks.instance(1))['grp'], 1);
  batches.add(3);
  await new Promise((resolve) => batches.flushSoon(resolve));
  assert.deepEqual(await marks.written(), [1, 2, 3]);
});

postgresTest('more than fits into one batch goes in several, in order', async () => {
  await using marks = await Marks.open();
  const batches = await marks.batches({ times: never });
  const each = 6_000;
  const asked = [0, 1, 2, 3].map((caller) => {
    const own = Array.from({ length: each }, (_, at) => caller * each + at);
    for (const mark of own) batches.add(mark);
    return batches.written((places) => assert.ok(own.every((mark) => places.has(mark))));
  });
  assert.deepEqual(await Promise.all(asked), [true, true, true, true]);
  assert.deepEqual(
    await marks.written(),
    Array.from({ length: 4 * each }, (_, at) => at),
  );
  assert.equal((await marks.instance(1))['grp'], 4);
});

const cuts = runs(60);
const callers = 8;

postgresTest(`cut ${cuts} times at any moment, each write lands once and in order`, async () => {
  const seed = Math.floor(Math.random() * 1e6);
  const random = seeded(seed);
  await using marks = await Marks.open();
  const batches = await marks.batches();
  const over = new AbortController();
  let next = Promise.withResolvers<void>();
  const asked: Mark[] = [];
  const caller = async (which: number): Promise<void> => {
    for (let at = 0; !over.signal.aborted; at++) {
      const mark = which * 100_000 + at;
      asked.push(mark);
      assert.equal(await write(batches, mark), true);
      next.resolve();
    }
  };
  const callersEnd = Promise.all(Array.from({ length: callers }, (_, which) => caller(which)));
  for (let cut = 0; cut < cuts; cut++) {
    // A few cuts hit a connect or the check of the last batch, most cuts hit a write.
    if (random() < 0.9) await next.promise;
    next = Promise.withResolvers();
    await turns(random() * 300);
    marks.way.cut();
  }
  over.abort();
  await callersEnd;
  const written = await marks.written();
  const told = `seed ${seed}`;
  const inOrder = (one: Mark, other: Mark): number => one - other;
  assert.deepEqual(written.toSorted(inOrder), asked.toSorted(inOrder), told);
  for (let which = 0; which < callers; which++) {
    const own = written.filter((mark) => Math.floor(mark / 100_000) === which);
    assert.deepEqual(own, own.toSorted(inOrder), told);
  }
  assert.ok(asked.length > cuts, `${asked.length}, ${told}`);
});

postgresTest('a batch that is undone again and again keeps its place, and lands', async () => {
  await using marks = await Marks.open();
  const batches = await marks.batches({ times: never });
  await marks.refuse('40P01');
  const first = write(batches, 1);
  await new Promise(setImmediate);
  const second = write(batches, 2);
  await until('it is undone again', async () => (await marks.refusals()) >= 3);
  await marks.letIn();
  assert.deepEqual(await Promise.all([first, second]), [true, true]);
  assert.deepEqual(await marks.written(), [1, 2]);
});

postgresTest('a batch that the server undoes for too long fails for good', async () => {
  await using marks = await Marks.open();
  const batches = await marks.batches({ times: { ...never, undoneMs: 200 } });
  const broken = Promise.withResolvers<Error>();
  batches.onBroken(broken.resolve);
  await marks.refuse('40P01');
  assert.equal(await write(batches, 1), false);
  assert.match((await broken.promise).message, /refused/);
  assert.equal(await write(batches, 2), false);
  assert.deepEqual(await marks.written(), []);
});

postgresTest('where nothing is written, empty batches are the heartbeat', async () => {
  await using marks = await Marks.open();
  await marks.batches({ times: { heartbeatMs: 20 } });
  const { heartbeat: began } = await marks.instance(1);
  await until('it has beaten', async () => {
    const { grp, heartbeat } = await marks.instance(1);
    return Number(grp) >= 3 && String(heartbeat) > String(began);
  });
});

postgresTest('nothing is handed out when the last landed batch began too long ago', async () => {
  await using marks = await Marks.open();
  let now = 0;
  const steady = (): SteadyTime => now as SteadyTime;
  const batches = await marks.batches({ steady, times: { ...never, holdMs: 7_000 } });
  const news = newsOf(batches);
  now = 7_000;
  assert.equal(batches.mayHandOut, true);
  now = 7_001;
  assert.equal(batches.mayHandOut, false);
  await write(batches, 1);
  assert.equal(batches.mayHandOut, true);
  assert.deepEqual(news, ['ok, open']);
  // The time counts from the send, the earliest moment of the heartbeat.
  const other = await marks.another();
  await other.query('BEGIN; LOCK TABLE mark IN ACCESS EXCLUSIVE MODE');
  const flown = write(batches, 2);
  await until('the flight waits at the server', async () => (await marks.waiting()) === 1);
  now += 7_001;
  await other.query('COMMIT');
  await flown;
  assert.equal(batches.mayHandOut, false);
});

postgresTest('a batch after another instance took over ends all of them', async () => {
  await using marks = await Marks.open();
  const batches = await marks.batches({ times: { heartbeatMs: 20 } });
  const broken = Promise.withResolvers<Error>();
  batches.onBroken(broken.resolve);
  assert.equal(await write(batches, 1), true);
  await marks.take();
  assert.match((await broken.promise).message, /another instance of svc has taken over/);
  assert.equal(batches.broken, true);
  assert.equal(batches.mayHandOut, false);
  assert.equal(await write(batches, 2), false);
  assert.equal(await batches.writtenNow(), false);
  assert.deepEqual(await marks.written(), [1]);
  await batches.close();
});

postgresTest(
  'a close writes what is left, also what comes in answer, and notes its end',
  async () => {
    await using marks = await Marks.open();
    const batches = await marks.batches({ times: never });
    const answered = write(batches, 1).then(() => write(batches, 2));
    batches.add(3);
    batches.flushSoon(() => {});
    await batches.close();
    assert.equal(await answered, true);
    assert.deepEqual(
      (await marks.written()).toSorted((a, b) => a - b),
      [1, 2, 3],
    );
    const { dead, ended } = await marks.instance(1);
    assert.deepEqual([dead, ended], [true, '{"clean":true}']);
    assert.equal(await write(batches, 4), false);
    await until('its connection ends', async () => (await marks.others()) === 0);
  },
);

postgresTest('one that is abandoned ends at once, and says nothing', async () => {
  await using marks = await Marks.open();
  const batches = await marks.batches({ times: never });
  batches.onBroken((error) => assert.fail(error));
  const told = new Told();
  told.write(batches, 1);
  batches.abandon();
  assert.deepEqual(told.all, ['1 lost']);
  await until('its connection ends', async () => (await marks.others()) === 0);
  const { dead, ended } = await marks.instance(1);
  assert.deepEqual([dead, ended], [false, null]);
  assert.deepEqual(await marks.written(), []);
});
