import type { Standing } from '../../../src/domain/standing.ts';

/** How a model stands, in a word or two. */
export const standingWords: Readonly<Record<Standing, string>> = {
  up: 'up',
  degraded: 'fails now and then',
  failing: 'failing',
  unknown: 'not asked lately',
};
