/** Results of replayed letters: events trigger a read, and the result is reported. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { failure } from '../../../src/domain/failure.ts';
import type { Story } from '../../../src/domain/story.ts';
import type { PageEvent } from '../feed.ts';
import { fateIn, describeFates, type Fate, type Mover } from './fates.ts';
import { Following } from './following.ts';

const message = 'm'.repeat(22);
const reply = 'r'.repeat(22);
const out = { id: reply, box: 'out', messageId: message } as Mover;
const into = { id: message, box: 'in', messageId: message } as Mover;

function storyWith(states: readonly string[], more: object = {}): Story {
  const gone = { ...failure('gone'), status: 410 };
  const replies = states.map((state, part) => {
    return { id: `${reply}${part}`, state, failure: state === 'delivered' ? null : gone };
  });
  return { id: message, state: 'answered', failure: null, trace: null, replies, ...more } as never;
}

test('a story tells what became of a letter', () => {
  const why = 'the receiver answers 410';
  assert.deepEqual(fateIn(storyWith(['delivered', 'delivered']), out), { kind: 'delivered' });
  assert.deepEqual(fateIn(storyWith(['delivered', 'waiting']), out), { kind: 'waits', why });
  assert.deepEqual(fateIn(storyWith(['delivered', 'dead']), out), { kind: 'dead', why });
  assert.deepEqual(fateIn(null, out), { kind: 'unknown' });
  assert.deepEqual(fateIn(storyWith([], { state: 'waiting' }), into), { kind: 'waits', why: null });
  const failed = { ...failure('poison'), status: null };
  const dead = fateIn(storyWith([], { state: 'dead', failure: failed }), into);
  assert.deepEqual(dead, { kind: 'dead', why: failure('poison').detail });
  const apology = storyWith(['delivered'], { trace: { outcome: 'no_answer' } });
  assert.deepEqual(fateIn(apology, into), { kind: 'unanswered', why: 'no answer' });
});

test('fates are counted, with reasons', () => {
  const why = 'the receiver answers 410';
  const delivered: Fate = { kind: 'delivered' };
  const all: Fate[] = [delivered, { kind: 'dead', why }, delivered, { kind: 'waits', why: null }];
  assert.equal(
    describeFates(all),
    '2 delivered, 1 dead again (the receiver answers 410), 1 still waits',
  );
  assert.equal(
    describeFates([
      { kind: 'dead', why },
      { kind: 'dead', why },
      { kind: 'dead', why: 'other' },
    ]),
    '3 dead again (2: the receiver answers 410; 1: other)',
  );
});

/** A service with the test's stories, and a clock that the test moves. */
function followed(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const stories = new Map<string, Story | null | undefined>();
  const asked: string[] = [];
  let last: readonly Fate[] = [];
  const following = new Following({
    read: (id) => {
      asked.push(id);
      return Promise.resolve(stories.get(id));
    },
    onChange: (fates) => {
      last = fates;
    },
  });
  const pass = async (ms: number): Promise<void> => {
    t.mock.timers.tick(ms);
    for (let turns = 0; turns < 20; turns++) await Promise.resolve();
  };
  return { following, stories, asked, pass, said: () => describeFates(last) };
}

test('one that waits is asked for until it has come to an end, and then no more', async (t) => {
  const it = followed(t);
  it.stories.set(message, storyWith(['waiting']));
  it.following.add(out);
  await it.pass(100);
  assert.equal(it.said(), '1 still waits (the receiver answers 410)');
  await it.pass(1_000);
  it.stories.set(message, storyWith(['delivered']));
  await it.pass(1_000);
  assert.equal(it.said(), '1 delivered');
  const before = it.asked.length;
  await it.pass(60_000);
  assert.equal(it.asked.length, before);
});

test('what an event tells of is asked for first; what could not be read, again', async (t) => {
  const it = followed(t);
  const many = Array.from({ length: 50 }, (_, at) => ({
    ...out,
    id: `l${at}`,
    messageId: `m${at}`,
  }));
  for (const letter of many) it.following.add(letter);
  await it.pass(100);
  assert.equal(it.asked.length, 20, 'not all at once');
  it.following.hear({ kind: 'reply_delivered', message: 'm45' } as PageEvent);
  it.asked.length = 0;
  await it.pass(100);
  assert.equal(it.asked[0], 'm45');
  for (let second = 0; second < 3; second++) await it.pass(1_000);
  assert.equal(new Set(it.asked).size, 50, 'each has its turn');
  assert.equal(it.said(), '50 still wait');
  it.following[Symbol.dispose]();
  const before = it.asked.length;
  await it.pass(60_000);
  assert.equal(it.asked.length, before, 'nobody looks any more');
});
