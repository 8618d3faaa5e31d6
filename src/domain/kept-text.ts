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
  return cut(text, readCharactersMax, gap);
}

/** So much of a file of text is told to later turns. */
const laterCharactersMax = 4_000;

/** As `keptReading`, of a text that is that already. */
export function keptLater(text: string): string {
  return cut(text, laterCharactersMax, '\n');
}

/** A text that was cut before is told as long as it was at first. */
function cut(text: string, charactersMax: number, gap: ' ' | '\n'): string {
  const [mark, length] = cutMark.exec(text) ?? ['', count(text.length)];
  const whole = text.length - mark.length;
  if (whole <= charactersMax) return text.toWellFormed();
  const kept = text.slice(0, charactersMax).toWellFormed();
  return `${kept}${gap}[… cut: the first ${count(charactersMax)} of ${length} characters]`;
}

const cutMark = /\s\[… cut: the first [\d,]+ of ([\d,]+) characters\]$/;

const count = (all: number): string => all.toLocaleString('en-US');
