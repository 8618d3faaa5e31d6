import { pageRowsMax } from '../domain/page.ts';
import type { DeadLetterReason } from '../domain/story.ts';

/** Adds up what has the same reason; most frequent first. */
export function countReasons(counted: readonly DeadLetterReason[]): readonly DeadLetterReason[] {
  const reasons = new Map<string, DeadLetterReason>();
  for (const { box, kind, whose, status, detail, count } of counted) {
    const key = JSON.stringify([box, kind, whose, status, detail]);
    const sum = count + (reasons.get(key)?.count ?? 0);
    reasons.set(key, { box, kind, whose, status, detail, count: sum });
  }
  return [...reasons.values()].sort((a, b) => b.count - a.count).slice(0, pageRowsMax);
}
