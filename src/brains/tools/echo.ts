/** The tool `echo`: returns its text, for trying out whether tools work. */
import { cutText, oneText, textIn, type Tool } from './tool.ts';

const charactersMax = 16_000;

export function createEcho(): Tool {
  return {
    name: 'echo',
    description: 'Gives back the text that it is given, unchanged. For trying out tools.',
    parameters: oneText('text', 'What to give back.'),
    effect: 'none',
    reachesOut: false,
    cage: null,
    check(args) {
      const text = textIn(args, 'text');
      if (text === null) return { kind: 'invalid', text: 'text must be a string.' };
      return {
        kind: 'ready',
        run: async () => ({ kind: 'done', ...cutText(text, charactersMax) }),
      };
    },
  };
}
