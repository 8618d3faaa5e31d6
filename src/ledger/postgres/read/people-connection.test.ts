/** The connection for people: when it is open, and how reads without an answer end. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { suite, test } from 'node:test';
import type { Client } from 'pg';
import { until } from '../../../../test/contract/ledger/kit.ts';
import { migratedDatabase } from '../../../../test/fake/postgres.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import { ReadFailed, type LedgerReader } from '../../ledger.ts';
import { connect } from '../server/connect.ts';
import { toText } from '../server/text.ts';
import { createPostgresCursors, createPostgresReader } from './reader.ts';
import type { ReaderLimits } from './people-connection.ts';
import { patienceMs } from '../../../../test/support/waiting.ts';

/** A database, its reader, the connections that the reader opened, and one more connection. */
class Bench implements AsyncDisposable {
  readonly url: string;
  readonly beside: Client;
  readonly reader: LedgerReader;
  readonly opened: Client[] = [];
  ended = 0;
  /** Replaces the function that connects; null: it connects. */
  instead: (() => Promise<Client>) | null = null;

  private constructor(url: string, beside: Client, limits: Partial<ReaderLimits>) {
    this.url = url;
    this.beside = beside;
    // So no read is too slow unless a test wants that, however slow the machine is.
    this.reader = createPostgresReader(this.#connect, { readMs: 100_000, ...limits });
  }

  static async open(limits: Partial<ReaderLimits> = {}): Promise<Bench> {
    const url = await migratedDatabase();
    const beside = await connect(url);
    return new Bench(url, beside, limits);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.reader[Symbol.asyncDispose]();
    await this.beside.end();
  }

  /** Locks the tables: no read of a story gets an answer until the release. */
  async hold(): Promise<() => Promise<unknown>> {
    await this.beside.query('BEGIN; LOCK TABLE svc.inbox');
    return () => this.beside.query('ROLLBACK');
  }

  /** Ends the reader's connections on the server. @returns how many there were */
  async cut(which: 'resting' | 'held'): Promise<number> {
    // A connection that is being opened is active, too.
    const condition = which === 'resting' ? "state = 'idle'" : "wait_event_type = 'Lock'";
    // Within a transaction the server shows its sessions as of the first look.
    await this.beside.query('SELECT pg_stat_clear_snapshot()');
    const { rowCount } = await this.beside.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity ' +
        `WHERE datname = current_database() AND pid <> pg_backend_pid() AND ${condition}`,
    );
    return rowCount ?? 0;
  }

  readonly #connect = async (): Promise<Client> => {
    const client = await (this.instead ?? (() => connect(this.url)))();
    this.opened.push(client);
    client.once('end', () => this.ended++);
    return client;
  };
}

