/** Keyboard shortcuts that work in every tab. */
import { useEffect } from 'react';
import { goTo } from '../../kit/place.ts';
import { redo, undo } from '../document/store.ts';
import { searchOutline } from '../outline/folding.tsx';
import { nextProblem } from '../problems/next.ts';
import { openOverlay } from './overlay.ts';
import { views } from './views.ts';

/** The shortcuts as the help shows them. */
export const keys: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'Go to anything, do anything'],
  ['Ctrl Z', 'Undo'],
  ['Ctrl Shift Z', 'Redo'],
  ['F8', 'The next problem'],
  ['Alt 1 … 9', 'The tabs'],
  ['/', 'Search the outline'],
  ['?', 'These keys'],
  ['↑ ↓ ← →', 'In the outline: from one to the next, close and open'],
  ['Enter', 'In the outline: to its form'],
  ['Alt ↑, Alt ↓', 'In the outline: move a channel, brain, model or route'],
  ['Delete', 'In the outline: remove'],
];

export function useKeys(): void {
  useEffect(() => {
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented) return;
  const act = actionOf(event);
  if (act === null) return;
  event.preventDefault();
  act();
}

function actionOf(event: KeyboardEvent): (() => void) | null {
  const key = event.key.toLowerCase();
  if (event.ctrlKey || event.metaKey) {
    if (event.altKey) return null;
    if (key === 'k') return () => openOverlay('palette');
    if (key === 'z') return event.shiftKey ? redo : undo;
    return key === 'y' ? redo : null;
  }
  if (event.altKey) {
    const view = /^Digit[1-9]$/.test(event.code) ? views[Number(event.code.at(-1)) - 1] : undefined;
    return view === undefined ? null : () => goTo({ view: view.name });
  }
  if (key === 'f8') return nextProblem;
  if (isWriting(event)) return null;
  if (key === '/') return searchOutline;
  return key === '?' ? () => openOverlay('keys') : null;
}

/** Whether the key types into a text field. */
function isWriting(event: KeyboardEvent): boolean {
  const at = event.composedPath()[0];
  if (!(at instanceof HTMLElement)) return false;
  if (at.isContentEditable || at instanceof HTMLTextAreaElement) return true;
  if (at instanceof HTMLSelectElement) return true;
  return at instanceof HTMLInputElement && at.type !== 'checkbox';
}
