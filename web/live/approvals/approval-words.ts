/** Calls that wait for a yes, in words. */
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

/** Who decided: `operator`, what the list tells of a person, or a messenger and an id on it. */
export function describeDecider(decidedBy: string): string {
  if (decidedBy === 'operator') return 'an operator';
  const colon = decidedBy.indexOf(':');
  if (colon < 0) return 'an approver';
  return `${decidedBy.slice(colon + 1)} on ${channelName(decidedBy.slice(0, colon))}`;
}

/** What became of a call that was decided. */
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

/** Arguments as they will be given, laid out to be read. */
export function laidOut(given: string): string {
  try {
    return JSON.stringify(JSON.parse(given), null, 2);
  } catch {
    return given;
  }
}
