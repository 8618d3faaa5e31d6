/** A word as a shell takes it: in quotes where it has more in it than such letters. */
export function forShell(word: string): string {
  return /^[\w.,:=/-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
