/**
 * The release before used a database alone, with the first step of the schema. These tests show how
 * this release takes over its rows, and how each release refuses to run beside the other.
 */
import assert from 'node:assert/strict';
import type { Client } from 'pg';
import type { ConversationId } from '../../src/domain/ids.ts';
import { failure } from '../../src/domain/failure.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { endedByStorage, endedClean } from '../../src/ledger/postgres/ledger/instance.ts';
import type { PostgresLimits } from '../../src/ledger/postgres/limits.ts';
import { joinInstances } from '../../src/ledger/postgres/peers/peers.ts';
import { openPostgresStore } from '../../src/ledger/postgres/postgres.ts';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import {
  migrate,
  migrationSteps,
  schemaVersion,
} from '../../src/ledger/postgres/server/migrations.ts';
import type { InClaim } from '../../src/ledger/ledger.ts';
import {
  accept,
  answer,
  hook,
  newIds,
  said,
  takeIn,
  takeOut,
  until,
  type Bench,
} from '../contract/ledger/kit.ts';
import { idOf, put } from '../fake/ledger-rows.ts';
import { newDatabase, postgresTest } from '../fake/postgres.ts';
import { takeInstance } from '../fake/postgres/former-instance.ts';
import { farProcess, goneProcess } from '../fake/postgres/marks.ts';

const version = 'the one before';
/** No suspected message runs within the time of a case. */
const limits = { besideMs: 3_600_000 };
/** The receiver asked for an hour. */
const later = {
  due_at: Date.now() + 3_600_000,
  failure: JSON.stringify(failure('overloaded', { retryAfterMs: 3_600_000 })),
};

class Former implements AsyncDisposable {
  readonly url: string;
  /** A connection that no test disturbs. */
  readonly client: Client;
  readonly #own: AsyncDisposableStack;

  private constructor(url: string, client: Client, own: AsyncDisposableStack) {
    this.url = url;
    this.client = client;
    this.#own = own;
  }

  /** Opens a database with the tables of that release and no row. */
  static async open(): Promise<Former> {
    const url = await newDatabase();
    await using own = new AsyncDisposableStack();
    const client = await connect(url);
    own.defer(() => client.end());
    await migrate(client, undefined, migrationSteps().slice(0, 1));
    return new Former(url, client, own.move());
  }

  /** Writes the row of one of its starts. @param age of its last heartbeat */
  async start(process = farProcess, age = '0 s'): Promise<number> {
    const { rows } = await this.client.query<{ id: number }>(
      'INSERT INTO svc.instance (version, process, beat_at) ' +
        'VALUES ($1, $2, clock_timestamp() - $3::interval) RETURNING id',
      [version, JSON.stringify(process), age],
    );
    return rows[0]!.id;
  }

  /** Writes the row of a killed start, which the next start counts as dead at once. */
  startOfDead = (): Promise<number> => this.start(farProcess, '1 hour');

  async ended(how: typeof endedClean | typeof endedByStorage, ...values: readonly unknown[]) {
    await this.client.query(how.text, [...values]);
  }

  /**
   * Leaves three messages of ann and one of bob, and these replies: bob's is due; eve's and fay's
   * are not, and fay's is parked; gil's is parked and due.
   */
  async leave(ofAnn: object = {}): Promise<void> {
    const { client } = this;
    const names = ['ann', 'bob', 'eve', 'fay', 'gil'];
    await put(
      client,
      'lane',
      ...names.map((conversation) => ({ conversation, tail: conversation === 'ann' ? 3 : 1 })),
    );
    const message = (id: number, conversation: string, n: number, more: object = {}) => {
      const sender = { id: conversation, name: null };
      const body = { sender, text: `${conversation} ${n}`, media: null, target: 'x' };
      return { id: idOf(id), conversation, n, ...more, body: JSON.stringify(body) };
    };
    await put(client, 'inbox', message(3, 'ann', 3), message(1, 'ann', 1, ofAnn));
    await put(client, 'inbox', message(2, 'ann', 2), message(10, 'bob', 1));
    const reply = (id: number, conversation: string, more: object = {}) => {
      const text = { inReplyTo: idOf(id), text: `to ${conversation}` };
      const row = { id: `${idOf(id)}-00`, message_id: idOf(id), seq: id, conversation };
      return { ...row, body: JSON.stringify(text), ...more };
    };
    await put(client, 'outbox', reply(9, 'bob'));
    await put(client, 'outbox', reply(20, 'eve', later));
    await put(client, 'outbox', reply(30, 'fay', { ...later, parked: true, late: true }));
    await put(client, 'outbox', reply(40, 'gil', { due_at: 5, parked: true, late: true }));
  }

  /** Opens this release. */
  async open(more: Partial<PostgresLimits> = {}) {
    return openPostgresStore({
      url: this.url,
      ...systemClock,
      ids: newIds(),
      retentionDays: 30,
      version: 'this one',
      limits: { ...limits, ...more },
    });
  }

