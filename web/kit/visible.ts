/**
 * Makes text of other people safe to show: characters that are invisible or that control the text
 * direction appear as their code points. Joiners and variants that belong to emoji or to a script
 * stay. Rules: Unicode Technical Report 36, 2.10 and 3.6; UAX 9, 2.
 */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  /** `U+202E`; several in a row become one mark. */
  | { readonly kind: 'mark'; readonly text: string };

const hidden =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}\u{FFF9}-\u{FFFB}]/gu;

/** Scripts that use joiners. */
const joining = new RegExp(
  `^[${'Arab Deva Beng Gujr Knda Mlym Sinh Taml Telu Khmr'.replaceAll(/(\w+) ?/g, '\\p{sc=$1}')}]$`,
  'u',
);
const pictured = /^[\p{Extended_Pictographic}\p{Emoji_Modifier}\u{FE0F}]$/u;
const varied = /^[\p{Emoji}\p{sc=Han}]$/u;
/** The flags of England, Scotland and Wales. */
const flagged = /\u{1F3F4}[\u{E0020}-\u{E007E}]*$/u;

/** @param lines true: the text may have several lines, so line ends and tabs stay */
export function partsOf(text: string, lines = false): readonly Part[] {
  const parts: Part[] = [];
  let shown = 0;
  let run: string[] = [];
  const close = (): void => {
    if (run.length > 0) parts.push({ kind: 'mark', text: markOf(run) });
    run = [];
  };
  for (const { 0: character, index } of text.matchAll(hidden)) {
    if (staysAt(text, index, character, lines)) continue;
    if (index > shown) {
      close();
      parts.push({ kind: 'text', text: text.slice(shown, index) });
    }
    run.push(character);
    shown = index + character.length;
  }
  close();
  if (shown < text.length) parts.push({ kind: 'text', text: text.slice(shown) });
  return parts;
}

/** Whether a name needs quotes to be visible: it is blank, or begins or ends with a blank. */
export const needsQuotes = (name: string): boolean => /^$|^\p{Zs}|\p{Zs}$/u.test(name);

/** A name for places that take only plain text: an option of a list, a label for screen readers. */
export function visible(name: string): string {
  const shown = partsOf(name)
    .map(({ kind, text }) => (kind === 'mark' ? `[${text}]` : text))
    .join('');
  return needsQuotes(name) ? `“${shown}”` : shown;
}

function markOf(run: readonly string[]): string {
  const [first = ''] = run;
  const number = first.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
  return run.length === 1 ? `U+${number}` : `U+${number} and ${run.length - 1} more`;
}

function staysAt(text: string, index: number, character: string, lines: boolean): boolean {
  if (lines && /^[\n\t]$/.test(character)) return true;
  if (lines && character === '\r') return text[index + 1] === '\n';
  const before = /.$/su.exec(text.slice(Math.max(0, index - 2), index))?.[0] ?? '';
  const after = String.fromCodePoint(text.codePointAt(index + character.length) ?? 0);
  if (character === '\u200D' && pictured.test(before)) return pictured.test(after);
  if (/^[\u200C\u200D]$/.test(character)) return joining.test(before);
  if (/^[\uFE00-\uFE0F]$/.test(character)) return varied.test(before);
  if (/^[\u{E0020}-\u{E007F}]$/u.test(character)) {
    return flagged.test(text.slice(Math.max(0, index - 16), index));
  }
  return false;
}
