/** The number of concerns in each group of the navigation. */
import type { Concern } from '../overview/concerns.ts';

export type Badge = {
  readonly count: number;
  /** The worst tone of its concerns. */
  readonly tone: Concern['tone'];
};

/**
 * @param groups the views of each group
 * @returns one for each group, in order; null: no concern
 */
export function badgesOf(
  concerns: readonly Concern[],
  groups: readonly (readonly string[])[],
): readonly (Badge | null)[] {
  return groups.map((views) => {
    const here = concerns.filter(({ place }) => views.includes(place?.['view'] ?? ''));
    if (here.length === 0) return null;
    const tone = here.some((one) => one.tone === 'bad') ? 'bad' : 'wait';
    return { count: here.length, tone };
  });
}
