/**
 * The line with which `npm run release` says that a machine cannot make a part. It lets the tests
 * of a release tell a missing tool from a fault.
 */

/** The reason for each part. */
export type NotMade = ReadonlyMap<string, string>;

/** @param why a sentence */
export const notMadeLine = (part: string, why: string): string => `${part}: not made. ${why}`;

/** @param said the output of a release, or only such lines of it */
export function notMadeIn(said: string): NotMade {
  const lines = said.matchAll(/^(\S+): not made\. (.*)$/gm);
  return new Map(Array.from(lines, ([, part, why]) => [part!, why!]));
}
