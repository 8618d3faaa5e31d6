/** Quotes a word for a shell, if it has characters that a shell would interpret. */
export function forShell(word: string): string {
  return /^[\w.,:=/-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
