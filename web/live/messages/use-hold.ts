import { useRef } from 'react';
import type { MessageRow } from '../../../src/domain/records.ts';
import { useKept } from '../../kit/entry.ts';
import type { MessageList } from './message-list.ts';

/**
 * Why nothing new comes into the list: the person said so, reads further down, has a row in the
 * focus, or points at one.
 */
export type Why = 'paused' | 'reading' | 'focus' | 'pointer';

export type Held = {
  readonly isPaused: boolean;
  readonly shown: readonly MessageRow[];
  /** How many messages have come since. */
  readonly fresh: number;
  readonly hold: (why: Why) => void;
  readonly release: (why: Why) => void;
  /** Whatever the reasons are. */
  readonly letGo: () => void;
};

type State = { readonly whys: readonly Why[]; readonly ids: readonly string[] } | null;

/**
 * While the list is held no row comes, goes or moves; what is shown goes on to tell its state, and
 * older ones may be added below. Back to this place finds it held as it was.
 * @param name of the list
 */
export function useHold(name: string, list: MessageList, rows: readonly MessageRow[]): Held {
  const [state, keep] = useKept<State>(`held ${name}`, null);
  // Two events may come before the list is shown anew.
  const latest = useRef(state);
  const set = (next: State): void => {
    latest.current = next;
    keep(next);
  };
  const hold = (why: Why): void => {
    const { whys = [], ids = rows.map(({ id }) => id) } = latest.current ?? {};
    // A person who reads further down and then pauses still sees the same rows.
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
