/** Replays or discards dead letters, one after the other. */
import type { Page } from '../../../src/domain/page.ts';
import type { DeadLetter } from '../../../src/domain/story.ts';
import { ask } from '../../kit/api.ts';
import { readRest } from '../conversations/read-rest.ts';
import { isWithin, type Move, type Narrowing } from './letter-words.ts';

/** `stopped`: why the rest was not tried; null: all of them were. */
export type Moved = {
  readonly done: number;
  readonly all: number;
  readonly faults: readonly { readonly id: string; readonly detail: string }[];
  readonly stopped: string | null;
};

export type Moving = {
  readonly move: Move;
  readonly ids: readonly string[];
  readonly reason: string;
  readonly signal: AbortSignal;
  readonly onStep: (moved: Moved) => void;
};

/** Failures that hold for all letters: none of the others could be moved either. */
const ofAll = new Set(['not_kept', 'storage_failed', 'unauthorized', 'read_only', 'unreachable']);

export async function moveLetters({ move, ids, reason, signal, onStep }: Moving): Promise<Moved> {
  let moved: Moved = { done: 0, all: ids.length, faults: [], stopped: null };
  const query = move === 'discard' && reason !== '' ? `?${new URLSearchParams({ reason })}` : '';
  for (const id of ids) {
    if (signal.aborted) return { ...moved, stopped: 'It was stopped.' };
    const path = `dead-letters/${encodeURIComponent(id)}/${move}${query}`;
    const answer = await ask(path, { method: 'POST' });
    if (answer.kind === 'ok') moved = { ...moved, done: moved.done + 1 };
    else if (ofAll.has(answer.code)) return { ...moved, stopped: answer.detail };
    else moved = { ...moved, faults: [...moved.faults, { id, detail: answer.detail }] };
    onStep(moved);
  }
  return moved;
}

/**
 * The ids of all kept letters that match, oldest first, so that a replay keeps their order. They
 * are gathered before the first letter moves, since a list that changes has no next page.
 * @returns a sentence where they cannot be read
 */
export async function gatherLetters(
  narrowing: Narrowing,
  signal: AbortSignal,
): Promise<readonly string[] | string> {
  const ids: string[] = [];
  const add = ({ rows }: Page<DeadLetter>): void => {
    for (const letter of rows) if (isWithin(letter, narrowing)) ids.push(letter.id);
  };
  const first = await ask<Page<DeadLetter>>('dead-letters?limit=500', { signal });
  if (first.kind === 'refused') return first.detail;
  add(first.value);
  const failed = await readRest('dead-letters', first.value.next, signal, add);
  return failed?.detail ?? ids.toReversed();
}
