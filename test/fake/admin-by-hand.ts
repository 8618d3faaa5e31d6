/** Takeovers for the tests of the admin API, of the only conversation. */
import type { TakeoverPort } from '../../src/admin/admin.ts';
import type { ChannelKey, ConversationId, MessageId } from '../../src/domain/ids.ts';
import type { Message } from '../../src/domain/message.ts';
import type { TakeoverTimes } from '../../src/domain/takeover.ts';
import { ids, said, type Calls } from './admin-ledger.ts';

const channel = 'webhook' as ChannelKey;
const conversation = ids.conversation as ConversationId;
export const hold: TakeoverTimes = { since: 1_000, untilAt: 3_601_000 };

const message: Message = {
  id: ids.message as MessageId,
  channel,
  conversation,
  sender: { id: ids.sender, name: 'Ada' },
  text: said,
  media: null,
  address: { channel, target: 'https://receiver.example/secret' },
  acceptedAt: 1_000,
  sensitivity: 'private',
};

/** An operator has taken the conversation over, and one message waits in it. */
export function fakeByHand(calls: Calls): TakeoverPort {
  const note = <T>(value: T, ...call: [string, ...unknown[]]): T => {
    calls.push(call);
    return value;
  };
  return {
    hold: async (where) => note(hold, 'hold', where),
    giveBack: async (where) => note('done', 'giveBack', where),
    of: () => hold,
    held: () => [{ channel, conversation, ...hold }],
    waiting: async (where) => note([message], 'waiting', where),
    answer: async (where, written) =>
      note({ kind: 'answered', messages: [message.id], hold }, 'answer', where, written),
  };
}