  /** Opens this release and lets it work. */
  async begin(): Promise<Bench> {
    const store = await this.open();
    assert.ok(!('kind' in store), 'kind' in store ? store.message : '');
    const { ledger } = store;
    this.#own.use(ledger);
    const reopen = (): Promise<void> => Promise.reject(new Error('not here'));
    return { ledger, reopen, [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose]() };
  }

  async rowsOf(table: string, columns: string): Promise<readonly unknown[][]> {
    const text = `SELECT ${columns} FROM svc.${table} ORDER BY id`;
    return (await this.client.query<unknown[]>({ text, rowMode: 'array' })).rows;
  }

  instances = (): Promise<readonly unknown[][]> =>
    this.rowsOf('instance', 'version, dead, beside, buried');

  [Symbol.asyncDispose](): Promise<void> {
    return this.#own[Symbol.asyncDispose]();
  }
}

/** Answers all claimable messages until this number of texts has arrived. */
async function work(it: Bench, count: number): Promise<readonly InClaim[]> {
  const claims: InClaim[] = [];
  await until(`${count} messages are answered`, async () => {
    for (const claim of await takeIn(it, 10)) {
      claims.push(claim);
      await answer(it, claim);
    }
    return claims.length >= count;
  });
  return claims;
}

const ofAnn = (claims: readonly InClaim[]): unknown[] =>
  claims.flatMap(({ message: { conversation, text }, attempt }) =>
    conversation === 'ann' ? [[text, attempt]] : [],
  );

postgresTest('what it had in hand when it was killed is worked, in order, and marked', async () => {
  await using it = await Former.open();
  await it.startOfDead();
  await it.leave();
  const now = await it.begin();
  const buried = [version, true, true, true];
  assert.deepEqual(await it.instances(), [buried, ['this one', false, true, false]]);
  assert.deepEqual(await it.rowsOf('inbox', 'conversation, n, attempts'), [
    ['ann', 1, 1],
    ['ann', 2, 0],
    ['ann', 3, 0],
    ['bob', 1, 1],
  ]);
  assert.deepEqual(
    await it.rowsOf('outbox', 'conversation, attempts, replayed, possible_duplicate'),
    [
      ['bob', 1, 1, true],
      ['eve', 0, 0, false],
      ['fay', 0, 0, false],
      ['gil', 1, 1, true],
    ],
  );
  const claims = await work(now, 4);
  assert.equal(claims.length, 4);
  assert.deepEqual(ofAnn(claims), [
    ['ann 1', 2],
    ['ann 2', 1],
    ['ann 3', 1],
  ]);
  const replies: string[] = [];
  await until('what is due can be delivered', async () => {
    for (const claim of await takeOut(now, 10)) {
      assert.equal(claim.possibleDuplicate, true);
      replies.push(claim.reply.text);
    }
    return replies.length >= 2;
  });
  assert.deepEqual(replies.toSorted(), ['to bob', 'to gil']);
});

postgresTest('of one that ended in order nothing counts as tried', async () => {
  await using it = await Former.open();
  await it.startOfDead();
  const id = await it.start();
  await it.leave({ attempts: 1 });
  await it.ended(endedClean, ...endedClean.values(id));
  const now = await it.begin();
  assert.deepEqual(
    (await it.rowsOf('outbox', 'possible_duplicate')).flat(),
    Array.from({ length: 4 }, () => false),
  );
  assert.deepEqual(ofAnn(await work(now, 4)), [
    ['ann 1', 1],
    ['ann 2', 1],
    ['ann 3', 1],
  ]);
});

postgresTest('of one whose storage failed no message counts as tried, and replies do', async () => {
  await using it = await Former.open();
  const id = await it.startOfDead();
  await it.leave({ attempts: 1, alone: 2 });
  await it.ended(endedByStorage, ...endedByStorage.values(id, idOf(1)));
  await it.begin();
  assert.deepEqual((await it.rowsOf('inbox', 'conversation, n, attempts, alone'))[0], [
    'ann',
    1,
    1,
    1,
  ]);
  assert.deepEqual((await it.rowsOf('outbox', 'possible_duplicate')).flat(), [
    true,
    false,
    false,
    true,
  ]);
});

postgresTest('what was next at a second kill is suspected, and all else is worked', async () => {
  await using it = await Former.open();
  await it.startOfDead();
  await it.leave({ attempts: 1 });
  const now = await it.begin();
  assert.deepEqual((await it.rowsOf('inbox', 'conversation, n, attempts'))[0], ['ann', 1, 2]);
  const claims = await work(now, 1);
  assert.deepEqual(
    claims.map(({ message }) => message.text),
    ['bob 1'],
  );
  assert.deepEqual(await takeIn(now, 10), []);
});

