/** A migration runs while the release before works, and blocks nobody for long. */
import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { migratedDatabase, postgresTest } from '../../../../test/fake/postgres.ts';
import { connect } from './connect.ts';
import { migrate, migrationSteps, type Upgrade } from './migrations.ts';

const steps = migrationSteps();
const column = (table: string): string =>
  `ALTER TABLE svc.${table} ADD COLUMN of_next bigint NOT NULL DEFAULT 0`;
const fence = 'UPDATE svc.instance SET grp = grp + 1';

class Bench implements AsyncDisposable {
  readonly upgrades: Upgrade[] = [];
  readonly #url: string;
  readonly #own = new AsyncDisposableStack();

  private constructor(url: string) {
    this.#url = url;
  }

  /** With one instance that works. */
  static async open(): Promise<Bench> {
    const bench = new Bench(await migratedDatabase());
    const client = await bench.client();
    await client.query("INSERT INTO svc.instance (version, process) VALUES ('1', '{}')");
    return bench;
  }

  async client(): Promise<Client> {
    const client = await connect(this.#url);
    this.#own.defer(() => client.end());
    return client;
  }

  async migrate(tables: readonly string[], lockMs?: number): Promise<number> {
    const told = (upgrade: Upgrade): void => void this.upgrades.push(upgrade);
    const next = [...steps, tables.map(column).join(';')];
    return migrate(await this.client(), told, next, lockMs);
  }

  /** Resolves when a session waits for a lock on a table. */
  async waits(): Promise<void> {
    const client = await this.client();
    const text =
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' " +
      'AND datname = current_database()';
    while ((await client.query(text)).rowCount === 0);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#own[Symbol.asyncDispose]();
  }
}

postgresTest('a step waits for a batch that is under way, in whatever order', async () => {
  await using it = await Bench.open();
  const batch = await it.client();
  await batch.query('BEGIN');
  await batch.query(fence);
  const migrating = it.migrate(['cursor', 'instance'], 60_000);
  await it.waits();
  await batch.query('LOCK TABLE svc.cursor IN ROW EXCLUSIVE MODE NOWAIT');
  await batch.query('COMMIT');
  assert.equal(await migrating, steps.length + 1);
});

postgresTest('while a table is not to be had, instances go on', async () => {
  await using it = await Bench.open();
  const [copying, instance] = [await it.client(), await it.client()];
  await copying.query('BEGIN; SELECT FROM svc.lane');
  let isDone = false;
  const migrating = it.migrate(['lane'], 100).finally(() => (isDone = true));
  await it.waits();
  for (let batches = 0; batches < 20; batches++) await instance.query(`BEGIN; ${fence}; COMMIT`);
  assert.equal(isDone, false);
  await copying.query('COMMIT');
  assert.equal(await migrating, steps.length + 1);
  assert.deepEqual(it.upgrades, [{ from: steps.length, to: steps.length + 1 }], 'told once');
});

postgresTest('where a step and who reads wait for each other, it is tried again', async () => {
  await using it = await Bench.open();
  const reading = await it.client();
  await reading.query('BEGIN; SELECT FROM svc.lane');
  const migrating = it.migrate(['inbox', 'lane'], 60_000);
  await it.waits();
  // PostgreSQL ends the one of the two that has waited for longer.
  await reading.query('SELECT FROM svc.inbox').catch(() => {});
  await reading.query('ROLLBACK');
  assert.equal(await migrating, steps.length + 1);
});
