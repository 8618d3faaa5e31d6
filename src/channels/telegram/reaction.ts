/**
 * Puts eyes on a group message that was said to the bot, when work on it begins
 * (https://core.telegram.org/bots/api#setmessagereaction). Nothing else changes if the group takes
 * no reactions, or if the call fails or is dropped.
 */
import type { Address } from '../../domain/message.ts';
import type { FirstSeen } from '../messenger/recent-questions.ts';
import type { BestEffortCalls } from './best-effort-calls.ts';
import { parseTarget } from './wire.ts';

/** @param known the messages that have the reaction */
export function showEyes(
  bestEffort: BestEffortCalls,
  address: Address,
  known: FirstSeen,
  signal: AbortSignal,
): void {
  const target = parseTarget(address);
  if (target?.acknowledged !== true || target.replyTo === null) return;
  if (!known.isFirst(address.target)) return;
  const reaction = [{ type: 'emoji', emoji: '👀' }] as const;
  const payload = { chat_id: target.chat, message_id: target.replyTo, reaction: [...reaction] };
  bestEffort.offer('setMessageReaction', payload, signal);
}
