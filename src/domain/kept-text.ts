/** So much is kept of a text that stood behind a reply. */
const keptCharactersMax = 2_000;

/** Its beginning, with `…` where something is left out. */
export function keptText(text: string): string {
  if (text.length <= keptCharactersMax) return text;
  return `${text.slice(0, keptCharactersMax - 1).toWellFormed()}…`;
}

/** So much is kept of a file of text, or of what was spoken: about twenty minutes of it. */
const readCharactersMax = 20_000;

/** Its beginning, with a mark after `gap` where something is left out. */
export function keptReading(text: string, gap: ' ' | '\n'): string {
  if (text.length <= readCharactersMax) return text.toWellFormed();
  const most = readCharactersMax.toLocaleString('en-US');
  return `${text.slice(0, readCharactersMax).toWellFormed()}${gap}[… the first ${most} characters]`;
}
