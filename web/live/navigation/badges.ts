/** How much in each part of the navigation may need a person. */
import type { Concern } from '../overview/concerns.ts';

export type Badge = {
  readonly count: number;
  /** The gravest of them. */
  readonly tone: Concern['tone'];
};

/**
 * @param groups the views of each part
 * @returns by the part's place in the list; null: nothing there needs anybody
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
