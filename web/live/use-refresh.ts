import { useEffect, useEffectEvent, useRef } from 'react';
import type { LiveEventKind } from '../../src/domain/live-event.ts';
import { listen, useFeed } from './feed.ts';

/** Events come in bursts; a list is read once after each. */
const restMs = 1_000;

/**
 * Reads something anew soon after an event that may have changed it; and when the stream of events
 * opens, since no event told what happened between the first reading and the opening.
 */
export function useRefresh(kinds: readonly LiveEventKind[], again: () => void): void {
  const concerns = useEffectEvent(
    (kind: LiveEventKind) => kind === 'dropped' || kinds.includes(kind),
  );
  const act = useEffectEvent(again);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const leave = listen(({ kind }) => {
      if (timer !== null || !concerns(kind)) return;
      timer = setTimeout(() => {
        timer = null;
        act();
      }, restMs);
    });
    return () => {
      leave();
      if (timer !== null) clearTimeout(timer);
    };
  }, []);
  const isOpen = useFeed(({ state }) => state === 'open');
  const wasOpen = useRef(isOpen);
  useEffect(() => {
    if (isOpen && !wasOpen.current) act();
    wasOpen.current = isOpen;
  }, [isOpen]);
}
