/** However instances write into the same queues at once, no two wait for each other. */
import assert from 'node:assert/strict';
import {
  accept,
  effects,
  exchange,
  hook,
  said,
  turns,
  until,
} from '../../../../test/contract/ledger/kit.ts';
import { seeded } from '../../../../test/chaos/proof.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { comesIn, TestStores, type TestStore } from '../../../../test/fake/postgres/stores.ts';
import { failure } from '../../../domain/failure.ts';
import type { ConversationId } from '../../../domain/ids.ts';

const why = failure('server_error');
const rounds = 25;
const batchMax = 12;
const names = Array.from({ length: 50 }, (_, at) => `c${String(at).padStart(2, '0')}`);
/** Conversations that all three instances delete. */
const forgotten = new Set(names.slice(0, 3));

/** The results of a run. */
class Run {
  readonly random: () => number;
  readonly accepted = new Set<string>();
  /** The ends of turns, in order. */
  readonly ended: { readonly id: string; readonly conversation: string }[] = [];
  readonly sent: string[] = [];
  dead: string[] = [];
  isOver = false;

  constructor(seed: number) {
    this.random = seeded(seed);
  }

  one<T>(of: readonly T[]): T {
    return of[Math.floor(this.random() * of.length)]!;
  }
}

/** Accepts batches over many conversations, in random order. */
async function comeIn({ ledger }: TestStore, run: Run): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const batch = Array.from({ length: 1 + Math.floor(run.random() * batchMax) }, () => {
      const dedupeKey = run.random() < 0.5 ? null : `k${Math.floor(run.random() * 1e9)}`;
      return said(run.one(names), 'hello', { dedupeKey });
    });
    const taken = await ledger.accept(batch);
    assert.ok(taken.kind === 'accepted', taken.kind);
    for (const [at, { id }] of taken.receipts.entries()) {
      if (!forgotten.has(batch[at]!.conversation)) run.accepted.add(id);
    }
  }
}

/** Completes or delivers what it claims. Some messages become dead letters, and are replayed. */
async function work({ ledger }: TestStore, run: Run): Promise<void> {
  while (!run.isOver) {
    const claims = await ledger.claim('in', hook, 5);
    const ends = claims.map(async (claim) => {
      const { id, conversation } = claim.message;
      if (run.random() < 0.2) {
        if (await ledger.deadLetter(claim, why, effects(claim, []))) run.dead.push(id);
        return;
      }
      if (!(await ledger.complete(claim, effects(claim, [id])))) return;
      if (!forgotten.has(conversation)) run.ended.push({ id, conversation });
    });
    const replies = await ledger.claim('out', hook, 5);
    const deliveries = replies.map(async (claim) => {
      const isSent = await ledger.delivered(claim);
      if (isSent && !forgotten.has(claim.reply.conversation)) run.sent.push(claim.reply.text);
    });
    await Promise.all([...ends, ...deliveries]);
    await turns(20);
  }
}

async function replay({ ledger }: TestStore, run: Run): Promise<void> {
  while (!run.isOver) {
    const some = run.dead.splice(0, 10);
    await Promise.all(some.map((id) => ledger.replay(id)));
    await turns(20);
  }
}

async function forget({ ledger }: TestStore, run: Run): Promise<void> {
  for (const conversation of forgotten) {
    if (run.isOver) return;
    const whose = { kind: 'conversation', channel: hook } as const;
    await ledger.forget({ ...whose, conversation: conversation as ConversationId });
  }
}

/** @returns the ids of settled messages, in the order of their numbers, by conversation */
async function inOrder(all: TestStores): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await all.client.query<{ id: string; conversation: string }>(
    'SELECT id, conversation FROM svc.message ORDER BY conversation, n',
  );
  const of = Map.groupBy(rows, ({ conversation }) => conversation);
  return new Map([...of].map(([conversation, own]) => [conversation, own.map(({ id }) => id)]));
}

/** Sessions report their counts when they end. */
async function deadlocks(all: TestStores): Promise<number> {
  const count = async (what: string): Promise<number> => {
    const { rows } = await all.client.query<{ n: number }>(
      `SELECT ${what} AS n FROM pg_stat_activity WHERE datname = current_database()`,
    );
    return rows[0]!.n;
  };
  await until('the others are gone', async () => (await count('count(*)')) === 1);
  const { rows } = await all.client.query<{ n: number }>(
    'SELECT deadlocks AS n FROM pg_stat_database WHERE datname = current_database()',
  );
  return rows[0]!.n;
}

postgresTest(
  'three that write into the same queues, replay and forget never lock each other out',
  async () => {
    const seed = Math.floor(Math.random() * 1e6);
    const run = new Run(seed);
    await using all = await TestStores.open();
    const three = [await all.begin(), await all.begin(), await all.begin()];
    for (const { peers } of three) await until('all are known', () => peers.limitShare() === 3);
    const ends = three.flatMap((one) => [work(one, run), replay(one, run)]);
    await Promise.all(three.flatMap((one) => [comeIn(one, run), forget(one, run)]));
    await until('all is answered', () => run.sent.length >= run.accepted.size);
    run.isOver = true;
    await Promise.all(ends);
    assert.deepEqual(run.sent.toSorted(), [...run.accepted].toSorted(), `seed ${seed}`);
    const settled = await inOrder(all);
    for (const [conversation, own] of Map.groupBy(run.ended, ({ conversation: of }) => of)) {
      assert.deepEqual(
        own.map(({ id }) => id),
        settled.get(conversation),
        `${conversation}, seed ${seed}`,
      );
    }
    for (const { close, fault } of three) {
      assert.equal(fault(), null);
      await close();
    }
    assert.equal(await deadlocks(all), 0, `seed ${seed}`);
  },
);

/** Makes a message of that conversation a dead letter. @returns its id */
async function buryIn(conversation: string, store: TestStore): Promise<string> {
  await accept(store, said(conversation, 'hello'));
  const claim = await comesIn(store);
  assert.equal(await store.ledger.deadLetter(claim, why), true);
  return claim.message.id;
}

postgresTest('a replay locks its queue with all others of its batch, in their order', async () => {
  await using all = await TestStores.open();
  const [one, other] = await all.beginTwo();
  const id = await buryIn('c', one);
  await exchange(one, 'a', 'hello');
  await exchange(one, 'b', 'hello');
  for (const name of ['a', 'b', 'c']) await all.owned(name, null);
  // The other instance has locked the first queue, and waits on its way to the last.
  const between = await all.another();
  await between.query("BEGIN; SELECT FROM svc.lane WHERE conversation = 'b' FOR UPDATE");
  const theirs = accept(other, said('a', 'more'), said('b', 'more'), said('c', 'more'));
  await until('it is held up', async () => (await all.waiting()) === 1);
  // No batch goes until both writes are collected for one.
  const before = await all.another();
  await before.query('BEGIN');
  await before.query('SELECT FROM svc.instance WHERE id = $1 FOR UPDATE', [one.id]);
  await until('a flight is held up', async () => (await all.waiting()) === 2);
  const { commitsPending } = one.ledger.gauges();
  const replayed = one.ledger.replay(id);
  const pending = (): number => one.ledger.gauges().commitsPending - commitsPending;
  await until('the replay is gathered', () => pending() > 0);
  const own = accept(one, said('a', 'and more'));
  await before.query('COMMIT');
  await until('it waits for the other', async () => (await all.waiting()) === 2);
  await between.query('COMMIT');
  await Promise.all([theirs, own]);
  assert.equal(await replayed, 'done');
  await one.close();
  await other.close();
  await between.end();
  await before.end();
  assert.equal(await deadlocks(all), 0);
});
