import { test } from 'node:test';
import type { Proof } from './proof.ts';

/** A proof at its smallest size is one test of the suite; the seed is printed. */
export function testSmallest(proof: Proof): void {
  test(`${proof.name}: ${proof.title}`, async (t) => {
    const seed = Number(process.env['SVC_SEED'] ?? Date.now() % 1_000_000);
    t.diagnostic(`seed ${seed}`);
    const proved = await proof.run(proof.sizes.test, seed, () => {});
    if (proved.kind === 'skipped') t.skip(`NOT PROVED: ${proved.why}`);
  });
}
