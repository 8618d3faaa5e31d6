import { useEffect, useEffectEvent, type FocusEvent, type PointerEvent } from 'react';
import type { Held } from './use-hold.ts';

/**
 * Holds a list while a person is at it: from a row that has the focus on, until that has left all
 * that is around the list; and while a pointer that can hover is over the rows.
 * @returns what goes to the element around the list, and to the one of the rows
 */
export function useHands({ hold, release }: Pick<Held, 'hold' | 'release'>) {
  const begin = useEffectEvent(() => release('pointer'));
  // Back may find the pointer elsewhere.
  useEffect(() => begin(), []);
  const onBlur = (event: FocusEvent): void => {
    const element = event.currentTarget;
    // Where the focus is by then tells whether it was moved, or the page or its window left.
    requestAnimationFrame(() => {
      const isHere = element.contains(document.activeElement);
      if (element.isConnected && document.hasFocus() && !isHere) release('focus');
    });
  };
  const onPointerEnter = ({ pointerType }: PointerEvent): void => {
    if (pointerType !== 'touch') hold('pointer');
  };
  return {
    around: { onBlur },
    rows: {
      onFocus: () => hold('focus'),
      onPointerEnter,
      onPointerLeave: () => release('pointer'),
    },
  };
}
