/** Approvals for the tests of the admin API: one, which waits. */
import { approvalRowOf, type Approval } from '../../src/domain/approval.ts';
import {
  type ApprovalId,
  type ChannelKey,
  type ConversationId,
  type MessageId,
} from '../../src/domain/ids.ts';
import type { ApprovalPort } from '../../src/admin/admin.ts';
import type { ApprovalsReader } from '../../src/ledger/ledger.ts';

const channel = 'webhook' as ChannelKey;
const sender = 'sender-4711';
export const approvalId = '0123456789abcdefghjkmr' as ApprovalId;

export const approvalReads = (calls: unknown[][]): ApprovalsReader => ({
  async approvals(state, asked) {
    calls.push(['approvals', state, asked]);
    return { rows: asked.after === null ? [approvalRowOf(waiting())] : [], next: null };
  },
  async approval(id) {
    calls.push(['approval', id]);
    return id === approvalId ? waiting() : null;
  },
});

/** Accepts a decision on the approval that waits. */
export const fakeDeciding = (calls: unknown[][]): ApprovalPort => ({
  async decide(id, verdict) {
    calls.push(['decide', id, verdict]);
    if (id !== approvalId) return { kind: 'not_found' };
    return { kind: 'decided', approval: { ...waiting(), state: verdict, decidedBy: 'operator' } };
  },
});

function waiting(): Approval {
  return {
    id: approvalId,
    code: '0123456789',
    state: 'waiting',
    channel,
    conversation: 'thread/7 ?#%ü&+' as ConversationId,
    address: { channel, target: sender },
    sender: { id: sender, name: null },
    messageId: '0123456789abcdefghjkmn' as MessageId,
    brain: 'main',
    tool: 'http_post',
    arguments: JSON.stringify({ text: 'where is my parcel' }),
    hash: 'of both',
    sensitivity: 'private',
    askedAt: 1_000,
    expiresAt: 9_000,
    decidedAt: null,
    decidedBy: null,
    settledAt: null,
    outcome: null,
  };
}
