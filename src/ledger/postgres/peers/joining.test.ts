import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { takeInstance } from '../../../../test/fake/postgres/former-instance.ts';
import { farProcess, goneProcess, Marks } from '../../../../test/fake/postgres/marks.ts';
import { endedClean } from '../ledger/instance.ts';
import { joinInstances, type Joining, type JoiningDeps } from './peers.ts';

function join(client: Client, parts: Partial<JoiningDeps> = {}): Promise<Joining> {
  return joinInstances(client, { version: '2', self: farProcess, now: Date.now, ...parts });
}

async function joined(client: Client, parts: Partial<JoiningDeps> = {}) {
  const found = await join(client, parts);
  assert.ok(found.kind === 'joined');
  return found;
}

async function age(marks: Marks, interval: string): Promise<void> {
  const text = `UPDATE svc.instance SET beat_at = clock_timestamp() - interval '${interval}'`;
  await marks.client.query(text);
}

const isDead = async (marks: Marks, id: number): Promise<unknown> =>
  (await marks.instance(id))['dead'];

postgresTest('a start begins beside those that live', async () => {
  await using marks = await Marks.open();
  const one = await joined(marks.client, { version: '1' });
  const other = await joined(marks.client);
  assert.deepEqual([one.id, other.id], [1, 2]);
  assert.deepEqual(
    other.alive.map(({ id, version, posts: leases }) => ({ id, version, posts: leases })),
    [
      { id: 1, version: '1', posts: [] },
      { id: 2, version: '2', posts: [] },
    ],
  );
  const { dead, beside, version, process } = await marks.instance(2);
  assert.deepEqual([dead, beside, version], [false, true, '2']);
  assert.deepEqual(JSON.parse(String(process)), farProcess);
  assert.equal(other.alive[1]!.beganAt, ((await marks.instance(2))['began_at'] as Date).getTime());
});

postgresTest('one that nobody has heard of for long is left for those who watched', async () => {
  await using marks = await Marks.open();
  const one = await joined(marks.client);
  await age(marks, '1 hour');
  const other = await joined(marks.client);
  assert.equal(other.alive.length, 2);
  assert.equal(await isDead(marks, one.id), false);
});

postgresTest('one whose process was on this machine and is gone is dead at once', async () => {
  await using marks = await Marks.open();
  const [one, far] = [
    await joined(marks.client, { self: goneProcess }),
    await joined(marks.client),
  ];
  const next = await joined(marks.client, { self: { ...goneProcess, pid: 1 } });
  assert.deepEqual([await isDead(marks, one.id), await isDead(marks, far.id)], [true, false]);
  assert.deepEqual(
    next.alive.map(({ id }) => id),
    [far.id, next.id],
  );
  assert.equal((await marks.instance(one.id))['ended'], null);
});

postgresTest(
  'it begins where the broadcast log is, so that it hears what is told from then on',
  async () => {
    await using marks = await Marks.open();
    assert.equal((await joined(marks.client)).broadcastLogRead, 0);
    await marks.client.query("INSERT INTO svc.board (kind, body) VALUES ('a', ''), ('a', '')");
    const { id, broadcastLogRead } = await joined(marks.client);
    assert.equal(broadcastLogRead, 2);
    assert.equal((await marks.instance(id))['board_read'], 2);
  },
);

postgresTest(
  'one that has the database alone is in the way while it sends heartbeats',
  async () => {
    await using marks = await Marks.open();
    await marks.take(farProcess);
    const found = await join(await marks.another(), { waits: () => void age(marks, '1 s') });
    assert.ok(found.kind === 'locked');
    assert.deepEqual(found.process, farProcess);
    assert.equal(await isDead(marks, 1), false);
  },
);

postgresTest('one that has the database alone makes way when it ends', async () => {
  await using marks = await Marks.open();
  const id = await marks.take(farProcess);
  const waits = (): void => void marks.client.query(endedClean.text, [...endedClean.values(id)]);
  const { alive } = await joined(await marks.another(), { waits });
  assert.equal(alive.length, 1);
});

postgresTest(
  'one that had the database alone is dead when its heartbeat is old enough',
  async () => {
    await using marks = await Marks.open();
    const id = await marks.take(farProcess);
    await age(marks, '10.1 s');
    const { alive } = await joined(marks.client, { waits: () => assert.fail('it waits') });
    assert.equal(alive.length, 1);
    assert.equal(await isDead(marks, id), true);
  },
);

postgresTest('who needs the database alone gets it from none that lives', async () => {
  await using marks = await Marks.open();
  const one = await joined(marks.client);
  const taken = await takeInstance(await marks.another(), {
    version: '1',
    self: farProcess,
    waits: () => void age(marks, '1 s'),
  });
  assert.equal(taken.kind, 'locked');
  assert.equal(await isDead(marks, one.id), false);
});

for (const isolation of ['read committed', 'repeatable read', 'serializable']) {
  postgresTest(
    `of many that begin at once all get a place of their own (${isolation})`,
    async () => {
      await using marks = await Marks.open();
      const database = new URL(marks.url).pathname.slice(1);
      await marks.client.query(
        `ALTER DATABASE ${database} SET default_transaction_isolation = '${isolation}'`,
      );
      const starts = await Promise.all([1, 2, 3, 4].map(() => marks.another()));
      const found = await Promise.all(starts.map((client) => joined(client)));
      const inOrder = found.toSorted((one, other) => one.id - other.id);
      assert.deepEqual(
        inOrder.map(({ id, alive }) => [id, alive.length]),
        [1, 2, 3, 4].map((id) => [id, id]),
      );
    },
  );
}

postgresTest('while its tables are locked the database is in use', async () => {
  await using marks = await Marks.open();
  const moving = await marks.another();
  await moving.query('BEGIN; LOCK TABLE svc.instance IN SHARE ROW EXCLUSIVE MODE');
  const found = await join(marks.client, { lockMs: 100, now: () => 5 });
  assert.deepEqual(found, { kind: 'locked', since: new Date(5), version: null, process: null });
  await moving.query('ROLLBACK');
  await joined(marks.client);
});

postgresTest('rows of former starts go, but for those that are not cleaned up', async () => {
  await using marks = await Marks.open();
  await marks.client.query(
    'INSERT INTO svc.instance (version, process, dead, buried) ' +
      "SELECT '1', '', true, n > 2 FROM generate_series(1, 150) AS n",
  );
  const { id } = await joined(marks.client);
  const { rows } = await marks.client.query<{ id: number }>(
    'SELECT id FROM svc.instance ORDER BY id',
  );
  assert.deepEqual(
    rows.map((row) => row.id),
    [1, 2, ...Array.from({ length: 101 }, (_, at) => id - 100 + at)],
  );
});
