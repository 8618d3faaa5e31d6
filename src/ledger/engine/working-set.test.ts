import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChannelKey, ConversationId, MessageId, ReplyId } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import { steadyNow } from '../../lib/clock.ts';
import type { StoredReply } from './queue.ts';
import { WorkingSet } from './working-set.ts';

const where = { channel: 'webhook' as ChannelKey, conversation: 'ann' as ConversationId };
const now = 1_000;

/** A working set with one parked reply, restored as it was written. */
function withParked(dueAt: number): WorkingSet {
  const rows = new WorkingSet({ now: () => now, steady: steadyNow });
  const head = { id: 'r1' as ReplyId, inReplyTo: 'm1' as MessageId, createdAt: 1 };
  const stored: StoredReply = { ...where, head, seq: 1, bytes: 1 };
  const written = { attempt: 2, replayedAfter: 0, possibleDuplicate: false };
  rows.restoreReply(stored, null, { ...written, late: true, parked: true, why: null, dueAt });
  return rows;
}

test('a parked reply whose time has come is ready at once: its queue is not quiet', () => {
  for (const dueAt of [1, now]) {
    const rows = withParked(dueAt);
    assert.equal(rows.queuesOn(where.channel, where.conversation)[0]?.isQuiet, false);
    assert.equal(rows.take('out', where.channel)?.head.id, 'r1');
  }
  const rows = withParked(now + 1_000);
  assert.equal(rows.queuesOn(where.channel, where.conversation)[0]?.isQuiet, true);
  assert.equal(rows.take('out', where.channel), undefined);
  rows.close();
});

test('the working set tells why the first message of a queue is not offered', () => {
  const clock = { now: () => now, steady: steadyNow };
  const rows = new WorkingSet(clock);
  const { channel, conversation } = where;
  const message = (id: string): Message => ({
    ...where,
    id: id as MessageId,
    sender: { id: 'ann', name: null },
    text: id,
    media: null,
    address: { channel, target: 'ann' },
    acceptedAt: now,
    sensitivity: 'public',
  });
  const first = rows.addMessage(message('m1'), rows.nextSeq());
  const { queue } = first;
  assert.equal(rows.heldBackBy(queue, 'in'), 'busy');
  rows.takeOver(channel, conversation);
  assert.equal(rows.heldBackBy(queue, 'in'), 'taken_over');
  assert.equal(rows.take('in', channel), undefined);
  rows.endTakeover(channel, conversation);
  assert.equal(rows.take('in', channel), first);
  const addReply = (n: number): void => {
    const id = `r${n}` as ReplyId;
    const head = { id, inReplyTo: first.head.id, createdAt: now };
    const written = { attempt: 1, replayedAfter: 0, possibleDuplicate: false, late: false };
    const state = { ...written, parked: false, why: null, dueAt: null };
    rows.restoreReply({ ...where, head, seq: 1 + n, bytes: 1 }, first.progress, state);
  };
  for (let n = 1; n <= 100; n++) addReply(n);
  assert.equal(rows.heldBackBy(queue, 'out'), 'busy');
  rows.giveBack(first);
  assert.equal(rows.heldBackBy(queue, 'in'), 'many_replies', 'also of a message given back');
  assert.equal(rows.take('in', channel), undefined);
  rows.settle(rows.take('out', channel)!);
  assert.equal(rows.take('in', channel), first);
  addReply(101);
  rows.settle(first);
  assert.equal(rows.heldBackBy(queue, 'in'), 'empty');
  rows.addMessage(message('m2'), rows.nextSeq());
  assert.equal(rows.heldBackBy(queue, 'in'), 'many_replies');
  rows.settle(rows.take('out', channel)!);
  assert.equal(rows.take('in', channel)?.head.id, 'm2');
  rows.close();
});

test('a conversation without messages stays taken over while idle queues are forgotten', () => {
  const rows = new WorkingSet({ now: () => now, steady: steadyNow });
  const { channel, conversation } = where;
  rows.takeOver(channel, conversation);
  for (let n = 0; n < 5_000; n++) {
    rows.goOn(rows.hold(channel, `other ${n}` as ConversationId));
  }
  assert.equal(rows.gauges().conversationsAtWork, 0);
  assert.equal(rows.queuesOn(channel, null).length < 5_000, true, 'idle queues are forgotten');
  assert.equal(rows.queuesOn(channel, conversation)[0]?.isTakenOver, true);
  rows.close();
});
