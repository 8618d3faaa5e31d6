/** Tool calls that need an approval, in words. */
import { channelName } from '../../../src/channels/registry.ts';
import type { Approval, ApprovalState, Verdict } from '../../../src/domain/approval.ts';
import { outcomeWords } from '../../../src/domain/tool-use.ts';
import type { Tone } from '../../kit/state.tsx';

export const stateWords: Readonly<Record<ApprovalState, string>> = {
  waiting: 'waiting',
  approved: 'approved',
  refused: 'refused',
  expired: 'expired',
};

export const toneOfState: Readonly<Record<ApprovalState, Tone>> = {
  waiting: 'wait',
  approved: 'good',
  refused: 'off',
  expired: 'off',
};

/** Describes the decider: `operator`, a name from the list, or a messenger and an id on it. */
export function describeDecider(decidedBy: string): string {
  if (decidedBy === 'operator') return 'an operator';
  const colon = decidedBy.indexOf(':');
  if (colon < 0) return 'an approver';
  return `${decidedBy.slice(colon + 1)} on ${channelName(decidedBy.slice(0, colon))}`;
}

/** Describes the result of a decided call. */
export function describeFate(
  verdict: Verdict,
  { settledAt, outcome }: Pick<Approval, 'settledAt' | 'outcome'>,
): string {
  if (verdict !== 'approved') {
    return settledAt === null ? 'the model is being told' : 'it did not run; the model was told';
  }
  if (outcome !== null) return outcomeWords[outcome];
  return settledAt === null ? 'it runs now, or soon' : 'it did not run';
}

/** The arguments of a call, formatted for reading. */
export function laidOut(given: string): string {
  try {
    return JSON.stringify(JSON.parse(given), null, 2);
  } catch {
    return given;
  }
}
