import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { createMemoryLedger } from '../../src/ledger/memory/memory.ts';
import { testLedgerContract } from '../contract/ledger.ts';
import { memoryBackend, openSound } from '../contract/ledger/backends.ts';
import { ids, said } from '../contract/ledger/kit.ts';

testLedgerContract('memory', memoryBackend, openSound(memoryBackend));

test('in memory, 64 MiB accepted and not settled are the most', async () => {
  await using ledger = createMemoryLedger({ ...systemClock, ids });
  const mebibyte = 'x'.repeat(524_288);
  let accepted = 0;
  while (accepted < 100) {
    const acceptance = await ledger.accept([said(`c${accepted}`, mebibyte)]);
    if (acceptance.kind === 'refused') break;
    accepted++;
  }
  assert.equal(accepted, 63, 'what a row costs beside its text counts too');
  assert.equal((await ledger.accept([said('small', 'hello')])).kind, 'accepted');
});
