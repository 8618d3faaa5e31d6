/** Lists of messages, replies and operators' actions, as every backend reads them. */
import assert from 'node:assert/strict';
import type { AuditRow } from '../../src/domain/audit.ts';
import { failure } from '../../src/domain/failure.ts';
import type { ChannelKey, ModelName, ReplyId } from '../../src/domain/ids.ts';
import type { Page, PageRequest } from '../../src/domain/page.ts';
import {
  anyMessage,
  type MessageFilter,
  type DeliveryFilter,
  type DeliveryRow,
  type MessageRow,
} from '../../src/domain/records.ts';
import type { TraceStep } from '../../src/domain/trace.ts';
import type { Effects, InClaim } from '../../src/ledger/ledger.ts';
import {
  accept,
  deliver,
  effects,
  hook,
  oneIn,
  oneOut,
  other,
  replyTo,
  said,
} from './ledger/kit.ts';
import { arrive, dueOut } from './reader-kit.ts';
import type { It, ReaderCase } from './reader.ts';

const gone = failure('gone', { status: 410 });
const again = 'messenger_a:9' as ChannelKey;
const model = 'local_runtime/small' as ModelName;
const noReplies = { waiting: 0, delivered: 0, dead: 0 };

const messages: readonly ReaderCase[] = [
  [
    'a list tells of a message that waits, of one that was answered, and of one that died',
    async (it) => {
      const first = await ended(it, { outcome: 'reply' });
      await deliver(it, await oneOut(it));
      const second = await arrive(it);
      await it.ledger.deadLetter(await oneIn(it), failure('poison'));
      const third = await arrive(it);
      const [waiting, dead, done, ...more] = await list(it);
      assert.deepEqual(more, []);
      const nothing = { channel: hook, brain: null, outcome: null, model: null, totalMs: null };
      assert.deepEqual(waiting, {
        ...nothing,
        id: third,
        acceptedAt: waiting!.acceptedAt,
        state: 'waiting',
        settledAt: null,
        replies: noReplies,
      });
      assert.deepEqual([dead?.id, dead?.state, dead?.outcome], [second, 'dead', null]);
      assert.deepEqual([dead?.brain, dead?.totalMs, dead?.replies], [null, null, noReplies]);
      assert.deepEqual([done?.id, done?.state, done?.brain], [first, 'answered', 'main']);
      assert.deepEqual([done?.outcome, done?.model], ['reply', model]);
      assert.deepEqual(done?.replies, { ...noReplies, delivered: 1 });
      const story = await it.reader.story(first);
      assert.equal(done?.acceptedAt, story?.acceptedAt);
      assert.equal(done?.settledAt, story?.settledAt);
      assert.equal(done?.totalMs, story!.replies[0]!.settledAt! - story!.acceptedAt);
    },
  ],
  [
    'the whole time is known once no part of the reply waits, and something arrived',
    async (it) => {
      await arrive(it);
      const claim = await oneIn(it);
      const reply = replyTo(claim, 'part');
      const replies = ['00', '01', '02'].map((part) => {
        return { ...reply, id: `${reply.id}-${part}` as ReplyId };
      });
      await it.ledger.complete(claim, { ...effects(claim, []), replies });
      const told = async () => {
        const { totalMs, replies: counts } = (await list(it))[0]!;
        return [totalMs === null, counts.waiting, counts.delivered, counts.dead];
      };
      assert.deepEqual(await told(), [true, 3, 0, 0]);
      await deliver(it, await oneOut(it));
      assert.deepEqual(await told(), [true, 2, 1, 0]);
      await it.ledger.deadLetter(await oneOut(it), gone);
      assert.deepEqual(await told(), [false, 0, 1, 2]);
    },
  ],
  [
    'an agent has no policy: the last model to answer is the one; an apology has none',
    async (it) => {
      await ended(it, { steps: [answerOf('local_runtime/first'), answerOf(model)] });
      await ended(it, { steps: [answerOf(model), { ...answerOf('x/failed'), result: 'timeout' }] });
      await ended(it, { outcome: 'busy', steps: [answerOf(model)] });
      await ended(it, { outcome: 'command', steps: [] });
      const told = (await list(it)).map((row) => [row.outcome, row.model]);
      assert.deepEqual(told, [
        ['command', null],
        ['busy', null],
        ['reply', model],
        ['reply', model],
      ]);
    },
  ],
  [
    'lists by a type leave out the named channels of that type',
    async (it) => {
      const support = 'support@messenger_a:77' as ChannelKey;
      const former = 'support@messenger_a:5' as ChannelKey;
      const intake = 'intake@webhook' as ChannelKey;
      const ids: string[] = [];
      for (const channel of [other, support, former, hook, intake]) {
        ids.unshift(await ended(it, { channel }));
      }
      const [ofIntake, hooked, ofFormer, ofSupport, bot] = ids;
      const expected = [
        ['messenger_a', [bot]],
        ['support', [ofFormer, ofSupport]],
        [support, [ofSupport]],
        ['supp', []],
        ['webhook', [hooked]],
        ['intake', [ofIntake]],
        [intake, [ofIntake]],
      ] as const;
      const page = { after: null, limit: 100 };
      for (const [channel, wanted] of expected) {
        const found = await it.reader.messages({ ...anyMessage, channel }, page);
        assert.deepEqual(
          found.rows.map(({ id }) => id),
          wanted,
          channel,
        );
        const deliveries = await it.reader.deliveries({ channel, state: null }, page);
        assert.deepEqual(
          deliveries.rows.map(({ message }) => message),
          wanted,
          channel,
        );
      }
    },
  ],
  [
    'messages are listed by channel, by all bots of a type, by brain, state and outcome',
    async (it) => {
      const hooked = await ended(it, { brain: 'a' });
      const sorry = await ended(it, { brain: 'b', outcome: 'busy' });
      const bot = await ended(it, { channel: other, brain: 'b' });
      const dead = await ended(it, { channel: again, brain: 'b', outcome: 'fault', died: true });
      await accept(it, said('ada', 'hello', { channel: again }));
      const waiting = (await list(it))[0]!.id;
      const all = [waiting, dead, bot, sorry, hooked];
      const expected: readonly (readonly [Partial<MessageFilter>, readonly string[]])[] = [
        [{}, all],
        [{ channel: hook }, [sorry, hooked]],
        [{ channel: 'messenger_a' }, [waiting, dead, bot]],
        [{ channel: again }, [waiting, dead]],
        [{ channel: 'messenger_b' }, []],
        [{ brain: 'b' }, [dead, bot, sorry]],
        [{ brain: 'B' }, []],
        [{ brain: 'b', channel: hook }, [sorry]],
        [{ state: 'waiting' }, [waiting]],
        [{ state: 'waiting', channel: hook }, []],
        [{ state: 'answered' }, [bot, sorry, hooked]],
        [{ state: 'dead' }, [dead]],
        [{ state: 'dead', outcome: 'fault', brain: 'b' }, [dead]],
        [{ state: 'unanswered' }, [dead, sorry]],
        [{ state: 'unanswered', channel: hook }, [sorry]],
        [{ state: 'unanswered', brain: 'a' }, []],
        [{ state: 'unanswered', outcome: 'fault' }, [dead]],
        [{ state: 'unanswered', outcome: 'reply' }, []],
        [{ state: 'dead', outcome: 'busy' }, []],
        [{ outcome: 'reply' }, [bot, hooked]],
        [{ outcome: 'busy' }, [sorry]],
        [{ outcome: 'busy', brain: 'a' }, []],
        [{ outcome: 'no_consensus' }, []],
      ];
      for (const [filter, wanted] of expected) {
        const found = (await list(it, filter)).map(({ id }) => id);
        assert.deepEqual(found, wanted, JSON.stringify(filter));
      }
    },
  ],
  [
    'a message that died and runs again has no ending of its own, and is as new as that',
    async (it, { durable }) => {
      const id = await ended(it, { outcome: 'fault', died: true });
      const newer = await later(it);
      const [, before] = await list(it);
      assert.deepEqual([before?.id, before?.outcome, before?.brain], [id, 'fault', 'main']);
      if ((await it.ledger.replay(id)) !== 'done') return assert.equal(durable, false);
      const [rerun, behind] = await list(it);
      assert.deepEqual([rerun?.id, rerun?.state, behind?.id], [id, 'waiting', newer]);
      assert.deepEqual([rerun?.outcome, rerun?.brain, rerun?.model], [null, null, null]);
      assert.deepEqual([rerun?.settledAt, rerun?.totalMs], [null, null]);
      const page = { after: null, limit: 9, order: 'oldest' } as const;
      const { rows } = await it.reader.messages(anyMessage, page);
      assert.deepEqual([rows[0]?.id, rows[1]?.id], [newer, id]);
      assert.deepEqual(await list(it, { brain: 'main' }), []);
    },
  ],
  [
    'a stretch of time begins with its first millisecond and ends before its last',
    async (it) => {
      const [first, second] = [await arrive(it), await later(it)];
      const at = (await it.reader.story(first))!.acceptedAt;
      const next = (await it.reader.story(second))!.acceptedAt;
      const within = async (since: number | null, until: number | null) =>
        (await list(it, { since, until })).map(({ id }) => id);
      assert.deepEqual(await within(at, null), [second, first]);
      assert.deepEqual(await within(at + 1, null), [second]);
      assert.deepEqual(await within(next + 1, null), []);
      assert.deepEqual(await within(null, next), [first]);
      assert.deepEqual(await within(null, next + 1), [second, first]);
      assert.deepEqual(await within(at, at), []);
      const firstOf = async (since: number | null, until: number | null) => {
        const page = { after: null, limit: 1, order: 'oldest' } as const;
        return (await it.reader.messages({ ...anyMessage, since, until }, page)).rows[0]?.id;
      };
      assert.equal(await firstOf(null, null), first);
      assert.equal(await firstOf(at + 1, null), second);
      assert.equal(await firstOf(at, at), undefined);
      assert.equal(await firstOf(next, next + 1), second);
    },
  ],
  [
    'pages of messages hold each once, in one order, also while others come',
    async (it) => {
      const known: string[] = [];
      for (let at = 0; at < 7; at++) {
        const channel = at % 3 === 0 ? other : hook;
        known.unshift(await ended(it, { channel }));
      }
      const seen: MessageRow[] = await pages(
        (page) => it.reader.messages(anyMessage, page),
        () => arrive(it),
      );
      assert.deepEqual(
        seen.map(({ id }) => id),
        known,
      );
      const fromFirst: MessageRow[] = await pages(
        (page) => it.reader.messages(anyMessage, { ...page, order: 'oldest' }),
        () => arrive(it),
      );
      assert.deepEqual(
        fromFirst.map(({ id }) => id).slice(0, known.length),
        known.toReversed(),
        'the oldest come first if that is asked',
      );
      for (const after of ['', 'nonsense', 'W10', 'WyJhIl0']) {
        const { rows, next } = await it.reader.messages(anyMessage, { after, limit: 3 });
        assert.deepEqual([rows, next], [[], null]);
      }
    },
  ],
];

