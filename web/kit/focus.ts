/**
 * Keeps the keyboard focus on the page. After an action the focus is on the action's result, or on
 * the heading of the view. It is never lost: the keyboard would start again at the top, and a
 * screen reader would be silent. A new element takes the focus in a layout effect; later it would
 * take it from a button that the person has reached meanwhile.
 */
import { useLayoutEffect } from 'react';

/** Focuses an element for reading, and scrolls it into view. */
export function focusOn(element: HTMLElement | null): void {
  if (element === null) return;
  if (element.tabIndex < 0 && !element.hasAttribute('tabindex')) element.tabIndex = -1;
  element.focus();
}

/** A component that moves the focus itself does so within this many frames. */
const framesLeft = 3;

/**
 * Moves the focus when its element is removed or disabled. Use it once in a page.
 * @param home the element that gets the focus then; null: not there yet, so the next change of the
 *   page asks again
 */
export function useFocusKept(home: () => HTMLElement | null): void {
  // Before the first paint, since from then on an element can have the focus.
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
