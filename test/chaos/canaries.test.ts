import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canaries } from './canaries.ts';

const seed = Number(process.env['SVC_SEED'] ?? Date.now() % 1_000_000);

test(`${canaries.title}: 0 hits (seed ${seed})`, async (t) => {
  const proved = await canaries.run(canaries.sizes.test, seed, (line) => t.diagnostic(line));
  assert.equal(proved.kind, 'proved');
});