const deliveries: readonly ReaderCase[] = [
  [
    'a delivery waits, is deferred, arrives or dies, and names its message',
    async (it) => {
      const messageId = await ended(it);
      const waiting = await delivery(it);
      assert.deepEqual(waiting, {
        id: waiting.id,
        message: messageId,
        channel: hook,
        createdAt: waiting.createdAt,
        state: 'waiting',
        attempts: 0,
        nextAt: null,
        possibleDuplicate: false,
        late: false,
        failure: null,
      });
      const at = Date.now() + 300_000;
      const down = failure('server_error', { status: 502 });
      await it.ledger.defer(await oneOut(it), at, down, { park: true, possibleDuplicate: true });
      const deferred = await delivery(it);
      assert.deepEqual([deferred.state, deferred.nextAt, deferred.attempts], ['deferred', at, 1]);
      assert.deepEqual([deferred.possibleDuplicate, deferred.late], [true, true]);
      assert.deepEqual([deferred.failure?.kind, deferred.failure?.status], ['server_error', 502]);
      await ended(it);
      const soon = { park: false, possibleDuplicate: false };
      await it.ledger.defer(await oneOut(it), Date.now() + 1, down, soon);
      await deliver(it, await dueOut(it));
      const arrived = await delivery(it);
      assert.deepEqual([arrived.state, arrived.attempts], ['delivered', 2]);
      assert.deepEqual([arrived.nextAt, arrived.failure], [null, null]);
      await ended(it);
      await it.ledger.deadLetter(await oneOut(it), gone);
      const dead = await delivery(it);
      assert.deepEqual([dead.state, dead.attempts, dead.nextAt], ['dead', 1, null]);
      assert.equal(dead.failure?.kind, 'gone');
    },
  ],
  [
    'deliveries are listed by channel and state, newest first, each on one page',
    async (it) => {
      const hooked = await ended(it);
      await deliver(it, await oneOut(it));
      const dead = await ended(it, { channel: other });
      await it.ledger.deadLetter(await oneOut(it, other), gone);
      const bot = await ended(it, { channel: again });
      const expected: readonly (readonly [Partial<DeliveryFilter>, readonly string[]])[] = [
        [{}, [bot, dead, hooked]],
        [{ channel: 'messenger_a' }, [bot, dead]],
        [{ channel: again }, [bot]],
        [{ channel: 'messenger_b' }, []],
        [{ state: 'waiting' }, [bot]],
        [{ state: 'waiting', channel: hook }, []],
        [{ state: 'deferred' }, []],
        [{ state: 'delivered' }, [hooked]],
        [{ state: 'delivered', channel: other }, []],
        [{ state: 'dead' }, [dead]],
        [{ state: 'dead', channel: again }, []],
      ];
      for (const [filter, wanted] of expected) {
        const asked = { channel: null, state: null, ...filter };
        const { rows } = await it.reader.deliveries(asked, { after: null, limit: 100 });
        const found = rows.map(({ message }) => message);
        assert.deepEqual(found, wanted, JSON.stringify(filter));
      }
      const any = { channel: null, state: null };
      const seen: DeliveryRow[] = await pages(
        (page) => it.reader.deliveries(any, page),
        () => ended(it),
      );
      assert.deepEqual(
        seen.map(({ message }) => message),
        [bot, dead, hooked],
      );
    },
  ],
];

