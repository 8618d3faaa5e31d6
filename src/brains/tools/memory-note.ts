/**
 * The tool `memory_note`: keeps a short note for later turns. The turn decides whose notes they
 * are, how many there may be and for how long. The tool only passes the text on; it takes effect
 * when the turn ends.
 */
import { oneText, textIn, type Tool } from './tool.ts';

/** @param noteRunesMax Unicode code points */
export function createMemoryNote(noteRunesMax: number): Tool {
  return {
    name: 'memory_note',
    description:
      'Keeps a short note that you will see in later turns: a fact or a wish that stays true. ' +
      `At most ${noteRunesMax} characters.`,
    parameters: oneText('note', 'The note, one sentence that is clear by itself.'),
    effect: 'none',
    reachesOut: false,
    cage: `notes of at most ${noteRunesMax} characters`,
    check(args) {
      const note = textIn(args, 'note')?.toWellFormed().trim() ?? '';
      if (note === '') return { kind: 'invalid', text: 'note must be a text that is not empty.' };
      if (isLonger(note, noteRunesMax)) {
        const text = `The note is too long: it may have ${noteRunesMax} characters at most.`;
        return { kind: 'invalid', text };
      }
      const run = async (turn: { note(text: string): string }) =>
        ({ kind: 'done', text: turn.note(note), cut: false }) as const;
      return { kind: 'ready', run };
    },
  };
}

/** Reads no further than it must. */
function isLonger(text: string, runesMax: number): boolean {
  let remaining = runesMax;
  for (const _rune of text) if (remaining-- === 0) return true;
  return false;
}
