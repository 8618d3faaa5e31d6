import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChannelKey, ConversationId, MessageId, ReplyId } from '../../domain/ids.ts';
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
