/** What a model is shown, held against what was said. */
import type { ModelCall } from '../fake/model-server.ts';

/** Of so many turns before it a turn is shown the last ones: at 41 the older half and one go. */
function shownOf(before: number): number {
  return before <= 40 ? before : 20 + ((before - 41) % 21);
}

/** What a turn is shown is what was said before it, each with its answer, nothing left out. */
export class History {
  wrong = 0;

  answer({ body }: ModelCall, delayMs: number): { answer: string; delayMs: number } {
    const lines = (body as { messages: { content: string }[] }).messages.map(
      ({ content }) => content,
    );
    const last = lines.at(-1)!;
    const [conversation, number] = last.split(' ') as [string, string];
    const shown = shownOf(Number(number));
    const expected = Array.from({ length: shown }, (_, i) => {
      const said = `${conversation} ${Number(number) - shown + i}`;
      return [said, `re: ${said}`];
    });
    if (lines.slice(0, -1).join('\n') !== expected.flat().join('\n')) this.wrong++;
    return { answer: `re: ${last}`, delayMs };
  }
}
