/** One connection to the event stream, for all views of the page. */
import { useEffect, useEffectEvent } from 'react';
import { create } from 'zustand';
import type { Dropped, LiveEvent } from '../../src/domain/live-event.ts';
import { follow, type StreamState } from '../kit/stream.ts';

export type PageEvent = LiveEvent | Dropped;

const listeners = new Set<(liveEvent: PageEvent) => void>();
let leave: (() => void) | null = null;

/** The state of the connection. */
export const useFeed = create<{ readonly state: StreamState }>(() => ({ state: 'connecting' }));

/** Calls `listener` for each event while the component is shown. */
export function useLiveEvents(listener: (liveEvent: PageEvent) => void): void {
  const latest = useEffectEvent(listener);
  useEffect(() => listen((liveEvent) => latest(liveEvent)), []);
}

/** The connection ends with its last listener. @returns a function that removes the listener */
export function listen(listener: (liveEvent: PageEvent) => void): () => void {
  listeners.add(listener);
  leave ??= follow({
    onLiveEvent: (liveEvent) => {
      for (const one of listeners) one(liveEvent as PageEvent);
    },
    onState: (state) => useFeed.setState({ state }),
  });
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    leave?.();
    leave = null;
  };
}
