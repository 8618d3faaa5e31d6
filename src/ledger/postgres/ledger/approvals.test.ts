/** The first decision counts, with several instances and with lost answers. */
import assert from 'node:assert/strict';
import { asks, decide } from '../../../../test/contract/ledger/approvals.ts';
import { openParts } from '../../../../test/fake/ledger-parts.ts';
import { all, idOf, put } from '../../../../test/fake/ledger-rows.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { TestStores } from '../../../../test/fake/postgres/stores.ts';
import type { Verdict } from '../../../domain/approval.ts';
import type { ApprovalId } from '../../../domain/ids.ts';
import { StoredApprovals } from './approvals.ts';

postgresTest('of those who decide on two instances at once one does', async () => {
  await using stores = await TestStores.open();
  const both = await stores.beginTwo();
  const asked = await asks(both[0], 'ann', [{}, {}, {}, {}]);
  for (const [round, one] of asked.entries()) {
    // The same person decides twice at the same time: only one call gets `decided`.
    const verdict: Verdict = round % 2 === 0 ? 'approved' : 'refused';
    const calls = Array.from({ length: 20 }, (_, n) => decide(both[n % 2]!, one, verdict));
    const results = await Promise.all(calls);
    assert.equal(results.filter((result) => result === 'decided').length, 1);
    assert.equal(results.filter((result) => result === 'not_waiting').length, 19);
    for (const { ledger } of both) {
      assert.equal((await ledger.approvals.find(one.id))?.state, verdict);
    }
  }
});

postgresTest(
  'who decided knows it where the answer was lost, and who did not as well',
  async () => {
    await using it = await openParts();
    await put(it.client, 'approval', { id: idOf(1) });
    const approvals = new StoredApprovals(it);
    const byAnn = { verdict: 'approved', by: 'operator', at: 5 } as const;
    it.loseAnswers();
    assert.equal(await approvals.decide(idOf(1) as ApprovalId, byAnn), 'decided');
    it.loseAnswers();
    assert.equal(await approvals.decide(idOf(1) as ApprovalId, byAnn), 'not_waiting');
    assert.deepEqual(await all(it.client, 'approval', 'state'), ['approved']);
  },
);
