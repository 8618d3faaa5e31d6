/**
 * The answer without the thinking that some models write before it, between `<think>` and
 * `</think>` (also `thinking`, `thought`, `reasoning`; in any case). A block that is never closed
 * is all thinking. Tags after the first word of the answer belong to the answer.
 *
 * Every character is looked at a constant number of times, whatever the text.
 */
export function withoutThinkBlock(text: string): string {
  let at = skipSpace(text, 0);
  for (;;) {
    opening.lastIndex = at;
    const open = opening.exec(text);
    if (open === null) break;
    const closing = closings[open[1]!.toLowerCase() as Tag];
    closing.lastIndex = opening.lastIndex;
    if (!closing.test(text)) return '';
    at = skipSpace(text, closing.lastIndex);
  }
  return at === 0 ? text : text.slice(at);
}

type Tag = 'think' | 'thinking' | 'thought' | 'reasoning';

const opening = /<(think|thinking|thought|reasoning)>/iy;
const closings: Readonly<Record<Tag, RegExp>> = {
  think: /<\/think>/gi,
  thinking: /<\/thinking>/gi,
  thought: /<\/thought>/gi,
  reasoning: /<\/reasoning>/gi,
};

function skipSpace(text: string, from: number): number {
  space.lastIndex = from;
  space.test(text);
  return space.lastIndex;
}

const space = /\s*/y;
