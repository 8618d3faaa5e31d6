import { useLayoutEffect } from 'react';

const inDialog = '[role="dialog"], [role="alertdialog"]';
/** Elements that can get the focus instead, the nearest first. */
const parts = 'section, main';

/**
 * When the focused element is removed, moves the focus to the section around it instead of the top
 * of the page. For an element in a dialog, it is the section that opened the dialog.
 */
export function useKeptFocus(): void {
  // Before the first paint, since from then on an element can have the focus.
  useLayoutEffect(() => {
    let held: Element | null = null;
    let around: readonly HTMLElement[] = [];
    const hold = ({ target }: FocusEvent): void => {
      if (!(target instanceof HTMLElement)) return;
      held = target;
      if (target.closest(inDialog) === null) around = partsAround(target);
    };
    /** The person moved the focus away, so it is not lost when its element is removed later. */
    const leave = ({ target, relatedTarget }: FocusEvent): void => {
      queueMicrotask(() => {
        const isLeft = relatedTarget === null && target === held && document.hasFocus();
        if (isLeft && held?.isConnected === true) held = null;
      });
    };
    const look = (): void => {
      if (held === null || held.isConnected || document.activeElement !== document.body) return;
      if (document.querySelector(inDialog) !== null) return;
      held = null;
      const part = around.find(({ isConnected }) => isConnected);
      giveFocus(part ?? document.getElementById('main'));
    };
    let due = 0;
    // A dialog returns the focus shortly after it closes, and some views focus themselves.
    const lookSoon = (): void => {
      if (held === null || held.isConnected) return;
      cancelAnimationFrame(due);
      due = requestAnimationFrame(() => requestAnimationFrame(look));
    };
    const observer = new MutationObserver(lookSoon);
    observer.observe(document.body, { childList: true, subtree: true });
    document.addEventListener('focusin', hold);
    document.addEventListener('focusout', leave);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(due);
      document.removeEventListener('focusin', hold);
      document.removeEventListener('focusout', leave);
    };
  }, []);
}

function partsAround(target: HTMLElement): readonly HTMLElement[] {
  const found: HTMLElement[] = [];
  let part = target.parentElement?.closest<HTMLElement>(parts) ?? null;
  while (part !== null) {
    found.push(part);
    part = part.parentElement?.closest<HTMLElement>(parts) ?? null;
  }
  return found;
}

function giveFocus(part: HTMLElement | null): void {
  if (part === null) return;
  if (!part.hasAttribute('tabindex')) {
    part.tabIndex = -1;
    part.addEventListener('blur', () => part.removeAttribute('tabindex'), { once: true });
  }
  part.focus({ preventScroll: true });
}
