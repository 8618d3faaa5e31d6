import { test } from 'node:test';
import { kill } from './kill.ts';

test(`${kill.sizes.test} kills: 0 lost, unmarked, run twice, out of order or buried`, async (t) => {
  const seed = Date.now() % 1_000_000;
  t.diagnostic(`seed ${seed}`);
  await kill.run(kill.sizes.test, seed, () => {});
});
