/** A database on a server can be migrated only while no instance uses it or may use it again. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Client } from 'pg';
import { systemClock } from '../../src/lib/clock.ts';
import type { Migration } from '../../src/ledger/migrate/migrate.ts';
import { openMigration, type Place } from '../../src/ledger/migrate/open.ts';
import { openPostgresStore } from '../../src/ledger/postgres/postgres.ts';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import { migrate, migrationSteps } from '../../src/ledger/postgres/server/migrations.ts';
import { openSqliteLedger } from '../../src/ledger/sqlite/sqlite.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { accept, newIds, said, takeIn, until } from '../contract/ledger/kit.ts';
import { newDatabase, postgresTest } from '../fake/postgres.ts';
import { Marks } from '../fake/postgres/marks.ts';
import { scratch } from '../support/program.ts';

const quiet = { copied: () => {}, comparing: () => {} };
const never = new AbortController().signal;
const common = { ...systemClock, retentionDays: 30 };
const dead = 'dead, beat_at';
const longAgo = "clock_timestamp() - interval '1 hour'";

class Bench implements AsyncDisposable {
  readonly url: string;
  readonly server: Place;
  readonly file: Place;
  readonly client: Client;
  readonly folder: string;
  readonly #own: AsyncDisposableStack;

  private constructor(url: string, client: Client, folder: string, own: AsyncDisposableStack) {
    this.url = url;
    this.server = { kind: 'server', url };
    this.folder = folder;
    this.file = { kind: 'file', path: join(folder, 'new.db') };
    this.client = client;
    this.#own = own;
  }

  static async open(steps: readonly string[] = migrationSteps()): Promise<Bench> {
    const url = await newDatabase();
    await using own = new AsyncDisposableStack();
    const client = await connect(url);
    own.defer(() => client.end());
    await migrate(client, undefined, steps);
    const { path } = own.use(await scratch());
    return new Bench(url, client, path, own.move());
  }

  /** Adds rows of former starts, in the order of their numbers. */
  async starts(columns: string, ...values: readonly string[]): Promise<void> {
    for (const value of values) {
      await this.client.query(
        `INSERT INTO svc.instance (version, process, ${columns}) VALUES ('1', '{}', ${value})`,
      );
    }
  }

  /** Makes a file with a conversation in which these messages wait. */
  async waiting(...texts: readonly string[]): Promise<Place> {
    const path = join(this.folder, 'full.db');
    const ledger = await openSqliteLedger({ path, ids: newIds(), ...common });
    assert.ok(!('kind' in ledger));
    await accept(benchOf(ledger), ...texts.map((text) => said('ann', text)));
    await ledger[Symbol.asyncDispose]();
    return { kind: 'file', path };
  }

  async start(url = this.url): Promise<Ledger> {
    const store = await openPostgresStore({ url, version: '2', ids: newIds(), ...common });
    assert.ok(!('kind' in store), 'kind' in store ? store.message : '');
    return this.#own.use(store.ledger);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#own[Symbol.asyncDispose]();
  }
}

function benchOf(ledger: Ledger) {
  const reopen = (): Promise<void> => Promise.reject(new Error('not here'));
  return { ledger, reopen, [Symbol.asyncDispose]: async () => {} };
}

async function refusal(from: Place, to: Place): Promise<string> {
  const migration = await openMigration(from, to);
  if ('code' in migration) return `${migration.code}: ${migration.message}`;
  await migration[Symbol.asyncDispose]();
  return 'opened';
}

async function opened(from: Place, to: Place): Promise<Migration> {
  const migration = await openMigration(from, to);
  assert.ok(!('code' in migration), 'code' in migration ? migration.message : '');
  return migration;
}

const clean = `'{"clean":true}'`;
const failed = `'{"alone":null}'`;
/** In the future, so that it counts as recent on a slow machine too. */
const soon = "clock_timestamp() + interval '1 hour'";
const columns = 'dead, beside, buried, ended, beat_at';

const sources: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['nobody ran on it', [], /^opened$/],
  ['all ended in order', [`true, true, false, ${clean}, now()`], /^opened$/],
  [
    'the last one ended in order, and one before it was killed',
    [`true, true, false, NULL, ${longAgo}`, `true, true, false, ${clean}, now()`],
    /^migration_unclean: .* Start svc on it and stop it again/,
  ],
  [
    'one was killed, and others have taken over what it had',
    [`true, true, true, NULL, ${longAgo}`, `true, true, false, ${clean}, now()`],
    /^opened$/,
  ],
  [
    'one is silent, and nobody has said that it is dead',
    [`false, true, false, NULL, ${longAgo}`, `true, true, false, ${clean}, now()`],
    /^migration_unclean: /,
  ],
  ['the storage of one failed', [`true, true, false, ${failed}, now()`], /^migration_unclean: /],
  [
    'one lives',
    [`false, true, false, NULL, ${soon}`, `true, true, false, ${clean}, now()`],
    /^storage_locked: .* is in use by another svc\. Stop that one\.$/,
  ],
  [
    'some live',
    [`false, true, false, NULL, ${soon}`, `false, true, false, NULL, ${soon}`],
    /^storage_locked: .* is in use by 2 svc\. Stop them all\.$/,
  ],
  [
    'one of the release before was killed, and a later one ended in order',
    [`true, false, false, NULL, ${longAgo}`, `true, false, false, ${clean}, now()`],
    /^opened$/,
  ],
  [
    'the last one of the release before was killed',
    [`true, false, false, ${clean}, now()`, `true, false, false, NULL, ${longAgo}`],
    /^migration_unclean: /,
  ],
];