postgresTest('what it had counts as tried once, whoever finds it first', async () => {
  await using it = await Former.open();
  await it.startOfDead();
  await it.startOfDead();
  await it.leave();
  await migrate(it.client);
  const first = { version: 'this one', self: goneProcess, now: Date.now };
  // One start ended before it freed any queue; the other one had freed some.
  const joined = await joinInstances(it.client, first);
  assert.ok(joined.kind === 'joined');
  await it.client.query("UPDATE svc.lane SET owner = NULL, waits = 2 WHERE conversation = 'bob'");
  await it.client.query('UPDATE svc.instance SET dead = true WHERE id = $1', [joined.id]);
  await it.begin();
  assert.deepEqual((await it.rowsOf('inbox', 'conversation, n, attempts')).slice(0, 4), [
    ['ann', 1, 1],
    ['ann', 2, 0],
    ['ann', 3, 0],
    ['bob', 1, 0],
  ]);
});

postgresTest('one that was started in between has taken over what was there', async () => {
  await using it = await Former.open();
  await it.leave();
  await migrate(it.client);
  const self = { version: 'this one', self: farProcess, now: Date.now };
  const joined = await joinInstances(it.client, self);
  assert.ok(joined.kind === 'joined');
  await it.client.query('UPDATE svc.lane SET owner = $1', [joined.id]);
  await it.client.query('UPDATE svc.instance SET dead = true');
  const id = await it.startOfDead();
  await it.ended(endedClean, ...endedClean.values(id));
  const now = await it.begin();
  assert.deepEqual((await it.rowsOf('inbox', 'attempts')).flat(), [0, 0, 0, 0]);
  assert.equal((await work(now, 4)).length, 4);
});

/** Sends heartbeats, as a write batch of that release does, until `stop`. */
async function goOnBeating({ client }: Former, id: number, stop: AbortSignal): Promise<void> {
  const text =
    'UPDATE svc.instance SET beat_at = clock_timestamp(), grp = grp + 1 WHERE id = $1 AND NOT dead';
  for (; !stop.aborted;) assert.equal((await client.query(text, [id])).rowCount, 1);
}

postgresTest('while it runs a start is refused, says what to do, and leaves it alone', async () => {
  await using it = await Former.open();
  const id = await it.start();
  await it.leave();
  const stopped = new AbortController();
  const beating = goOnBeating(it, id, stopped.signal);
  const found = await it.open();
  stopped.abort();
  if ('ledger' in found) await found.ledger[Symbol.asyncDispose]();
  await beating;
  assert.ok('kind' in found && found.code === 'storage_locked');
  assert.equal(found.isPassing, true);
  assert.match(
    found.message,
    /older svc that shares it with none \(process 99999999 on somewhere, version the one before, /,
  );
  assert.match(found.message, /since .*\)\. Stop that one, then start this one\./);
  assert.match(found.message, /in use by/);
  assert.equal(await schemaVersion(it.client), migrationSteps().length, 'which it runs on');
  assert.deepEqual(await it.instances(), [[version, false, false, false]]);
  await it.ended(endedClean, ...endedClean.values(id));
  const now = await it.begin();
  assert.equal((await work(now, 4)).length, 4);
});

/** Does what that release does at its start. */
async function startFormer({ url }: Former) {
  await using own = new AsyncDisposableStack();
  const client = await connect(url);
  own.defer(() => client.end());
  return await takeInstance(client, { version, self: farProcess });
}

postgresTest(
  'it is refused while one of this release lives, though others are silent',
  async () => {
    await using it = await Former.open();
    await migrate(it.client);
    const silent = { version: 'this one', self: farProcess, now: Date.now };
    const joined = await joinInstances(it.client, silent);
    assert.ok(joined.kind === 'joined');
    const old = "UPDATE svc.instance SET beat_at = beat_at - interval '1 hour' WHERE id = $1";
    await it.client.query(old, [joined.id]);
    const now = await it.begin();
    assert.equal((await startFormer(it)).kind, 'locked');
    const [, own] = await it.instances();
    assert.deepEqual(own, ['this one', false, true, false]);
    await accept(now, said('ann', 'it goes on'));
  },
);

postgresTest('put back in its place it goes on with all that this release had', async () => {
  await using it = await Former.open();
  const now = await it.begin();
  await accept(now, said('ann', 'one'), said('ann', 'two'));
  assert.equal((await takeIn(now, 10)).length, 1);
  await now[Symbol.asyncDispose]();
  assert.equal((await startFormer(it)).kind, 'taken');
  // That release knows nothing of the added columns.
  const conversation = 'new' as ConversationId;
  await it.client.query('INSERT INTO svc.lane (channel, conversation, tail) VALUES ($1, $2, 1)', [
    hook,
    conversation,
  ]);
  await put(it.client, 'inbox', { id: idOf(1), conversation, n: 1 });
  await it.client.query(
    "UPDATE svc.instance SET beat_at = beat_at - interval '1 hour' WHERE NOT dead",
  );
  const again = await it.begin();
  const claims = await work(again, 3);
  assert.deepEqual(
    claims.map(({ attempt }) => attempt),
    [2, 2, 1],
  );
});
