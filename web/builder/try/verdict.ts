import type { TryResult } from '../../../src/admin/config-trials.ts';
import type { Expectation } from '../../../src/config/test-case.ts';
import { missesOf } from '../../../src/app/test-cases/expectation.ts';

/**
 * Sentences about unmet expectations. Every pattern counts as matched here, since a page cannot
 * stop one that takes too long.
 */
export function verdictOf(expect: Expectation, { decision, tools }: TryResult): readonly string[] {
  if (decision.kind === 'apology') return ['Expected a reply, but there was none.'];
  const misses = missesOf(expect, decision.text, tools, () => 'matches');
  return misses.map(({ expected, came }) => `Expected ${expected}, but ${came}.`);
}
