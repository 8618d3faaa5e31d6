/** The connection of the shared view: when it is open, and how it ends. */
import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { until } from '../../../../test/contract/ledger/kit.ts';
import { newDatabase, postgresTest } from '../../../../test/fake/postgres.ts';
import { connect } from '../server/connect.ts';
import { ViewConnection, type ViewTimes } from './shared-view.ts';

class Bench implements AsyncDisposable {
  readonly beside: Client;
  readonly connection: ViewConnection;
  readonly opened: Client[] = [];
  readonly #url: string;
  tries = 0;
  ended = 0;
  /** Replaces the function that connects; null: it connects. */
  instead: ((signal: AbortSignal) => Promise<Client>) | null = null;

  private constructor(url: string, beside: Client, times: Partial<ViewTimes>) {
    this.#url = url;
    this.beside = beside;
    // So no answer is too slow unless a test wants that, however slow the machine is.
    const long = { answerMs: 100_000, againMs: 1, ...times };
    this.connection = new ViewConnection((signal) => this.#open(signal), long);
  }

  static async open(times: Partial<ViewTimes> = {}): Promise<Bench> {
    const url = await newDatabase();
    return new Bench(url, await connect(url), times);
  }

  async #open(signal: AbortSignal): Promise<Client> {
    this.tries++;
    const client = await (this.instead?.(signal) ?? connect(this.#url, { signal }));
    this.opened.push(client);
    client.once('end', () => this.ended++);
    return client;
  }

  /** Ends its connections on the server. */
  async cut(): Promise<void> {
    await this.beside.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity ' +
        'WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.connection[Symbol.asyncDispose]();
    await this.beside.end();
  }
}

const one = [{ one: 1 }];
const askOne = ({ connection }: Bench) => connection.ask('SELECT 1 AS one');
const away = (): Promise<Client> =>
  Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }));

postgresTest('one connection carries all, from the first statement until it rests', async () => {
  await using it = await Bench.open({ restMs: 1 });
  assert.equal(it.tries, 0);
  const answers = await Promise.all([askOne(it), askOne(it), askOne(it)]);
  assert.deepEqual(answers, [one, one, one]);
  assert.equal(it.tries, 1);
  await until('it is ended', () => it.ended === 1);
  assert.deepEqual(await askOne(it), one);
  assert.equal(it.tries, 2);
});

postgresTest('a connection that is lost takes its statement along, and is made anew', async () => {
  await using it = await Bench.open();
  await askOne(it);
  const waiting = assert.rejects(it.connection.ask('SELECT pg_sleep(600)'));
  await until('it is asked', async () => {
    const { rows } = await it.beside.query(
      "SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'",
    );
    return rows.length === 1;
  });
  await it.cut();
  await waiting;
  assert.deepEqual(await askOne(it), one);
  assert.equal(it.tries, 2);
});

postgresTest('what the server refuses rejects, and the connection stays', async () => {
  await using it = await Bench.open();
  await assert.rejects(it.connection.ask('SELECT 1 / 0'), /division by zero/);
  assert.deepEqual(await askOne(it), one);
  assert.equal(it.tries, 1);
});

postgresTest('a server that became a standby is left', async () => {
  await using it = await Bench.open();
  await it.connection.ask('SET default_transaction_read_only = on');
  await assert.rejects(it.connection.ask('CREATE TABLE one (n integer)'), /read-only/);
  await it.connection.ask('CREATE TABLE one (n integer)');
  assert.equal(it.tries, 2);
});

postgresTest('a server that cannot be reached is tried again, and not all the time', async () => {
  await using it = await Bench.open({ againMs: 60_000 });
  it.instead = away;
  for (let n = 0; n < 5; n++) await assert.rejects(askOne(it), /away/);
  assert.equal(it.tries, 1);
  await using soon = await Bench.open();
  soon.instead = away;
  await assert.rejects(askOne(soon), /away/);
  soon.instead = null;
  await until('it is reached', () =>
    askOne(soon).then(
      () => true,
      () => false,
    ),
  );
});

postgresTest('a statement without an answer ends with its connection', async () => {
  await using it = await Bench.open({ answerMs: 50 });
  // A slow machine opens none in that time; then the opening connection is cut.
  const asked = (): Promise<boolean> => askOne(it).then(Boolean, () => false);
  await until('it is open', asked);
  await assert.rejects(it.connection.ask('SELECT pg_sleep(600)'), /no answer within 50 ms/);
  await until('it is cut', () => it.ended === it.opened.length);
  it.instead = () => new Promise(() => {});
  await assert.rejects(askOne(it), /no answer within 50 ms/, 'also while it is opened');
});

postgresTest('after the end nothing is asked, and what was under way rejects', async () => {
  await using it = await Bench.open();
  await askOne(it);
  const waiting = assert.rejects(it.connection.ask('SELECT pg_sleep(600)'));
  await it.connection[Symbol.asyncDispose]();
  await waiting;
  await assert.rejects(askOne(it), /closed/);
  assert.equal(it.tries, 1);
});
