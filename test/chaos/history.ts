/** Compares the prompts of a model with the conversation. */
import type { ModelCall } from '../fake/model-server.ts';

/** The number of former turns in a prompt: at 41 the older half and one turn go. */
function shownOf(before: number): number {
  return before <= 40 ? before : 20 + ((before - 41) % 21);
}

/** Counts prompts that are not exactly the texts before them, each with its answer. */
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