const counts: readonly ReaderCase[] = [
  [
    'conversations and turns are counted by channel, without those that were deleted',
    async (it, { durable }) => {
      assert.deepEqual(await it.reader.conversationCounts(), []);
      for (const who of ['ada', 'ada', 'bob']) await ended(it, { who });
      await ended(it, { channel: other });
      const told = async () =>
        (await it.reader.conversationCounts()).map((row) => {
          return [row.channel, row.conversations, row.turns];
        });
      const both = [
        ['messenger_a:77', 1, 1],
        ['webhook', 2, 3],
      ];
      assert.deepEqual(await told(), durable ? both : []);
      const [, row] = await it.reader.conversationCounts();
      const newest = (await list(it, { channel: hook }))[0]!;
      assert.equal(row?.lastAt, durable ? newest.acceptedAt : undefined);
      await it.ledger.forget({ kind: 'sender', channel: hook, sender: 'sender of ada' });
      await it.ledger.forget({ kind: 'sender', channel: other, sender: 'sender of ada' });
      assert.deepEqual(await told(), durable ? [['webhook', 1, 1]] : []);
      await ended(it, { who: 'bob', sender: 'carol' });
      await it.ledger.forget({ kind: 'sender', channel: hook, sender: 'carol' });
      assert.deepEqual(await told(), durable ? [['webhook', 1, 1]] : [], 'bob is still in it');
    },
  ],
];

