/**
 * After an action the focus is on what the action led to, otherwise on the heading of the view. It
 * is never nowhere: the keyboard would begin the page anew, and a screen reader fall silent.
 * What takes the focus as it is shown takes it in a layout effect: a moment later it would take it
 * from a button that was reached meanwhile.
 */
import { useLayoutEffect } from 'react';

/** Puts the focus on something that a person reads, and brings it into view. */
export function focusOn(element: HTMLElement | null): void {
  if (element === null) return;
  if (element.tabIndex < 0 && !element.hasAttribute('tabindex')) element.tabIndex = -1;
  element.focus();
}

/** A part that places the focus itself does so within this many frames. */
const framesLeft = 3;

/**
 * Moves the focus when its element goes, or can be used no more; to be used once in a page.
 * @param home where the focus goes then; null: not there yet, the next change of the page asks
 *   again
 */
export function useFocusKept(home: () => HTMLElement | null): void {
  // Before the page is painted: from then on something can have the focus.
  useLayoutEffect(() => {
    let last: Element | null = null;
    let asked = 0;
    const noticed = (event: FocusEvent): void => {
      last = event.target instanceof Element ? event.target : null;
    };
    const look = (frames: number): void => {
      cancelAnimationFrame(asked);
      if (last === null || isUsable(last)) return;
      if (frames > 0) {
        asked = requestAnimationFrame(() => look(frames - 1));
        return;
      }
      const isNowhere = document.activeElement === document.body;
      if (isNowhere) focusOn(home());
    };
    const changes = new MutationObserver(() => look(framesLeft));
    const watched = { childList: true, subtree: true, attributeFilter: ['disabled'] };
    changes.observe(document.body, watched);
    addEventListener('focusin', noticed);
    return () => {
      changes.disconnect();
      cancelAnimationFrame(asked);
      removeEventListener('focusin', noticed);
    };
  }, [home]);
}

function isUsable(element: Element): boolean {
  return element.isConnected && !element.matches(':disabled');
}
