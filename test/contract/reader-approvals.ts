/** Approvals that wait, and their outcomes, as every backend reads them. */
import assert from 'node:assert/strict';
import { approvalRowOf, approvalTextOf, type ApprovalState } from '../../src/domain/approval.ts';
import { asks, decide } from './ledger/approvals.ts';
import type { It, ReaderCase } from './reader.ts';

const first = { after: null, limit: 3 };

/** All pages of a list, each as its ids. */
async function pagesOf({ reader }: It, state: ApprovalState | null): Promise<string[][]> {
  const pages: string[][] = [];
  for (let after: string | null = null; ;) {
    const page = await reader.approvals(state, { after, limit: 3 });
    pages.push(page.rows.map(({ id }) => id));
    after = page.next;
    if (after === null) return pages;
  }
}

export const approvalReads: readonly ReaderCase[] = [
  [
    'nothing waits for a yes at first',
    async (it) => {
      assert.deepEqual(await it.reader.approvals(null, first), { rows: [], next: null });
      assert.equal(await it.reader.approval('nobody'), null);
      const nowhere = await it.reader.approvals(null, { after: 'nothing', limit: 3 });
      assert.deepEqual(nowhere, { rows: [], next: null });
    },
  ],
  [
    'approvals come newest first, a page at a time, of one state or of all',
    async (it) => {
      const asked = await asks(it, 'ada', [{}, {}, {}, {}, {}, {}, {}]);
      const ids = asked.map(({ id }) => id).reverse();
      assert.deepEqual(await pagesOf(it, null), [ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]);
      for (const at of [1, 4]) await decide(it, asked[at]!);
      await decide(it, asked[2]!, 'refused');
      assert.deepEqual(await pagesOf(it, 'approved'), [[asked[4]!.id, asked[1]!.id]]);
      assert.deepEqual(await pagesOf(it, 'refused'), [[asked[2]!.id]]);
      assert.deepEqual(await pagesOf(it, 'expired'), [[]]);
      const waiting = [6, 5, 3, 0].map((at) => asked[at]!.id);
      assert.deepEqual(await pagesOf(it, 'waiting'), [waiting.slice(0, 3), waiting.slice(3)]);
    },
  ],
  [
    'the list tells nothing that anybody wrote; one tells what it asks, and its code as it waits',
    async (it) => {
      const [asked] = await asks(it, 'ada', [{ sensitivity: 'private' }]);
      const waits = await it.reader.approval(asked!.id);
      assert.equal(waits?.code, asked!.code);
      await decide(it, asked!, 'refused', 'operator');
      const [row] = (await it.reader.approvals(null, first)).rows;
      const decidedAt = row!.decidedAt;
      const decided = { state: 'refused', decidedBy: 'operator', decidedAt } as const;
      assert.deepEqual(row, approvalRowOf({ ...asked!, ...decided }));
      const text = await it.reader.approval(asked!.id);
      assert.deepEqual(text, approvalTextOf({ ...asked!, ...decided }));
      for (const name of ['address', 'hash']) assert.ok(!(name in text), name);
      assert.equal(text.code, null);
      assert.equal(await it.reader.approval(asked!.code), null);
      for (const name of ['code', 'conversation', 'address', 'sender', 'arguments', 'hash']) {
        assert.ok(!(name in row), name);
      }
    },
  ],
];
