import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approvalOf } from '../../../test/contract/ledger/approvals.ts';
import { effects, hook, ids } from '../../../test/contract/ledger/kit.ts';
import type { Approval } from '../../domain/approval.ts';
import type { ConversationId } from '../../domain/ids.ts';
import type { InClaim } from '../ledger.ts';
import { KeptApprovals } from './approvals.ts';

const sender = { id: 'ann', name: null };
const message = {
  id: ids.message(),
  channel: hook,
  conversation: 'ann' as ConversationId,
  sender,
  text: 'please',
  media: null,
  address: { channel: hook, target: 'ann' },
  acceptedAt: 1,
  sensitivity: 'public',
} as const;
const claim = { message, attempt: 1 } as unknown as InClaim;

/** Asks for n approvals, each in a turn that ends at its number. */
function ask(kept: KeptApprovals, n: number): readonly Approval[] {
  return Array.from({ length: n }, (_, at) => {
    const approval = approvalOf(claim);
    kept.turnEnded({ ...effects(claim, []), asked: [approval] }, at);
    return approval;
  });
}

test('of more than a thousand that wait the oldest has had its time, and is owed', async () => {
  const kept = new KeptApprovals();
  const [first, second] = ask(kept, 1_001);
  assert.equal((await kept.waiting()).length, 1_000);
  const owed = await kept.owed(0);
  assert.deepEqual(owed, [{ ...first, state: 'expired', decidedAt: 1_000 }]);
  assert.equal((await kept.find(second!.id))?.state, 'waiting');
});

test('two thousand that are not settled are kept, and a thousand that are', async () => {
  const kept = new KeptApprovals();
  const asked = ask(kept, 3_500);
  const states = await Promise.all(asked.map(({ id }) => kept.find(id)));
  assert.equal(states.indexOf(states.find((one) => one !== null)!), 1_500);
  const done = { verdict: 'refused', by: 'operator', at: 1 } as const;
  for (const { id } of asked) {
    await kept.decide(id, done);
    kept.turnEnded({ ...effects(claim, []), settled: { id, outcome: null } }, 9);
  }
  assert.deepEqual(await kept.owed(Infinity), []);
  const left = await Promise.all(asked.slice(-1_001).map(({ id }) => kept.find(id)));
  assert.deepEqual([left[0], left[1]?.settledAt], [null, 9]);
});
