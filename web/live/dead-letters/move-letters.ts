/** Replays or discards dead letters, one after the other. */
import type { Page } from '../../../src/domain/page.ts';
import type { DeadLetter } from '../../../src/domain/story.ts';
import { ask } from '../../kit/api.ts';
import { readRest } from '../conversations/read-rest.ts';
import type { Mover } from './fates.ts';
import { isWithin, type Move, type Narrowing } from './letter-words.ts';

/** `stopped`: why it did not try the rest; null: it tried all. */
export type Moved = {
  readonly done: number;
  readonly all: number;
  readonly faults: readonly { readonly id: string; readonly detail: string }[];
  readonly stopped: string | null;
};

export type Moving = {
  readonly move: Move;
  readonly letters: readonly Mover[];
  readonly reason: string;
  readonly signal: AbortSignal;
  readonly onStep: (moved: Moved) => void;
  /** Called at once for each moved letter. */
  readonly onMoved: (letter: Mover) => void;
};

/** Failures that apply to all letters, so that no further one is tried. */
const ofAll = new Set(['not_kept', 'storage_failed', 'unauthorized', 'read_only', 'unreachable']);

export async function moveLetters(moving: Moving): Promise<Moved> {
  const { move, letters, reason, signal, onStep, onMoved } = moving;
  let moved: Moved = { done: 0, all: letters.length, faults: [], stopped: null };
  const query = move === 'discard' && reason !== '' ? `?${new URLSearchParams({ reason })}` : '';
  for (const letter of letters) {
    const { id } = letter;
    if (signal.aborted) return { ...moved, stopped: 'It was stopped.' };
    const path = `dead-letters/${encodeURIComponent(id)}/${move}${query}`;
    const answer = await ask(path, { method: 'POST' });
    if (answer.kind === 'ok') {
      moved = { ...moved, done: moved.done + 1 };
      onMoved(letter);
    } else if (ofAll.has(answer.code)) return { ...moved, stopped: answer.detail };
    else moved = { ...moved, faults: [...moved.faults, { id, detail: answer.detail }] };
    onStep(moved);
  }
  return moved;
}

/**
 * All kept letters that match, oldest first, so that a replay keeps their order. All are read
 * before the first one moves, since a changing list has no reliable next page.
 * @returns a sentence if they cannot be read
 */
export async function gatherLetters(
  narrowing: Narrowing,
  signal: AbortSignal,
): Promise<readonly Mover[] | string> {
  const letters: Mover[] = [];
  const add = ({ rows }: Page<DeadLetter>): void => {
    for (const letter of rows) if (isWithin(letter, narrowing)) letters.push(letter);
  };
  const first = await ask<Page<DeadLetter>>('dead-letters?limit=500', { signal });
  if (first.kind === 'refused') return first.detail;
  add(first.value);
  const failed = await readRest('dead-letters', first.value.next, signal, add);
  return failed?.detail ?? letters.toReversed();
}
