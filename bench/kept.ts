/** Makes large databases with the ledger itself. */
import { randomFillSync } from 'node:crypto';
import { createIdSource } from '../src/domain/ids.ts';
import { steadyNow } from '../src/lib/clock.ts';
import { openSqliteLedger } from '../src/ledger/sqlite/sqlite.ts';
import type { Ledger } from '../src/ledger/ledger.ts';
import { effects, hook, said } from '../test/contract/ledger/kit.ts';

const batch = 500;
const words = 'words that a person might well say to it on some quiet day '.repeat(3);

export type Kept = {
  readonly messages: number;
  readonly conversations: number;
  /** Days since they were answered and delivered; null: they wait. */
  readonly settledDaysAgo: number | null;
};

/** Makes a database at that path, and closes it cleanly. */
export async function keep(path: string, kept: Kept): Promise<void> {
  const { messages, conversations, settledDaysAgo } = kept;
  const now = (): number => Date.now() - (settledDaysAgo ?? 0) * 86_400_000;
  const ids = createIdSource(now, (bytes) => void randomFillSync(bytes));
  const ledger = await openSqliteLedger({
    path,
    now,
    steady: steadyNow,
    ids,
    retentionDays: 0,
    publicNow: { channels: [], brains: [] },
  });
  if ('kind' in ledger) throw new Error(ledger.message);
  for (let from = 0; from < messages; from += batch) {
    const numbers = Array.from({ length: Math.min(batch, messages - from) }, (_, at) => from + at);
    const some = numbers.map((number) => said(`conversation-${number % conversations}`, words));
    const acceptance = await ledger.accept(some);
    if (acceptance.kind === 'refused') throw new Error(`refused: ${acceptance.reason}`);
    if (settledDaysAgo !== null) await settle(ledger, some.length);
  }
  await ledger[Symbol.asyncDispose]();
}

async function settle(ledger: Ledger, messages: number): Promise<void> {
  for (let settled = 0; settled < messages;) {
    const claims = await ledger.claim('in', hook, batch);
    await Promise.all(claims.map((claim) => ledger.complete(claim, effects(claim, [words]))));
    const replies = await ledger.claim('out', hook, batch);
    await Promise.all(replies.map((claim) => ledger.delivered(claim)));
    settled += claims.length;
  }
}
