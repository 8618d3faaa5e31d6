/**
 * Eyes on a message of a group that was said to us, when work on it begins
 * (https://core.telegram.org/bots/api#setmessagereaction). That a group takes no reactions, or that
 * the call fails, changes nothing. Telegram names no limit of its own for it: it is no message, so
 * that it is not counted as one.
 */
import type { Address } from '../../domain/message.ts';
import type { FirstTimes } from '../first-times.ts';
import type { BotApi } from './bot-api.ts';
import { parseTarget } from './place.ts';

const callMs = 5_000;

/** @param known messages that have it */
export function showSeen(
  api: BotApi,
  address: Address,
  known: FirstTimes,
  signal: AbortSignal,
): void {
  const target = parseTarget(address);
  if (target?.acknowledged !== true || target.replyTo === null) return;
  if (!known.isFirst(address.target)) return;
  const reaction = [{ type: 'emoji', emoji: '👀' }] as const;
  const payload = { chat_id: target.chat, message_id: target.replyTo, reaction: [...reaction] };
  void api.call('setMessageReaction', payload, callMs, signal);
}
