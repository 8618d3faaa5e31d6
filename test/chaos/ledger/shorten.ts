/** The largest number of attempts to shorten a list. */
const triesMax = 1_000;

/**
 * Leaves out parts of a failing list as long as the rest still fails.
 * @returns a shorter list that fails; the whole one when it fails only as it is
 */
export async function shortest<T>(
  whole: readonly T[],
  fails: (some: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let list = whole;
  let tries = 0;
  for (let size = list.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < list.length && tries < triesMax;) {
      const rest = [...list.slice(0, at), ...list.slice(at + size)];
      tries++;
      if (rest.length > 0 && (await fails(rest))) list = rest;
      else at += size;
    }
  }
  return list;
}
