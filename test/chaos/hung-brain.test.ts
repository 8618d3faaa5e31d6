import { test } from 'node:test';
import { hungBrain } from './hung-brain.ts';

test(hungBrain.title, async (t) => {
  const seed = Number(process.env['SVC_SEED'] ?? Date.now() % 1_000_000);
  t.diagnostic(`SVC_SEED=${seed}`);
  await hungBrain.run(hungBrain.sizes.test, seed, (line) => t.diagnostic(line));
});
