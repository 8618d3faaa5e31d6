import { useState } from 'react';
import type { MessageRow } from '../../../src/domain/records.ts';
import type { MessageList } from './message-list.ts';

/** Why nothing new comes into the list: the person said so, or reads further down. */
export type Holding = 'no' | 'paused' | 'reading';

export type Held = {
  readonly holding: Holding;
  readonly shown: readonly MessageRow[];
  /** How many messages have come since. */
  readonly fresh: number;
  readonly hold: (why: Exclude<Holding, 'no'>) => void;
  readonly letGo: () => void;
};

/**
 * While the list is held no row comes, goes or moves; what is shown goes on to tell its state, and
 * older ones may be added below.
 */
export function useHold(list: MessageList, rows: readonly MessageRow[]): Held {
  const [state, setState] = useState<{
    readonly of: MessageList;
    readonly why: Exclude<Holding, 'no'>;
    readonly ids: readonly string[];
  } | null>(null);
  const held = state?.of === list ? state : null;
  const hold = (why: Exclude<Holding, 'no'>): void => {
    // A person who reads further down and then pauses still sees the same rows.
    setState({ of: list, why, ids: held?.ids ?? rows.map(({ id }) => id) });
  };
  const letGo = (): void => setState(null);
  if (held === null) return { holding: 'no', shown: rows, fresh: 0, hold, letGo };
  const { ids, why } = held;
  const [first, last] = [ids[0], ids.at(-1)];
  const firstKnown = first === undefined ? -1 : rows.findIndex(({ id }) => id <= first);
  const kept = ids.flatMap((id) => list.get(id) ?? []);
  const older = last === undefined ? [] : rows.filter(({ id }) => id < last);
  const fresh = firstKnown === -1 ? rows.length : firstKnown;
  return { holding: why, shown: [...kept, ...older], fresh, hold, letGo };
}
