import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matrixOf, networkFaultsProof } from './network-faults.ts';

test('a link that goes wrong loses nothing, repeats nothing unmarked, keeps nothing', async (t) => {
  const seed = Number(process.env['SVC_SEED'] ?? Date.now() % 1_000_000);
  t.diagnostic(`SVC_SEED=${seed}`);
  const { sizes } = networkFaultsProof;
  await networkFaultsProof.run(sizes.test, seed, (line) => t.diagnostic(line));
});

test('the matrix has a row a fault and a column a link', () => {
  const found = { spoiled: 3, repeats: 1, ms: 5 };
  const lines = matrixOf([{ link: 'receiver', fault: 'reset', ...found }]).split('\n');
  assert.equal(lines.length, 2 + 6);
  assert.equal(lines[5], '| reset |  |  |  | ok: 3 spoiled, 1 repeated |  |');
});
