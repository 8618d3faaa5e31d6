/** Holds the message list still while a person uses it. */
import { useRef } from 'react';
import type { MessageRow } from '../../../src/domain/records.ts';
import { useKept } from '../../kit/entry.ts';
import type { MessageList } from './message-list.ts';

/**
 * Why the list adds nothing new: the person paused it, scrolled down, focused a row, or points at
 * one.
 */
export type Why = 'paused' | 'reading' | 'focus' | 'pointer';

export type Held = {
  readonly isPaused: boolean;
  readonly shown: readonly MessageRow[];
  /** The number of messages that arrived since. */
  readonly fresh: number;
  readonly hold: (why: Why) => void;
  readonly release: (why: Why) => void;
  /** Ends the hold, with all its reasons. */
  readonly letGo: () => void;
};

type State = { readonly whys: readonly Why[]; readonly ids: readonly string[] } | null;

/**
 * While the list is held, no row appears, disappears or moves. Shown rows still update their state,
 * and older rows can be added below. Back to this place restores the hold.
 * @param name of the list
 */
export function useHold(name: string, list: MessageList, rows: readonly MessageRow[]): Held {
  const [state, keep] = useKept<State>(`held ${name}`, null);
  // Two events may come before the next render.
  const latest = useRef(state);
  const set = (next: State): void => {
    latest.current = next;
    keep(next);
  };
  const hold = (why: Why): void => {
    // Without rows, there is nothing to hold.
    if (rows.length === 0 && why !== 'paused') return;
    const { whys = [], ids = rows.map(({ id }) => id) } = latest.current ?? {};
    // A person who scrolls down and then pauses still sees the same rows.
    if (!whys.includes(why)) set({ whys: [...whys, why], ids });
  };
  const release = (why: Why): void => {
    if (latest.current === null) return;
    const whys = latest.current.whys.filter((one) => one !== why);
    set(whys.length === 0 ? null : { ...latest.current, whys });
  };
  const letGo = (): void => set(null);
  const acts = { hold, release, letGo };
  if (state === null) return { isPaused: false, shown: rows, fresh: 0, ...acts };
  const { ids, whys } = state;
  const [first, last] = [ids[0], ids.at(-1)];
  const firstKnown = first === undefined ? -1 : rows.findIndex(({ id }) => id <= first);
  const kept = ids.flatMap((id) => list.get(id) ?? []);
  const older = last === undefined ? [] : rows.filter(({ id }) => id < last);
  const fresh = firstKnown === -1 ? rows.length : firstKnown;
  return { isPaused: whys.includes('paused'), shown: [...kept, ...older], fresh, ...acts };
}
