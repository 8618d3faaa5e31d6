/** Tries waiting replies now: one reply, or a whole group step by step. */
import type { DeferredGroup } from '../../../src/domain/records.ts';
import { ask } from '../../kit/api.ts';

/** The result of one request. */
type Step = { readonly moved: number; readonly more: boolean; readonly before: number };

/** `stopped`: why it did not try the rest; null: it tried all. */
export type Tried = { readonly moved: number; readonly stopped: string | null };

/**
 * The pause after a step that moved replies, and after one that moved none, because svc has enough
 * replies in hand.
 */
const pauseMs = { moved: 100, full: 1_000 } as const;

/** @returns a sentence if it cannot be tried; null: svc tries it */
export async function tryReply(id: string): Promise<string | null> {
  const answer = await ask<Step>(`deliveries/${encodeURIComponent(id)}/try`, { method: 'POST' });
  return answer.kind === 'ok' ? null : answer.detail;
}

/** Tries each reply once, even if it fails again meanwhile. */
export async function tryGroup(
  { channel, failure, status }: DeferredGroup,
  signal: AbortSignal,
  onStep: (moved: number) => void,
): Promise<Tried> {
  const query = new URLSearchParams({ channel, failure });
  if (status !== null) query.set('status', String(status));
  for (let moved = 0; ;) {
    if (signal.aborted) return { moved, stopped: 'It was stopped.' };
    const answer = await ask<Step>(`deliveries/try?${query.toString()}`, { method: 'POST' });
    if (answer.kind === 'refused') return { moved, stopped: answer.detail };
    const step = answer.value;
    moved += step.moved;
    onStep(moved);
    if (!step.more) return { moved, stopped: null };
    query.set('before', String(step.before));
    await pause(step.moved === 0 ? pauseMs.full : pauseMs.moved);
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