for (const [what, starts, told] of sources) {
  postgresTest(`from a server on which ${what}`, async () => {
    await using it = await Bench.open();
    await it.starts(columns, ...starts);
    assert.match(await refusal(it.server, it.file), told);
  });
}

postgresTest('nothing is moved from tables of another release', async () => {
  const steps = migrationSteps();
  {
    await using it = await Bench.open(steps.slice(0, -1));
    assert.match(await refusal(it.server, it.file), /^storage_older: .* Start this one on it/);
  }
  await using it = await Bench.open([...steps, 'CREATE TABLE svc.more (n integer)']);
  assert.match(await refusal(it.server, it.file), /^storage_newer_schema: .* run that one\.$/);
});

postgresTest('what was moved counts as tried by nobody that worked there before', async () => {
  await using it = await Bench.open();
  await it.starts(dead, `true, ${longAgo}`, `false, ${longAgo}`);
  const migration = await opened(await it.waiting('one', 'two'), it.server);
  assert.equal((await migration.run(quiet, never)).kind, 'moved');
  await migration[Symbol.asyncDispose]();
  const ledger = await it.start();
  const [claim] = await takeIn(benchOf(ledger), 10);
  assert.deepEqual([claim?.message.text, claim?.attempt], ['one', 1]);
});

postgresTest('one that is silent writes nothing into a database that was filled', async () => {
  await using marks = await Marks.open();
  const writer = await marks.writer();
  assert.equal((await writer.writeBatch([])).kind, 'landed');
  await marks.client.query(`UPDATE svc.instance SET beat_at = ${longAgo}`);
  await using it = await Bench.open();
  const migration = await opened(await it.waiting('one'), { kind: 'server', url: marks.url });
  assert.equal((await migration.run(quiet, never)).kind, 'moved');
  await migration[Symbol.asyncDispose]();
  assert.equal((await writer.writeBatch([])).kind, 'failed');
});

postgresTest(
  'nothing is moved into a database on which one lives, or that has a configuration',
  async () => {
    await using it = await Bench.open();
    const from = await it.waiting('one');
    const rows = [
      "post (name, owner, epoch) VALUES ('keeper', 1, 1)",
      "board (kind, body) VALUES ('forget', '{}')",
      "instance_status (id, body) VALUES (1, '{}')",
      "proposal (base, instance, revision, by, text) VALUES (1, 1, 'r', 'b', '{}')",
      'vote (proposal, instance) VALUES (1, 1)',
    ];
    for (const one of rows) await it.client.query(`INSERT INTO svc.${one}`);
    assert.equal(await refusal(from, it.server), 'opened', 'what instances only told is nothing');
    const ledger = await it.start();
    assert.match(await refusal(from, it.server), /^storage_locked: /);
    await ledger[Symbol.asyncDispose]();
    assert.equal(await refusal(from, it.server), 'opened');
    await it.client.query("INSERT INTO svc.config (revision, by, text) VALUES ('r', 'b', '{}')");
    assert.match(await refusal(from, it.server), /^migration_target: /);
  },
);

for (const side of ['source', 'target'] as const) {
  postgresTest(`a start on the ${side} waits until it is moved`, async () => {
    await using it = await Bench.open();
    const place = await it.waiting('one');
    const migration = await (side === 'source'
      ? opened(it.server, it.file)
      : opened(place, it.server));
    const starting = it.start();
    await until('it waits', async () => {
      const { rows } = await it.client.query<{ n: number }>(
        "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' " +
          'AND datname = current_database()',
      );
      return rows[0]!.n > 0;
    });
    assert.equal((await migration.run(quiet, never)).kind, 'moved');
    await migration[Symbol.asyncDispose]();
    const ledger = await starting;
    const texts = (await takeIn(benchOf(ledger), 10)).map(({ message }) => message.text);
    assert.deepEqual(texts, side === 'source' ? [] : ['one']);
  });
}

postgresTest('what another program has locked is not moved', async () => {
  await using it = await Bench.open();
  const other = await connect(it.url);
  await other.query('BEGIN; LOCK TABLE svc.instance IN SHARE ROW EXCLUSIVE MODE');
  assert.match(
    await refusal(it.server, it.file),
    /^storage_locked: .* is in use by another program that has locked it\. Wait until/,
  );
  await other.end();
});
