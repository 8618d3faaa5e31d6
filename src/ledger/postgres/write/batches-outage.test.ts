/** Batches to a server that is away, that delays its answers, or that has a full disk. */
import assert from 'node:assert/strict';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { Lateness, Marks } from '../../../../test/fake/postgres/marks.ts';
import { never, newsOf, Told, write } from '../../../../test/fake/postgres/batch-callers.ts';
import { until, within } from '../../../../test/support/waiting.ts';

postgresTest('while the server is away those are refused who can be, all others wait', async () => {
  await using marks = await Marks.open();
  const lateness = new Lateness();
  const batches = await marks.batches({ times: never, lateness });
  const news = newsOf(batches);
  const told = new Told();
  await marks.way.close();
  told.tryTo(batches, 1);
  told.write(batches, 2);
  // The batch of these two writes is sent.
  await until('the flight is under way', () => lateness.open === 1);
  told.write(batches, 3);
  told.tryTo(batches, 4);
  assert.equal(batches.state, 'ok');
  lateness.pass();
  assert.equal(batches.state, 'away');
  assert.deepEqual(told.all, ['1 refused', '4 refused']);
  assert.equal(batches.pending, 3);
  told.tryTo(batches, 5);
  assert.deepEqual(told.all, ['1 refused', '4 refused', '5 refused']);
  assert.equal(await batches.writtenNow(), false);
  told.write(batches, 6);
  await marks.way.open();
  await until('the rest lands', () => batches.pending === 0);
  assert.deepEqual(told.all.slice(3), ['2 landed', '3 landed', '6 landed']);
  assert.deepEqual(await marks.written(), [2, 3, 6]);
  assert.deepEqual(news, ['away, open', 'ok, open']);
  told.tryTo(batches, 7);
  await until('it takes more', () => told.has('7 landed'));
});

postgresTest('one that was refused in a batch that landed all the same is told so', async () => {
  await using marks = await Marks.open();
  const lateness = new Lateness();
  const batches = await marks.batches({ times: never, lateness });
  const told = new Told();
  const other = await marks.another();
  await other.query('BEGIN; LOCK TABLE mark IN ACCESS EXCLUSIVE MODE');
  told.tryTo(batches, 1);
  await until('the flight waits at the server', async () => (await marks.waiting()) === 1);
  marks.way.hold();
  await other.query('COMMIT');
  await until('the server has written it', async () => (await marks.written()).length === 1);
  lateness.pass();
  assert.deepEqual(told.all, ['1 refused']);
  marks.way.cut();
  marks.way.release();
  await until('it has landed', () => told.has('1 landed'));
  assert.deepEqual(told.all, ['1 refused', '1 landed']);
  assert.deepEqual(await marks.written(), [1]);
});

postgresTest('a server that holds its answers back for a while loses none', async () => {
  await using marks = await Marks.open();
  const lateness = new Lateness();
  // A slow server answers in time now and then, so every write is committed in the end.
  const batches = await marks.batches({ lateness, answerMs: 250 });
  const told = new Told();
  let mark = 0;
  for (let hold = 0; hold < 4; hold++) {
    const least = told.all.length + 3;
    for (const _ of [1, 2, 3]) told.write(batches, ++mark);
    marks.way.hold();
    const { begun } = marks.way;
    for (const _ of [1, 2, 3]) told.write(batches, ++mark);
    await until('the flight is under way', () => lateness.open === 1);
    lateness.pass();
    assert.equal(batches.state, 'away');
    if (hold % 2 > 0) await until('it is given up', () => marks.way.begun > begun);
    marks.way.release();
    await until('some land', () => told.all.length >= least);
  }
  await until('all land', () => batches.pending === 0);
  const all = Array.from({ length: mark }, (_, at) => at + 1);
  assert.deepEqual(
    told.all,
    all.map((one) => `${one} landed`),
  );
  assert.deepEqual(await marks.written(), all);
});

postgresTest('a full disk refuses who can be refused, and keeps the others in order', async () => {
  await using marks = await Marks.open();
  const lateness = new Lateness();
  const batches = await marks.batches({ times: { ...never, fullRetryMs: 20 }, lateness });
  const news = newsOf(batches);
  const told = new Told();
  await marks.refuse('53100');
  told.tryTo(batches, 1);
  told.write(batches, 2);
  await until('it is full', () => batches.state === 'full');
  told.write(batches, 3);
  told.tryTo(batches, 4);
  assert.deepEqual(told.all, ['1 refused', '4 refused']);
  // The server answers each try, and each try begins a new watch. So it never counts as away.
  await until('it is tried again', async () => (await marks.refusals()) >= 4);
  assert.ok(lateness.waits >= 3 && lateness.open <= 1, `${lateness.waits}, ${lateness.open}`);
  await marks.letIn();
  await until('the rest lands', () => batches.pending === 0);
  assert.deepEqual(told.all.slice(2), ['2 landed', '3 landed']);
  assert.deepEqual(await marks.written(), [2, 3]);
  assert.deepEqual(news, ['full, open', 'ok, open']);
  await write(batches, 5);
  const { rows } = await marks.client.query("SELECT 1 FROM svc.cursor WHERE channel <> 'svc'");
  assert.deepEqual(rows, [], 'the room that was taken is given back');
});

postgresTest('a disk that has room for a word alone is full', async () => {
  await using marks = await Marks.open();
  const batches = await marks.batches({ times: { ...never, fullRetryMs: 20 } });
  await marks.refuse('53100');
  const waits = write(batches, 1);
  await until('it is full', () => batches.state === 'full');
  await marks.client.query(`
    CREATE TRIGGER refuse BEFORE INSERT ON svc.cursor FOR EACH ROW
    WHEN (length(NEW.value) > 65000) EXECUTE FUNCTION refuse()`);
  await marks.letIn();
  const { grp } = await marks.instance(1);
  const refused = await marks.refusals();
  // The first of these tries may have begun before.
  await until('the next tries fail as well', async () => (await marks.refusals()) >= refused + 2);
  assert.equal(batches.state, 'full');
  assert.equal((await marks.instance(1))['grp'], grp);
  await marks.client.query('DROP TRIGGER refuse ON svc.cursor');
  assert.equal(await waits, true);
});

for (const how of ['close', 'hold'] as const) {
  postgresTest(`a close while the server is away ends in time (${how})`, async () => {
    await using marks = await Marks.open();
    const batches = await marks.batches({ times: { ...never, closeMs: 200 } });
    await marks.way[how]();
    const told = new Told();
    told.write(batches, 1);
    told.tryTo(batches, 2);
    await within('it closes', batches.close());
    assert.deepEqual(told.all, ['1 lost', '2 lost']);
    marks.way.release();
    const { dead, ended } = await marks.instance(1);
    assert.deepEqual([dead, ended], [false, null], 'the next start finds it as after a crash');
  });
}
