/** Quotes names from the file for messages, and shortens lists of names. */
import { looksSecret } from './formats.ts';

/**
 * Puts a name from the file into quotes, for a message.
 * @returns null when the text is not a plain name, or may be a secret in the wrong place
 */
export function quote(written: string): string | null {
  if (!/^[\p{L}\p{N}_][\p{L}\p{N}_ .:/+-]{0,39}$/u.test(written)) return null;
  const runs = written.split(/[^\p{L}\p{N}]+/u);
  return runs.some(looksRandom) || looksSecret(written) ? null : `"${written}"`;
}

/** Whether letters and digits mix as in a key or token, or the text has many digits. */
function looksRandom(run: string): boolean {
  const digits = run.replace(/\D/g, '').length;
  if (digits >= 8 || /\p{L}\d+\p{L}/u.test(run)) return true;
  return run.length >= 12 && digits >= 2;
}

/** The most names in one message. */
export const namesMax = 20;

/**
 * @param names the first names, at most `namesMax`
 * @param count the number of all names
 */
export function listed(names: readonly string[], count: number): string {
  const told = names.join(', ');
  return count > names.length ? `${told} and ${count - names.length} more` : told;
}
