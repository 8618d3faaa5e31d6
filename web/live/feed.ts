/** One connection to the stream of events for all views of the page. */
import { useEffect, useEffectEvent } from 'react';
import { create } from 'zustand';
import type { Dropped, Frame } from '../../src/domain/live-event.ts';
import { follow, type StreamState } from '../kit/stream.ts';

export type LiveFrame = Frame | Dropped;

const listeners = new Set<(frame: LiveFrame) => void>();
let leave: (() => void) | null = null;

/** The state of the connection. */
export const useFeed = create<{ readonly state: StreamState }>(() => ({ state: 'connecting' }));

/** Calls `listener` with each event for as long as the component is shown. */
export function useFrames(listener: (frame: LiveFrame) => void): void {
  const latest = useEffectEvent(listener);
  useEffect(() => listen((frame) => latest(frame)), []);
}

/** @returns what ends it; the connection ends with its last listener */
export function listen(listener: (frame: LiveFrame) => void): () => void {
  listeners.add(listener);
  leave ??= follow({
    onFrame: (frame) => {
      for (const one of listeners) one(frame as LiveFrame);
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