const audit: readonly ReaderCase[] = [
  [
    'what operators did is told newest first, a page at a time, as it was written down',
    async (it) => {
      const rows: AuditRow[] = [];
      for (let at = 1; at <= 5; at++) {
        const target = at === 1 ? {} : { channel: 'webhook', sender: `"${at}\u2028` };
        const reason = at % 2 === 0 ? 'asked for' : null;
        rows.unshift({ at, action: 'forget_sender', target, status: 200, reason });
        assert.equal(await it.ledger.recordWrite(rows[0]!), true);
      }
      const seen: AuditRow[] = await pages(
        (page) => it.reader.audit(page),
        async () => {
          await it.ledger.recordWrite({ ...rows[0]!, at: 9 });
        },
      );
      assert.deepEqual(seen, rows);
      assert.deepEqual(await it.reader.audit({ after: 'nonsense', limit: 3 }), {
        rows: [],
        next: null,
      });
    },
  ],
];

export const recordReads = [...messages, ...deliveries, ...counts, ...audit];

type Ending = Partial<Pick<NonNullable<Effects['trace']>, 'brain' | 'outcome' | 'steps'>> & {
  readonly channel?: ChannelKey;
  readonly who?: string;
  readonly died?: boolean;
  readonly sender?: string;
};

/** A message whose turn ended so, with one waiting reply. @returns its id */
async function ended(it: It, how: Ending = {}): Promise<string> {
  const { channel = hook, who = 'ada', died = false, sender, ...told } = how;
  const id = sender ?? `sender of ${who}`;
  const from = { channel, sender: { id, name: null } };
  const [receipt] = await accept(it, said(who, 'hello', from));
  const claim = await oneIn(it, channel);
  const whole = endingOf(claim, told);
  const done = died
    ? await it.ledger.deadLetter(claim, failure('fault'), whole)
    : await it.ledger.complete(claim, whole);
  assert.equal(done, true);
  return receipt!.id;
}

