/** Tries replies now that wait for another try: one, or all of a group, step by step. */
import type { DeferredGroup } from '../../../src/domain/records.ts';
import { ask } from '../../kit/api.ts';

/** What one request moved. */
type Step = { readonly moved: number; readonly more: boolean; readonly before: number };

/** `stopped`: why the rest was not tried; null: all of them were. */
export type Tried = { readonly moved: number; readonly stopped: string | null };

/** svc moves no more while it has enough in hand. */
const pauseMs = { moved: 100, full: 1_000 } as const;

/** @returns a sentence where it cannot be tried; null: it is */
export async function tryReply(id: string): Promise<string | null> {
  const answer = await ask<Step>(`deliveries/${encodeURIComponent(id)}/try`, { method: 'POST' });
  return answer.kind === 'ok' ? null : answer.detail;
}

/** Each is tried once, also where it fails again meanwhile. */
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
