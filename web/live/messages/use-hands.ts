import { useEffect, useEffectEvent, type FocusEvent, type PointerEvent } from 'react';
import type { Held } from './use-hold.ts';

/**
 * Holds a list while a person uses it: from the focus on a row until the focus leaves the list's
 * surroundings, and while a mouse pointer is over the rows.
 * @returns event handlers for the element around the list, and for the rows
 */
export function useHands({ hold, release }: Pick<Held, 'hold' | 'release'>) {
  const begin = useEffectEvent(() => release('pointer'));
  // After Back, the pointer may be elsewhere.
  useEffect(() => begin(), []);
  const onBlur = (event: FocusEvent): void => {
    const element = event.currentTarget;
    // The new focus shows whether the person moved it, or left the page or its window.
    requestAnimationFrame(() => {
      const isHere = element.contains(document.activeElement);
      if (element.isConnected && document.hasFocus() && !isHere) release('focus');
    });
  };
  const onPointer = ({ pointerType }: PointerEvent): void => {
    if (pointerType !== 'touch') hold('pointer');
  };
  return {
    around: { onBlur },
    rows: {
      onFocus: () => hold('focus'),
      onPointerEnter: onPointer,
      // The first rows may have appeared under the pointer.
      onPointerMove: onPointer,
      onPointerLeave: () => release('pointer'),
    },
  };
}
