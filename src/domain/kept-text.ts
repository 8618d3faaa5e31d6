/** So much is kept of a text that stood behind a reply. */
const keptCharactersMax = 2_000;

/** Its beginning, with `…` where something is left out. */
export function keptText(text: string): string {
  if (text.length <= keptCharactersMax) return text;
  return `${text.slice(0, keptCharactersMax - 1).toWellFormed()}…`;
}