function endingOf(claim: InClaim, told: Ending): Effects {
  const made = effects(claim, ['hi']);
  const policy = { policy: 'priority', verdict: 'reply', winner: model, votes: [] } as const;
  const steps: readonly TraceStep[] = [{ kind: 'policy', ...policy, why: 'it ranks first' }];
  return { ...made, trace: { ...made.trace!, steps, ...told } };
}

function answerOf(of: string): Extract<TraceStep, { kind: 'model' }> {
  const name = of as ModelName;
  const times = { startMs: 0, ms: 1, tries: [], linesDropped: 0, usage: null };
  return { kind: 'model', model: name, rank: 0, result: 'answer', ...times };
}

/** Accepts a message in a later millisecond than all before. */
async function later(it: It): Promise<string> {
  for (const began = Date.now(); Date.now() <= began;) await new Promise(setImmediate);
  return arrive(it);
}

async function list(it: It, filter: Partial<MessageFilter> = {}): Promise<readonly MessageRow[]> {
  const asks = { after: null, limit: 100 };
  const { rows, next } = await it.reader.messages({ ...anyMessage, ...filter }, asks);
  assert.equal(next, null);
  return rows;
}

async function delivery(it: It): Promise<DeliveryRow> {
  const any = { channel: null, state: null };
  const { rows } = await it.reader.deliveries(any, { after: null, limit: 1 });
  return rows[0]!;
}

/** Every row, two a page; a change comes between two pages. */
async function pages<Row>(
  read: (page: PageRequest) => Promise<Page<Row>>,
  between: () => Promise<unknown>,
): Promise<Row[]> {
  const seen: Row[] = [];
  for (let after: string | null = null; ;) {
    const page: Page<Row> = await read({ after, limit: 2 });
    assert.ok(page.rows.length <= 2);
    seen.push(...page.rows);
    if (page.next === null) return seen;
    after = page.next;
    await between();
  }
}
