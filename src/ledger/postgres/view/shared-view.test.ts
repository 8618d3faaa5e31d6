/** Reports and live events on the server, and how long they stay there. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from 'pg';
import { put } from '../../../../test/fake/ledger-rows.ts';
import {
  migratedDatabase,
  noPostgres,
  postgresTest,
  testServer,
} from '../../../../test/fake/postgres.ts';
import { noPgBouncer, startPgBouncer } from '../../../../test/fake/postgres/pgbouncer.ts';
import type { SharedView } from '../../../cluster/backend.ts';
import { connect } from '../server/connect.ts';
import { PostgresView } from './shared-view.ts';

/** A database, the shared view of two instances, and one more connection. */
class Bench implements AsyncDisposable {
  readonly client: Client;
  readonly one: SharedView;
  readonly other: SharedView;

  private constructor(client: Client, url: string) {
    this.client = client;
    const open = (signal: AbortSignal): Promise<Client> => connect(url, { signal });
    this.one = new PostgresView(open);
    this.other = new PostgresView(open);
  }

  /** @param way turns the URL of the database into the URL to use */
  static async open(way = (url: string): string => url): Promise<Bench> {
    const url = await migratedDatabase();
    const client = await connect(url);
    return new Bench(client, way(url));
  }

  /** Adds the row of an instance. @returns its number */
  async begin(): Promise<number> {
    const { rows } = await this.client.query<{ id: number }>(
      "INSERT INTO svc.instance (version, process) VALUES ('1', '{}') RETURNING id",
    );
    return rows[0]!.id;
  }

  async die(id: number): Promise<void> {
    await this.client.query('UPDATE svc.instance SET dead = true WHERE id = $1', [id]);
  }

