import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../src/domain/failure.ts';
import { createMemoryReader } from '../src/store/memory-reader.ts';
import { createMemoryLedger } from '../src/store/memory.ts';
import { StoryRing } from '../src/store/story-ring.ts';
import { accept, accepted, answer, ids, oneIn, oneOut, said } from './contract/ledger/kit.ts';
import { testReaderContract, type ReaderBench } from './contract/reader.ts';

function open(stories = new StoryRing()): ReaderBench {
  const ledger = createMemoryLedger({ now: Date.now, ids, stories });
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
  // The oldest two are answered after they were forgotten: that is told of nobody else.
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
  await it.ledger.bury(await oneOut(it), failure('gone'));
  assert.equal((await it.reader.deadLetters({ after: null, limit: 5 })).rows.length, 1);
  const [next] = await accept(it, said('ada', 'again'));
  assert.deepEqual((await it.reader.deadLetters({ after: null, limit: 5 })).rows, []);
  await answer(it, await oneIn(it), 'hi');
  const [reply] = (await it.reader.story(next!.id))!.replies;
  assert.deepEqual([reply?.state, reply?.attempts, reply?.failure], ['waiting', 0, null]);
});
