/** Moves the cursor of the JSON view to a place of the text. */
import { create } from 'zustand';
import { goTo } from '../../kit/place.ts';

/** Lines and columns count from 1. */
export type TextPlace = { readonly line: number; readonly column: number };

/** The target of the cursor when the text opens; null when it has arrived. */
export const useShowing = create<{ readonly place: TextPlace | null }>(() => ({ place: null }));

/** Opens the text with the cursor at a place. */
export function showInText({ line, column }: TextPlace): void {
  useShowing.setState({ place: { line: Math.max(1, line), column: Math.max(1, column) } });
  goTo({ view: 'json' });
}
