import { useEffect, useEffectEvent, useRef } from 'react';
import type { LiveEventKind } from '../../src/domain/live-event.ts';
import { listen, useFeed } from './feed.ts';

/** Events come in bursts, so there is one read for each burst. */
const restMs = 1_000;

/**
 * Reads again shortly after an event that may have changed the data. It also reads when the event
 * stream opens, since no event covers the time between the first read and the opening.
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
