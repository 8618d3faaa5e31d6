/** The limits for texts that svc keeps beside a turn, and the cut at each limit. */

/** The most characters that svc keeps of a text behind a reply. */
const keptCharactersMax = 2_000;

/** The beginning of the text, with `…` at the end if it is cut. */
export function keptText(text: string): string {
  if (text.length <= keptCharactersMax) return text;
  return `${text.slice(0, keptCharactersMax - 1).toWellFormed()}…`;
}

/**
 * The most characters that svc keeps of a text file or of a transcript (about twenty minutes of
 * speech).
 */
const readCharactersMax = 20_000;

/** The beginning of the text, with a mark after `gap` if it is cut. */
export function keptReading(text: string, gap: ' ' | '\n'): string {
  return cut(text, readCharactersMax, gap);
}

/** The most characters of a text file that later turns see. */
const laterCharactersMax = 4_000;

/** Like `keptReading`, for a text that `keptReading` returned. */
export function keptLater(text: string): string {
  return cut(text, laterCharactersMax, '\n');
}

/** Cuts a text. If it was cut before, the new mark tells the original length. */
function cut(text: string, charactersMax: number, gap: ' ' | '\n'): string {
  const [mark, length] = cutMark.exec(text) ?? ['', count(text.length)];
  const whole = text.length - mark.length;
  if (whole <= charactersMax) return text.toWellFormed();
  const kept = text.slice(0, charactersMax).toWellFormed();
  return `${kept}${gap}[… cut: the first ${count(charactersMax)} of ${length} characters]`;
}

const cutMark = /\s\[… cut: the first [\d,]+ of ([\d,]+) characters\]$/;

const count = (all: number): string => all.toLocaleString('en-US');
