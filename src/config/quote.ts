import { looksSecret } from './formats.ts';

/**
 * What a person wrote in the place of a name, in quotes, for a sentence about it.
 * @returns null: it is no plain name, or may be a secret in the wrong place
 */
export function quote(written: string): string | null {
  if (!/^[\p{L}\p{N}_][\p{L}\p{N}_ .:/+-]{0,39}$/u.test(written)) return null;
  const runs = written.split(/[^\p{L}\p{N}]+/u);
  return runs.some(looksRandom) || looksSecret(written) ? null : `"${written}"`;
}

/** Letters and digits mixed as in no word: keys and tokens are so, and long runs of digits. */
function looksRandom(run: string): boolean {
  const digits = run.replace(/\D/g, '').length;
  if (digits >= 8 || /\p{L}\d+\p{L}/u.test(run)) return true;
  return run.length >= 12 && digits >= 2;
}

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
