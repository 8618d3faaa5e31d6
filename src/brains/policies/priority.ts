import type { Policy, Slot, Verdict } from './policy.ts';

/** The reply comes from the best-ranked model that answered. */
export function createPriority(): Policy {
  return { kind: 'priority', judge };
}

function judge(slots: readonly Slot[]): Verdict {
  let pending = false;
  for (let at = 0; at < slots.length; at++) {
    const { outcome } = slots[at]!;
    if (outcome === null) {
      pending = true;
    } else if (outcome.kind === 'answer') {
      return pending ? { kind: 'wait', fallback: at } : reply(at);
    }
  }
  if (pending) return { kind: 'wait', fallback: null };
  return { kind: 'none', reason: 'no_answer', why: 'no model answered', votes: [] };
}

function reply(slot: number): Verdict {
  const why =
    slot === 0
      ? 'the first model by rank answered'
      : `the ${slot === 1 ? 'one' : slot} ranked above it did not answer`;
  return { kind: 'reply', slot, why, votes: [] };
}
