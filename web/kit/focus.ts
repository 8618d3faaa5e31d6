/**
 * After an action the focus is on what it led to, else on the heading of the view: never nowhere,
 * where the keyboard would begin the page anew and a screen reader would fall silent.
 */
import { useLayoutEffect } from 'react';

/** Puts the focus on something that a person reads, and brings it into view. */
export function focusOn(element: HTMLElement | null): void {
  if (element === null) return;
  if (element.tabIndex < 0 && !element.hasAttribute('tabindex')) element.tabIndex = -1;
  element.focus();
}

/** What has a place of its own for the focus moves it within this many frames. */
const framesLeft = 3;

/**
 * Moves the focus on where what had it goes, or can be used no more; to be used once in a page.
 * @param home where it goes then; null: not there yet, the next change of the page asks again
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
