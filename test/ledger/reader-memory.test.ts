import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { failure } from '../../src/domain/failure.ts';
import { createIdSource } from '../../src/domain/ids.ts';
import type { Page, PageRequest } from '../../src/domain/page.ts';
import { anyMessage } from '../../src/domain/records.ts';
import { createMemoryReader } from '../../src/ledger/memory/reader.ts';
import { createMemoryLedger } from '../../src/ledger/memory/memory.ts';
import { StoryRing } from '../../src/ledger/memory/story-ring.ts';
import {
  accept,
  accepted,
  answer,
  effects,
  ids,
  oneIn,
  oneOut,
  replyTo,
  said,
} from '../contract/ledger/kit.ts';
import { testReaderContract, type ReaderBench } from '../contract/reader.ts';

function open(stories = new StoryRing()): ReaderBench {
  const ledger = createMemoryLedger({ ...systemClock, ids, stories });
  const reader = createMemoryReader(stories);
  return {
    ledger,
    reader,
    async [Symbol.asyncDispose]() {
      await ledger[Symbol.asyncDispose]();
      await reader[Symbol.asyncDispose]();
    },
  };
}

testReaderContract('memory', { durable: false }, async () => open());

test('the last stories are known; what is late to a forgotten one changes no other', async () => {
  await using bench = open(new StoryRing(3));
  const it = Object.assign(bench, { reopen: () => Promise.reject(new Error('not here')) });
  const batch = [1, 2, 3, 4, 5].map((at) => said(`c${at}`, 'hello'));
  const known = accepted(await it.ledger.accept(batch)).map(({ id }) => id);
  const stories = await Promise.all(known.map((id) => it.reader.story(id)));
  assert.deepEqual(
    stories.map((story) => story?.state ?? null),
    [null, null, 'waiting', 'waiting', 'waiting'],
  );
  // The oldest two are answered after the ring forgot them; no other story may show that answer.
  for (const claim of await it.ledger.claim('in', batch[0]!.channel, 2)) {
    await answer(it, claim, 'one', 'two');
  }
  for (const id of known.slice(2)) {
    const story = await it.reader.story(id);
    assert.deepEqual([story?.state, story?.replies, story?.trace], ['waiting', [], null]);
  }
});

test('what a slot knew of a story is gone when another takes it', async () => {
  await using bench = open(new StoryRing(1));
  const it = Object.assign(bench, { reopen: () => Promise.reject(new Error('not here')) });
  await accept(it, said('ada', 'hello'));
  const claim = await oneIn(it);
  await answer(it, claim, 'hi');
  await it.ledger.deadLetter(await oneOut(it), failure('gone'));
  assert.equal((await it.reader.deadLetters({ after: null, limit: 5 })).rows.length, 1);
  const [next] = await accept(it, said('ada', 'again'));
  assert.deepEqual((await it.reader.deadLetters({ after: null, limit: 5 })).rows, []);
  await answer(it, await oneIn(it), 'hi');
  const [reply] = (await it.reader.story(next!.id))!.replies;
  assert.deepEqual([reply?.state, reply?.attempts, reply?.failure], ['waiting', 0, null]);
});

test('of what came in one millisecond the later one stands first, each on one page', async () => {
  const now = (): number => 1_000;
  const atOnce = createIdSource(now, (bytes) => void crypto.getRandomValues(bytes));
  const stories = new StoryRing();
  await using ledger = createMemoryLedger({ ...systemClock, now, ids: atOnce, stories });
  const it = Object.assign(ledger, { ledger, reopen: () => Promise.reject(new Error('not here')) });
  const newestFirst: string[] = [];
  for (let at = 0; at < 7; at++) {
    const [receipt] = await accept(it, said(`c${at}`, 'hello'));
    newestFirst.unshift(receipt!.id);
    const claim = await oneIn(it);
    const reply = { ...replyTo(claim, 'hi'), id: atOnce.reply(), createdAt: now() };
    await ledger.complete(claim, { ...effects(claim, []), replies: [reply] });
  }
  const reader = createMemoryReader(stories);
  const messages = await everyRow((page) => reader.messages(anyMessage, page));
  assert.deepEqual(
    messages.map(({ id }) => id),
    newestFirst,
  );
  const any = { channel: null, state: null };
  const deliveries = await everyRow((page) => reader.deliveries(any, page));
  assert.deepEqual(
    deliveries.map(({ message }) => message),
    newestFirst,
  );
});

async function everyRow<Row>(read: (page: PageRequest) => Promise<Page<Row>>): Promise<Row[]> {
  const seen: Row[] = [];
  for (let after: string | null = null; ;) {
    const page: Page<Row> = await read({ after, limit: 2 });
    seen.push(...page.rows);
    if (page.next === null) return seen;
    after = page.next;
  }
}
