import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveEvent } from '../../../src/domain/live-event.ts';
import type { ChannelKey, MessageId, ModelName, ReplyId } from '../../../src/domain/ids.ts';
import { anyMessage, type MessageRow } from '../../../src/domain/records.ts';
import { MessageList, messagesKept } from './message-list.ts';

const channel = 'messenger_a:4711' as ChannelKey;
const model = 'local_runtime/a' as ModelName;

function idOf(number: number): MessageId {
  return String(number).padStart(22, '0') as MessageId;
}

function makeList(): { list: MessageList; tick: () => number } {
  let now = 0;
  const tick = (): number => ++now;
  return { list: new MessageList(tick), tick };
}

function accepted(number: number): LiveEvent {
  return { kind: 'message_accepted', at: number, channel, id: idOf(number), duplicate: false };
}

function finished(number: number): LiveEvent {
  const turn = { channel, id: idOf(number), brain: 'desk', ms: 4 };
  return { kind: 'turn_finished', at: number + 5, ...turn, outcome: 'reply', model };
}

function delivered(number: number): LiveEvent {
  const reply = { id: 'r' as ReplyId, message: idOf(number), attempt: 1 };
  return { kind: 'reply_delivered', at: number + 9, channel, ...reply, totalMs: 9 };
}

const row: MessageRow = {
  id: idOf(7),
  channel,
  brain: null,
  acceptedAt: 7,
  state: 'waiting',
  outcome: null,
  model: null,
  settledAt: null,
  totalMs: null,
  replies: { waiting: 0, delivered: 0, dead: 0 },
};

test('a message is followed from its acceptance to its delivery', () => {
  const { list } = makeList();
  for (const liveEvent of [accepted(7), finished(7), delivered(7)])
    assert.ok(list.apply(liveEvent));
  const replies = { waiting: 0, delivered: 1, dead: 0 };
  const turn = { brain: 'desk', outcome: 'reply', model } as const;
  const end = { state: 'answered', settledAt: 12, totalMs: 9 } as const;
  assert.deepEqual(list.matching(anyMessage), [{ ...row, ...turn, ...end, replies }]);
});

test('a reply that is given up is told, and one that is tried again is still on its way', () => {
  const { list } = makeList();
  list.apply(accepted(7));
  list.apply(finished(7));
  const why = { failure: 'gone', whose: 'operator', status: 410 } as const;
  const tried = { channel, id: 'r' as ReplyId, message: idOf(7), attempt: 1, at: 20, ...why };
  assert.equal(list.apply({ kind: 'delivery_failed', ...tried, nextAt: 99 }), false);
  assert.ok(list.apply({ kind: 'delivery_failed', ...tried, nextAt: null }));
  assert.deepEqual(list.get(idOf(7))?.replies, { waiting: 0, delivered: 0, dead: 1 });
});

test('an answer that was asked for before an event does not undo it', () => {
  const { list, tick } = makeList();
  const askedAt = tick();
  list.apply(accepted(7));
  list.apply(finished(7));
  list.addPage([row], askedAt);
  assert.equal(list.get(idOf(7))?.state, 'answered');
  list.addPage([row], tick());
  assert.equal(list.get(idOf(7))?.state, 'waiting');
});

test('what the newest should hold and do not has stopped to match', () => {
  const { list, tick } = makeList();
  const waiting = { ...anyMessage, state: 'waiting' } as const;
  for (const number of [1, 5, 9]) list.apply(accepted(number));
  list.addNewest([{ ...row, id: idOf(4) }], tick(), waiting, false);
  const left = (): number[] => list.matching(anyMessage).map(({ id }) => Number(id));
  assert.deepEqual(left(), [4, 1]);
  const askedAt = tick();
  list.apply(accepted(11));
  list.addNewest([], askedAt, waiting, true);
  assert.deepEqual(left(), [11]);
});

test('events of messages that are not in the list change nothing', () => {
  const { list } = makeList();
  assert.equal(list.apply(finished(7)), false);
  assert.equal(list.apply(delivered(7)), false);
  assert.equal(
    list.apply({ kind: 'plan_used', at: 1, revision: 'r', channels: 1, brains: 1 }),
    false,
  );
});

test('the newest is first, whatever came when', () => {
  const { list } = makeList();
  for (const number of [5, 9, 7]) list.apply(accepted(number));
  list.addPage(
    [3, 8].map((number) => ({ ...row, id: idOf(number) })),
    0,
  );
  const ids = list.matching(anyMessage).map(({ id }) => Number(id));
  assert.deepEqual(ids, [9, 8, 7, 5, 3]);
});

test('a filter lets a channel’s type stand for all its bots, and time begin and end', () => {
  const { list } = makeList();
  for (const number of [1, 2, 3]) list.apply(accepted(number));
  list.apply(finished(2));
  const found = (filter: object): number[] =>
    list.matching({ ...anyMessage, ...filter }).map(({ acceptedAt }) => acceptedAt);
  assert.deepEqual(found({ channel: 'messenger_a' }), [3, 2, 1]);
  assert.deepEqual(found({ channel: 'webhook' }), []);
  assert.deepEqual(found({ since: 2, until: 3 }), [2]);
  assert.deepEqual(found({ state: 'waiting' }), [3, 1]);
  assert.deepEqual(found({ brain: 'desk', outcome: 'reply' }), [2]);
});

test('the oldest go when there are too many, and the list says so', () => {
  const { list } = makeList();
  for (let number = 1; number <= messagesKept + 2; number++) list.apply(accepted(number));
  const rows = list.matching(anyMessage);
  assert.deepEqual([rows.length, rows.at(-1)?.acceptedAt, list.isFull], [messagesKept, 3, true]);
});

test('an answer is too old where more was told meanwhile of what it is the first to tell', () => {
  const { list, tick } = makeList();
  const askedAt = tick();
  assert.equal(list.apply(finished(7)), false);
  assert.equal(list.addPage([row], askedAt), true);
  const end = { brain: 'desk', state: 'answered', outcome: 'reply', settledAt: 12 } as const;
  assert.equal(list.addNewest([{ ...row, ...end }], tick(), anyMessage, true), false);
  assert.equal(list.get(row.id)?.state, 'answered');
  assert.equal(list.addPage([{ ...row, id: idOf(6) }], askedAt), false);
});
