import { recordOfAsked } from '../../engine/approval-record.ts';
import type { Effects } from '../../ledger.ts';
import type { Write } from './statements.ts';

/** @param at when the turn was over */
export function approvalWrites({ asked = [], settled }: Effects, at: number): readonly Write[] {
  const writes = asked.map(recordOfAsked).map((record): Write => {
    const { id, code, channel, conversation, sender, messageId, brain, tool } = record;
    const { private: label, askedAt, expiresAt, body } = record;
    const place = [channel, conversation, sender, messageId, brain, tool] as const;
    return ['approvalAsked', id, code, ...place, label ? 1 : 0, askedAt, expiresAt, body];
  });
  if (settled !== undefined) writes.push(['approvalSettled', at, settled.outcome, settled.id]);
  return writes;
}
