/** Whether the message about an attempt still applies to the draft as it is now. */
import type { ApplyState } from './applying.ts';

/** `gone`: the text of the attempt is no longer there. */
export type Age = 'now' | 'before_edit' | 'gone';

/** @param now the draft and the configuration in use */
export function ageOf(
  state: ApplyState,
  now: { readonly text: string; readonly used: string },
): Age {
  switch (state.kind) {
    case 'idle':
      return 'gone';
    case 'sending':
      return 'now';
    case 'applied':
      return state.text === now.text ? 'now' : 'gone';
    case 'refused':
      if (state.text === now.text) return 'now';
      return now.text === now.used ? 'gone' : 'before_edit';
    default:
      return state satisfies never;
  }
}
