/**
 * The reader's contract over every backend: the ledger makes the states, the reader reports them.
 * Each case has a new store.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { failure, type Failure } from '../../src/domain/failure.ts';
import type { ReplyId } from '../../src/domain/ids.ts';
import type { DeadLetter, ReplyStory, Story } from '../../src/domain/story.ts';
import type { Ledger, LedgerReader } from '../../src/ledger/ledger.ts';
import { agentReads } from './reader-agents.ts';
import { approvalReads } from './reader-approvals.ts';
import { answered, arrive, dueOut } from './reader-kit.ts';
import { figureReads } from './reader-figures.ts';
import { linkReads } from './reader-links.ts';
import { pageReads } from './reader-pages.ts';
import { recordReads } from './reader-records.ts';
import { searchReads } from './reader-search.ts';
import { spendReads } from './reader-spend.ts';
import { deliver, effects, hook, oneIn, oneOut, replyTo, type Bench } from './ledger/kit.ts';
import { patienceMs } from '../support/waiting.ts';

export interface ReaderBench extends AsyncDisposable {
  readonly ledger: Ledger;
  readonly reader: LedgerReader;
}

type Backend = { readonly durable: boolean };
export type It = Bench & ReaderBench;
export type ReaderCase = readonly [name: string, run: (it: It, backend: Backend) => Promise<void>];

const down: Failure = failure('server_error', { status: 502 });
const gone: Failure = failure('gone', { status: 410 });
const all = { after: null, limit: 100 };

const stories: readonly ReaderCase[] = [
  [
    'a message that waits has a story from the start',
    async (it) => {
      const id = await arrive(it);
      const story = await storyOf(it, id);
      assert.deepEqual([story.id, story.channel, story.state], [id, hook, 'waiting']);
      assert.deepEqual([story.diedUnder, story.settledAt, story.failure], [0, null, null]);
      assert.deepEqual([story.trace, story.replies], [null, []]);
      assert.ok(recent(story.acceptedAt));
    },
  ],
  [
    'an answered message tells its trace and the reply that waits',
    async (it) => {
      const { message } = await answered(it);
      const story = await storyOf(it, message.id);
      assert.equal(story.state, 'answered');
      assert.ok(recent(story.settledAt));
      assert.equal(story.trace?.brain, 'main');
      assert.deepEqual(story.trace?.steps, []);
      const reply = only(story.replies);
      assert.deepEqual([reply.state, reply.attempts, reply.late], ['waiting', 0, false]);
      assert.deepEqual([reply.settledAt, reply.dueAt, reply.failure], [null, null, null]);
      assert.deepEqual(reply.tries, []);
      assert.ok(recent(reply.createdAt));
    },
  ],
  [
    'a delivery is a try that nothing failed in',
    async (it) => {
      const { message } = await answered(it);
      await deliver(it, await oneOut(it));
      const reply = only((await storyOf(it, message.id)).replies);
      assert.deepEqual([reply.state, reply.attempts, reply.failure], ['delivered', 1, null]);
      assert.ok(recent(reply.settledAt));
      const one = only(reply.tries);
      assert.deepEqual([one.failed, one.status], [null, null]);
      assert.ok(recent(one.startedAt) && one.ms >= 0 && one.ms < 2 * patienceMs);
    },
  ],
  [
    'tries that failed stand before the one that delivered',
    async (it) => {
      const { message } = await answered(it);
      const park = { park: false, possibleDuplicate: true };
      await it.ledger.defer(await oneOut(it), Date.now() + 1, down, park);
      await deliver(it, await dueOut(it));
      const reply = only((await storyOf(it, message.id)).replies);
      assert.deepEqual([reply.state, reply.attempts, reply.failure], ['delivered', 2, null]);
      assert.equal(reply.possibleDuplicate, true);
      const tried = reply.tries.map(({ failed, status }) => [failed, status]);
      assert.deepEqual(tried, [
        ['server_error', 502],
        [null, null],
      ]);
    },
  ],
  [
    'a parked reply is late, and says when it is tried again and why it was put off',
    async (it) => {
      const { message } = await answered(it);
      const at = Date.now() + 300_000;
      const park = { park: true, possibleDuplicate: false };
      await it.ledger.defer(await oneOut(it), at, down, park);
      const reply = only((await storyOf(it, message.id)).replies);
      assert.deepEqual([reply.state, reply.late, reply.attempts], ['waiting', true, 1]);
      assert.deepEqual([reply.dueAt, reply.settledAt], [at, null]);
      assert.deepEqual([reply.failure?.kind, reply.failure?.status], ['server_error', 502]);
    },
  ],
  [
    'of many tries the last sixteen are told, and all are counted',
    async (it) => {
      const { message } = await answered(it);
      for (let at = 0; at < 18; at++) {
        const why = at === 0 ? gone : down;
        const how = { park: false, possibleDuplicate: false };
        await it.ledger.defer(await dueOut(it), Date.now(), why, how);
      }
      const reply = only((await storyOf(it, message.id)).replies);
      assert.equal(reply.attempts, 18);
      assert.equal(reply.tries.length, 16);
      assert.ok(reply.tries.every(({ failed }) => failed === 'server_error'));
    },
  ],
  [
    'a message that nobody knows has no story, no text and no dead letter',
    async (it) => {
      for (const id of ['', 'nobody', '0'.repeat(22), "'; DROP TABLE inbox; --"]) {
        assert.equal(await it.reader.story(id), null);
        assert.equal(await it.reader.storyText(id), null);
        assert.equal(await it.reader.deadLetter(id), null);
      }
    },
  ],
];

const deadLetters: readonly ReaderCase[] = [
  [
    'a buried message is dead, with its reason; so is its letter',
    async (it, { durable }) => {
      const id = await arrive(it);
      const claim = await oneIn(it);
      await it.ledger.deadLetter(claim, failure('fault'), effects(claim, ['Sorry.']));
      const story = await storyOf(it, id);
      assert.deepEqual([story.state, story.failure?.kind], ['dead', 'fault']);
      assert.equal(story.replies.length, 1, 'its sender is told');
      const letter = only(await lettersOf(it));
      assert.deepEqual([letter.id, letter.messageId, letter.box], [id, id, 'in']);
      assert.deepEqual([letter.parts, letter.attempts], [1, 1]);
      assert.equal(letter.acceptedAt, story.acceptedAt);
      assert.equal((await it.reader.deadLetter(id))?.text, durable ? 'hello' : null);
    },
  ],
  [
    'a dead reply is a letter that knows its message, its tries and its reason',
    async (it, { durable }) => {
      const { message } = await answered(it);
      const how = { park: false, possibleDuplicate: false };
      await it.ledger.defer(await oneOut(it), Date.now(), down, how);
      const claim = await dueOut(it);
      await it.ledger.deadLetter(claim, gone);
      const letter = only(await lettersOf(it));
      const { kind, whose, status, detail } = gone;
      assert.deepEqual(letter.failure, { kind, whose, status, detail });
      assert.deepEqual([letter.id, letter.messageId], [claim.reply.id, message.id]);
      assert.deepEqual([letter.box, letter.channel, letter.attempts], ['out', hook, 2]);
      assert.equal(letter.acceptedAt, message.acceptedAt);
      assert.ok(recent(letter.diedAt));
      const text = await it.reader.deadLetter(letter.id);
      assert.deepEqual(
        text?.tries.map(({ failed }) => failed),
        ['server_error', 'gone'],
      );
      assert.equal(text?.text, durable ? 'hi' : null);
      assert.equal(text?.conversation, durable ? 'ada' : '');
      const reply = only((await storyOf(it, message.id)).replies);
      assert.deepEqual([reply.state, reply.failure?.kind], ['dead', 'gone']);
    },
  ],
  [
    'the parts of a reply that died together are one letter',
    async (it, { durable }) => {
      const { message, whole } = await split(it, 'one', 'two', 'three');
      await it.ledger.deadLetter(await oneOut(it), gone);
      const letter = only(await lettersOf(it));
      assert.deepEqual([letter.id, letter.parts, letter.attempts], [whole, 3, 1]);
      const text = await it.reader.deadLetter(whole);
      assert.equal(text?.text, durable ? 'one\ntwo\nthree' : null);
      assert.equal(text?.tries.length, 1);
      assert.equal((await it.reader.deadLetter(`${whole}-01`))?.id, whole);
      const { replies } = await storyOf(it, message.id);
      assert.deepEqual(
        replies.map(({ state }) => state),
        ['dead', 'dead', 'dead'],
      );
      assert.equal(only(await it.reader.deadLetterReasons()).count, 1);
    },
  ],
  [
    'what was delivered of a split reply is not in its letter',
    async (it) => {
      const { whole } = await split(it, 'one', 'two', 'three');
      await deliver(it, await oneOut(it));
      await it.ledger.deadLetter(await dueOut(it), gone);
      const letter = only(await lettersOf(it));
      assert.deepEqual([letter.id, letter.parts], [whole, 2]);
    },
  ],
  [
    'letters come newest first, a page at a time, each once',
    async (it) => {
      const dead: string[] = [];
      for (let at = 0; at < 7; at++) {
        await answered(it);
        const claim = await oneOut(it);
        await it.ledger.deadLetter(claim, at % 2 === 0 ? gone : down);
        dead.unshift(claim.reply.id);
      }
      const seen: string[] = [];
      let after: string | null = null;
      do {
        const page = await it.reader.deadLetters({ after, limit: 3 });
        assert.ok(page.rows.length <= 3);
        seen.push(...page.rows.map(({ id }) => id));
        after = page.next;
      } while (after !== null);
      assert.deepEqual(seen.toSorted(), dead.toSorted());
      const times = (await lettersOf(it)).map(({ diedAt }) => diedAt);
      assert.deepEqual(
        times,
        times.toSorted((a, b) => b - a),
      );
    },
  ],
  [
    'reasons are counted, the most frequent first',
    async (it) => {
      for (const why of [gone, down, gone]) {
        await answered(it);
        await it.ledger.deadLetter(await oneOut(it), why);
      }
      await arrive(it);
      await it.ledger.deadLetter(await oneIn(it), gone);
      const reasons = await it.reader.deadLetterReasons();
      assert.deepEqual(
        [reasons[0]?.box, reasons[0]?.kind, reasons[0]?.status, reasons[0]?.count],
        ['out', 'gone', 410, 2],
      );
      const rest = reasons.slice(1).map(({ box, kind, count }) => `${box} ${kind} ${count}`);
      assert.deepEqual(rest.toSorted(), ['in gone 1', 'out server_error 1']);
    },
  ],
];

/** Runs every case over one backend; each case has a new store. */
export function testReaderContract(
  name: string,
  backend: Backend,
  open: () => Promise<ReaderBench>,
  skip: string | false = false,
): void {
  suite(`the reader of the ${name} form`, { concurrency: 4 }, () => {
    for (const [what, run] of [
      ...stories,
      ...deadLetters,
      ...linkReads,
      ...pageReads,
      ...agentReads,
      ...recordReads,
      ...spendReads,
      ...figureReads,
      ...approvalReads,
      ...searchReads,
    ]) {
      test(what, { skip }, async () => {
        await using bench = await open();
        const it = Object.assign(bench, { reopen: () => Promise.reject(new Error('not here')) });
        await run(it, backend);
      });
    }
  });
}

/** A message with an answer in parts. */
async function split(it: It, ...texts: string[]) {
  await arrive(it);
  const claim = await oneIn(it);
  const reply = replyTo(claim, '');
  const replies = texts.map((text, at) => ({
    ...reply,
    id: `${reply.id}-${String(at).padStart(2, '0')}` as ReplyId,
    text,
  }));
  assert.equal(await it.ledger.complete(claim, { ...effects(claim, []), replies }), true);
  return { message: claim.message, whole: reply.id };
}

async function storyOf(it: It, id: string): Promise<Story> {
  const story = await it.reader.story(id);
  assert.ok(story !== null, `the story of ${id} is known`);
  return story;
}

async function lettersOf(it: It): Promise<readonly DeadLetter[]> {
  const { rows, next } = await it.reader.deadLetters(all);
  assert.equal(next, null);
  return rows;
}

function only<T extends ReplyStory | DeadLetter | object>(list: readonly T[]): T {
  assert.equal(list.length, 1, 'there is one');
  return list[0]!;
}

/** Whether it is a time of this test run. */
function recent(time: number | null | undefined): boolean {
  return typeof time === 'number' && Math.abs(Date.now() - time) < 2 * patienceMs;
}
