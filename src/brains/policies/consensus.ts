import type { ModelName } from '../../domain/ids.ts';
import { consensusKey } from './consensus-key.ts';
import type { Policy, Slot, Verdict, Votes } from './policy.ts';

/**
 * The reply is the answer that more than half of the models which answered agree on, two of them at
 * least. It is decided early when more than half of all models agree, whatever the rest may say,
 * and when those still missing could not make a majority any more.
 */
export function createConsensus(): Policy {
  return { kind: 'consensus', judge };
}

/** Answers that agree; `first` is the slot of the best-ranked one. */
type Group = { readonly first: number; readonly models: ModelName[] };

function judge(slots: readonly Slot[]): Verdict {
  const groups = new Map<string, Group>();
  let answers = 0;
  let pending = 0;
  for (let at = 0; at < slots.length; at++) {
    const { model, outcome } = slots[at]!;
    if (outcome === null) pending++;
    if (outcome?.kind !== 'answer') continue;
    answers++;
    const key = consensusKey(outcome.text);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { first: at, models: [model] });
    else group.models.push(model);
  }
  const largestFirst = [...groups.values()].sort((a, b) => b.models.length - a.models.length);
  const votes: Votes = largestFirst.map((group) => group.models);
  const top = largestFirst[0];
  const most = top?.models.length ?? 0;
  const needed = pending === 0 ? answers : slots.length;
  if (top !== undefined && most >= 2 && 2 * most > needed) {
    const of = pending === 0 ? `${answers} answers` : `${slots.length} models`;
    return { kind: 'reply', slot: top.first, why: `${most} of ${of} agree`, votes };
  }
  const open = answers < 2 || 2 * most + pending > answers;
  if (pending > 0 && open) return { kind: 'wait', fallback: null };
  return none(answers, most, votes);
}

function none(answers: number, most: number, votes: Votes): Verdict {
  if (answers === 0) return { kind: 'none', reason: 'no_answer', why: 'no model answered', votes };
  const why =
    answers === 1
      ? 'only one model answered, which is no consensus'
      : `at most ${most} of ${answers} answers agree`;
  return { kind: 'none', reason: 'no_consensus', why, votes };
}
