/**
 * How `npm run release` says that a machine cannot make a part, so that who tries the release knows
 * what is missing for that reason, and what is missing by a fault.
 */

/** The reason of each part. */
export type NotMade = ReadonlyMap<string, string>;

/** @param why a sentence */
export const notMadeLine = (part: string, why: string): string => `${part}: not made. ${why}`;

/** @param said what a release has said, or such lines of it alone */
export function notMadeIn(said: string): NotMade {
  const lines = said.matchAll(/^(\S+): not made\. (.*)$/gm);
  return new Map(Array.from(lines, ([, part, why]) => [part!, why!]));
}
