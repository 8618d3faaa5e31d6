/** Leading a person to a place of the text. */
import { create } from 'zustand';
import { goTo } from '../../kit/place.ts';

/** Lines and columns count from 1. */
export type TextPlace = { readonly line: number; readonly column: number };

/** Where the cursor is to go when the text is shown; null when it is there. */
export const useShowing = create<{ readonly place: TextPlace | null }>(() => ({ place: null }));

/** Opens the text, and puts the cursor there. */
export function showInText({ line, column }: TextPlace): void {
  useShowing.setState({ place: { line: Math.max(1, line), column: Math.max(1, column) } });
  goTo({ view: 'json' });
}
