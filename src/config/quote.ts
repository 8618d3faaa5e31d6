/** Quotes names from the file for messages, and shortens lists of names. */
import { looksSecret } from './formats.ts';

/**
 * Puts a name from the file into quotes, for a message.
 * @returns null when the text is not a plain name, or may be a secret in the wrong place
 */
export function quote(text: string): string | null {
  if (!/^[\p{L}\p{N}_][\p{L}\p{N}_ .:/+-]{0,39}$/u.test(text)) return null;
  const runs = text.split(/[^\p{L}\p{N}]+/u);
  return runs.some(looksRandom) || looksSecret(text) ? null : `"${text}"`;
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
export function shortList(names: readonly string[], count: number): string {
  const text = names.join(', ');
  return count > names.length ? `${text} and ${count - names.length} more` : text;
}
