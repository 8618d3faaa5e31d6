/**
 * The cases of the ledger's contract. They run over each backend, and over each backend with a
 * planted fault, which must make them fail.
 */
import { suite, test } from 'node:test';
import { agentCases } from './ledger/agents.ts';
import { approvalCases } from './ledger/approvals.ts';
import { attachmentCases } from './ledger/attachments.ts';
import { boundCases } from './ledger/bounds.ts';
import { byHandCases } from './ledger/takeovers.ts';
import { claimCases } from './ledger/claims.ts';
import { cursorCases } from './ledger/cursors.ts';
import { deadLetterCases } from './ledger/dead-letters.ts';
import { deferredCases } from './ledger/deferred.ts';
import { endingCases } from './ledger/ending.ts';
import { forgettingCases } from './ledger/forgetting.ts';
import { gatheringCases } from './ledger/merging.ts';
import { inboxCases } from './ledger/inbox.ts';
import { memoryCases } from './ledger/memory.ts';
import { outboxCases } from './ledger/outbox.ts';
import { recallCases } from './ledger/recall.ts';
import { servingCases } from './ledger/serving.ts';
import { spendCases } from './ledger/spend.ts';
import type { LedgerCase, OpenBench } from './ledger/kit.ts';

const all = [
  ...inboxCases,
  ...outboxCases,
  ...claimCases,
  ...boundCases,
  ...memoryCases,
  ...cursorCases,
  ...recallCases,
  ...deadLetterCases,
  ...deferredCases,
  ...forgettingCases,
  ...gatheringCases,
  ...servingCases,
  ...endingCases,
  ...agentCases,
  ...attachmentCases,
  ...byHandCases,
  ...approvalCases,
  ...spendCases,
];

/** @param durable the backend outlives the process, and keeps the promises about that too */
export function casesFor(backend: { readonly durable: boolean }): readonly LedgerCase[] {
  return all.filter(({ durable = false }) => backend.durable || !durable);
}

/**
 * Runs the cases over one backend, each with a new ledger.
 * @param skip why the backend cannot run here; false: it can
 * @param which of the cases; by default all
 */
export function testLedgerContract(
  name: string,
  backend: { readonly durable: boolean },
  open: OpenBench,
  skip: string | false = false,
  which: (one: LedgerCase) => boolean = () => true,
): void {
  suite(`the ledger in its ${name} form`, { concurrency: 4 }, () => {
    for (const one of casesFor(backend).filter(which))
      test(one.name, { skip }, () => runCase(one, open));
  });
}

export async function runCase({ run, limits = {} }: LedgerCase, open: OpenBench): Promise<void> {
  await using bench = await open(limits);
  await run(bench);
}
