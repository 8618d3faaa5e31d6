import { differencesOf } from './client-compare.ts';
import { caseOf } from './client-generator.ts';

/**
 * The plain client beside undici, with answers at random.
 * @param size how many answers
 * @returns the first few differences, each with the number of its case
 */
export function differ(size: number, seed: number): Promise<readonly string[]> {
  return differencesOf(size, (number) => caseOf(seed, number));
}
