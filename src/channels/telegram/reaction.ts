/**
 * Eyes on a message of a group that was said to us, when work on it begins
 * (https://core.telegram.org/bots/api#setmessagereaction). That a group takes no reactions, or that
 * it fails or is left out, changes nothing.
 */
import type { Address } from '../../domain/message.ts';
import type { FirstSeen } from '../messenger/recent-questions.ts';
import type { Courtesies } from './best-effort-calls.ts';
import { parseTarget } from './place.ts';

/** @param known messages that have it */
export function showSeen(
  courtesies: Courtesies,
  address: Address,
  known: FirstSeen,
  signal: AbortSignal,
): void {
  const target = parseTarget(address);
  if (target?.acknowledged !== true || target.replyTo === null) return;
  if (!known.isFirst(address.target)) return;
  const reaction = [{ type: 'emoji', emoji: '👀' }] as const;
  const payload = { chat_id: target.chat, message_id: target.replyTo, reaction: [...reaction] };
  courtesies.offer('setMessageReaction', payload, signal);
}