  async older(table: 'instance_status' | 'frame', seconds: number): Promise<void> {
    await this.client.query(`UPDATE svc.${table} SET at = at - $1 * interval '1 second'`, [
      seconds,
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.one[Symbol.asyncDispose]();
    await this.other[Symbol.asyncDispose]();
    await this.client.end();
  }
}

const liveEventBatch = (instance: number, n: number, frames = '[]', leftOut = 0) => {
  return { instance, n, leftOut, frames };
};

postgresTest('the last report of an instance is seen by all, as old as it is', async () => {
  await using it = await Bench.open();
  const [a, b] = [await it.begin(), await it.begin()];
  await it.one.publish(a, '{"of":"before"}');
  const report = JSON.stringify({ of: 'a', text: 'ü \u0000 \ud800' });
  await it.one.publish(a, report);
  await it.other.publish(b, '{"of":"b"}');
  const seen = async () =>
    new Map((await it.other.readReports()).reports.map((one) => [one.instance, one] as const));
  const told = await seen();
  assert.deepEqual(
    [...told.values()].map((one) => [one.instance, one.report]),
    [
      [a, report],
      [b, '{"of":"b"}'],
    ],
  );
  const before = told.get(a)!.ageMs;
  await it.older('instance_status', 7);
  const after = (await seen()).get(a)!.ageMs;
  assert.ok(after - before >= 7_000, `${before} ${after}`);
  await it.one.publish(a, report);
  assert.ok((await seen()).get(a)!.ageMs < after, 'the same report makes it young again');
});

postgresTest('one that was declared dead leaves nothing any more', async () => {
  await using it = await Bench.open();
  const [a, b] = [await it.begin(), await it.begin()];
  for (const id of [a, b]) await it.one.publish(id, '{}');
  await it.one.publishEvents(liveEventBatch(a, 1));
  await it.other.publishEvents(liveEventBatch(b, 1));
  await it.die(a);
  await it.other.sweep();
  await it.one.publish(a, '{}');
  const { reports } = await it.other.readReports();
  assert.deepEqual(
    reports.map(({ instance }) => instance),
    [b],
  );
  assert.deepEqual(await it.other.newest(), new Map([[b, 1]]));
});

postgresTest('all unsettled rows are counted, whoever has them in hand', async () => {
  await using it = await Bench.open();
  assert.deepEqual((await it.one.readReports()).rows, []);
  const at = { accepted_at: 500, channel: 'webhook' };
  await put(
    it.client,
    'inbox',
    { id: 'a', n: 1, ...at },
    { id: 'b', n: 2, ...at, accepted_at: 700 },
  );
  await put(it.client, 'outbox', { id: 'c', channel: 'webhook', created_at: 400 });
  await put(it.client, 'outbox', { id: 'd', channel: 'messenger_a:7', created_at: 900 });
  assert.deepEqual((await it.one.readReports()).rows, [
    { key: 'messenger_a:7', inbox: 0, outbox: 1, oldestAt: 900, oldestReplyAt: 900 },
    { key: 'webhook', inbox: 2, outbox: 1, oldestAt: 400, oldestReplyAt: 400 },
  ]);
});

postgresTest(
  'batches are heard from those that are asked about, each in its order, once',
  async () => {
    await using it = await Bench.open();
    const [a, b, c] = [await it.begin(), await it.begin(), await it.begin()];
    await it.one.publishEvents(liveEventBatch(a, 1, '["before"]'));
    const begin = await it.other.newest();
    assert.deepEqual(begin, new Map([[a, 1]]));
    for (const one of [
      liveEventBatch(a, 2, '["a"]'),
      liveEventBatch(b, 1, '["b"]', 3),
      liveEventBatch(a, 3),
      liveEventBatch(c, 1),
    ]) {
      await it.one.publishEvents(one);
    }
    const heard = await it.other.readBatches(new Map([...begin, [b, 0]]));
    assert.deepEqual(heard, [
      liveEventBatch(a, 2, '["a"]'),
      liveEventBatch(a, 3),
      liveEventBatch(b, 1, '["b"]', 3),
    ]);
    const after = new Map([
      [a, 3],
      [b, 1],
    ]);
    assert.deepEqual(await it.other.readBatches(after), []);
    assert.deepEqual(await it.other.readBatches(new Map()), []);
  },
);

postgresTest('batches that everybody has had time to hear are swept', async () => {
  await using it = await Bench.open();
  const a = await it.begin();
  await it.one.publishEvents(liveEventBatch(a, 1));
  await it.older('frame', 31);
  await it.one.publishEvents(liveEventBatch(a, 2));
  await it.one.sweep();
  const { rows } = await it.client.query('SELECT n FROM svc.frame');
  assert.deepEqual(rows, [{ n: 2 }]);
});

postgresTest('a crash of the server takes what was told, and no number of a batch', async () => {
  await using it = await Bench.open();
  const { rows } = await it.client.query(
    "SELECT relname FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r' ORDER BY relname",
  );
  assert.deepEqual(
    rows.map(({ relname }) => relname as string),
    ['frame', 'instance_status'],
  );
  const a = await it.begin();
  await it.one.publishEvents(liveEventBatch(a, 8));
  await it.client.query('TRUNCATE svc.frame, svc.instance_status');
  await it.one.publishEvents(liveEventBatch(a, 9));
  assert.deepEqual(await it.other.readBatches(new Map([[a, 8]])), [liveEventBatch(a, 9)]);
});

const pooled = { skip: noPostgres || noPgBouncer };

test('all of it works with a pooler before the server', pooled, async () => {
  await using pooler = await startPgBouncer((await testServer()).url('postgres'));
  await using it = await Bench.open((url) => pooler.url(url));
  const [a, b] = [await it.begin(), await it.begin()];
  for (let n = 1; n <= 5; n++) {
    await Promise.all([
      it.one.publish(a, `{"n":${n}}`),
      it.other.publish(b, '{}'),
      it.one.publishEvents(liveEventBatch(a, n)),
      it.other.readReports(),
      it.other.readBatches(new Map([[a, 0]])),
      it.one.sweep(),
    ]);
  }
  assert.deepEqual(
    (await it.other.readReports()).reports.map(({ instance, report }) => [instance, report]),
    [
      [a, '{"n":5}'],
      [b, '{}'],
    ],
  );
  assert.equal((await it.other.readBatches(new Map([[a, 2]]))).length, 3);
});