/** The reason why a read fails. */
async function reasonOf(read: Promise<unknown>): Promise<string> {
  const error = await read.then(
    () => assert.fail('the read was answered'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ReadFailed, String(error));
  assert.match(error.message, /^\S.*\.$/);
  return error.reason;
}

suite('the connection for people', { concurrency: 2 }, () => {
  test('is opened by the first read, ends when nobody asks, and comes again', async () => {
    await using it = await Bench.open({ restMs: 20 });
    assert.equal(it.opened.length, 0);
    assert.equal(await it.reader.story('nobody'), null);
    assert.equal(it.opened.length, 1);
    await until('it has ended', () => it.ended === 1);
    assert.equal(await it.reader.story('nobody'), null);
    assert.equal(it.opened.length, 2);
  });

  test('answers many reads, and refuses those that are too many to wait', async () => {
    await using it = await Bench.open();
    const reads = Array.from({ length: 66 }, () => it.reader.story('nobody'));
    assert.equal(await reasonOf(reads.pop()!), 'busy');
    assert.deepEqual(
      await Promise.all(reads),
      reads.map(() => null),
    );
    assert.equal(it.opened.length, 1);
  });

  test('gives up a read that takes too long, and answers the next', async () => {
    await using it = await Bench.open({ readMs: 500 });
    const release = await it.hold();
    assert.equal(await reasonOf(it.reader.story('nobody')), 'too_slow');
    await release();
    await until('the next is answered', async () => {
      return (await it.reader.story('nobody').catch(() => 'not yet')) === null;
    });
  });

  test('waits for no writer', async () => {
    await using it = await Bench.open();
    const cursor = 'INSERT INTO svc.lane (channel, conversation, session, started_at, previous_at)';
    await it.beside.query(`BEGIN; ${cursor} VALUES ('webhook', 'ada', 1, 2, 3)`);
    const all = { after: null, limit: 9 };
    assert.deepEqual((await it.reader.conversations(all)).rows, []);
    await it.beside.query('COMMIT');
    assert.equal((await it.reader.conversations(all)).rows.length, 1);
  });

  test('that was lost while it rested is opened again by the read that finds it so', async () => {
    await using it = await Bench.open();
    assert.equal(await it.reader.story('nobody'), null);
    await until('it was cut', async () => (await it.cut('resting')) > 0);
    assert.equal(await it.reader.story('nobody'), null);
    assert.equal(it.opened.length, 2);
  });

  test('that was lost unnoticed while it rested costs no read its answer', async () => {
    await using it = await Bench.open();
    assert.equal(await it.reader.story('nobody'), null);
    it.opened[0]!.query = () => Promise.reject(new Error('Connection terminated unexpectedly'));
    assert.equal(await it.reader.story('nobody'), null);
    assert.equal(it.opened.length, 2);
  });

  test('that is lost takes the read at hand with it, and the next opens one', async () => {
    await using it = await Bench.open();
    const release = await it.hold();
    const read = reasonOf(it.reader.story('nobody'));
    const next = it.reader.notes({ kind: 'brain', brain: 'main' });
    await until('it was cut', async () => (await it.cut('held')) > 0);
    assert.equal(await read, 'storage');
    assert.deepEqual(await next, []);
    await release();
  });

  test('refuses all that wait while the server is away, and answers once it is back', async () => {
    await using it = await Bench.open();
    let tried = 0;
    it.instead = async () => {
      tried++;
      throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    };
    const reads = Array.from({ length: 5 }, () => it.reader.story('nobody'));
    const reasons = await Promise.all(reads.map(reasonOf));
    assert.deepEqual(new Set(reasons), new Set(['storage']));
    assert.equal(tried, 1, 'they do not wait one after the other');
    it.instead = null;
    assert.equal(await it.reader.story('nobody'), null);
  });

  test('does not wait for a server that says nothing; what comes too late is ended', async () => {
    await using it = await Bench.open({ connectMs: 20 });
    const late = Promise.withResolvers<void>();
    it.instead = () => late.promise.then(() => connect(it.url));
    assert.equal(await reasonOf(it.reader.story('nobody')), 'storage');
    late.resolve();
    await until('it has ended', () => it.ended === 1);
  });

  test('ends with the reader, which then answers nobody', async () => {
    const it = await Bench.open();
    await it.hold();
    const reads = [it.reader.story('nobody'), it.reader.story('nobody')];
    const ended = Promise.all(reads.map(reasonOf));
    await until('the first is at hand', () => it.opened.length === 1);
    await it[Symbol.asyncDispose]();
    assert.deepEqual(await ended, ['closed', 'closed']);
    assert.equal(it.ended, 1);
    assert.equal(await reasonOf(it.reader.story('nobody')), 'closed');
  });

  test('is left as good as new by a read that the server refuses', async () => {
    await using it = await Bench.open();
    await it.beside.query('ALTER TABLE svc.inbox RENAME TO elsewhere');
    assert.equal(await reasonOf(it.reader.story('nobody')), 'storage');
    await it.beside.query('ALTER TABLE svc.elsewhere RENAME TO inbox');
    assert.equal(await it.reader.story('nobody'), null);
    assert.equal(it.opened.length, 1);
  });

  test('keeps no process alive', async () => {
    await using it = await Bench.open();
    const [reader, connecting] = ['./reader.ts', '../server/connect.ts'].map((file) => {
      return new URL(file, import.meta.url).href;
    });
    const script = `
      import { createPostgresReader } from '${reader}';
      import { connect } from '${connecting}';
      console.log(await createPostgresReader(() => connect('${it.url}')).story('nobody'));`;
    const given = ['--input-type=module', '--eval', script];
    const ended = spawnSync(process.execPath, given, { timeout: patienceMs, encoding: 'utf8' });
    assert.deepEqual([ended.status, ended.stdout], [0, 'null\n'], ended.stderr);
  });

  test('tells what a channel noted as it was', async () => {
    await using it = await Bench.open();
    const value = 'a\0b\uE000c\uD800';
    const written = ['webhook', 'place', toText(value)];
    await it.beside.query('INSERT INTO svc.cursor VALUES ($1, $2, $3)', written);
    using cursors = createPostgresCursors(() => connect(it.url));
    const channel = 'webhook' as ChannelKey;
    assert.equal(await cursors.cursor(channel, 'place'), value);
    assert.equal(await cursors.cursor(channel, '\0'), null);
  });
});
