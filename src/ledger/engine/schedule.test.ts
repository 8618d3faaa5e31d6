import assert from 'node:assert/strict';
import { test } from 'node:test';
import { steadyNow } from '../../lib/clock.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import type { OutClaim } from '../ledger.ts';
import { Unroutable } from './schedule.ts';

const gone = 'webhook' as ChannelKey;
const weekMs = 7 * 86_400_000;

test('a reply whose burial came to nothing is told as no dead letter', async () => {
  for (const kept of [true, false]) {
    const waiting = ['r1', 'r2'].map((id) => ({ box: 'out', reply: { id } }) as OutClaim);
    const told: string[] = [];
    const done = { buried: 0 };
    const unroutable = new Unroutable({
      now: () => weekMs,
      steady: steadyNow,
      backlog: () => [
        { channel: gone, inbox: 0, outbox: waiting.length, oldestAt: 0, oldestReplyAt: 0 },
      ],
      news: { buried: ({ id }) => told.push(id) },
      read: () => 0,
      keep: () => {},
      take: async (box) => (box === 'out' ? waiting.splice(0) : []),
      deadLetter: async () => {
        done.buried++;
        return kept;
      },
    });
    unroutable.serve([]);
    while (done.buried < 2) await new Promise(setImmediate);
    unroutable.close();
    assert.deepEqual(told, kept ? ['r1', 'r2'] : []);
  }
});
