import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ledgerModel } from './ledger-model.ts';

const seed = Number(process.env['SVC_SEED'] ?? Date.now() % 1_000_000);
const count = Number(process.env['SVC_STEPS'] ?? ledgerModel.sizes.test);

test(`${ledgerModel.title}: ${count} steps agree, bugs are noticed (seed ${seed})`, async (t) => {
  const proved = await ledgerModel.run(count, seed, (line) => t.diagnostic(line));
  assert.equal(proved.kind, 'proved');
});
