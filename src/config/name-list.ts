/** A sentence tells at most so many names. */
export const namesMax = 20;

/**
 * @param names the first, at most `namesMax`
 * @param count of all that there are
 */
export function listed(names: readonly string[], count: number): string {
  const told = names.join(', ');
  return count > names.length ? `${told} and ${count - names.length} more` : told;
}
