/**
 * What Telegram is told of a press that was taken: its wait is over, and in a direct chat the
 * buttons of its question go. In a group they stay, since who pressed may be none who may decide.
 * A press that was turned away is not answered. Whatever goes wrong here changes nothing.
 */
import type { BotApi } from './bot-api.ts';
import type { Courtesies } from './best-effort-calls.ts';
import { markupOf } from './keyboard.ts';
import type { Press } from './wire.ts';

const callMs = 5_000;

type PressDeps = { readonly api: BotApi; readonly courtesies: Courtesies };

export function acknowledge(
  { api, courtesies }: PressDeps,
  { query, chat, message, setting, left }: Press,
  signal: AbortSignal,
): void {
  void api.call('answerCallbackQuery', { callback_query_id: query }, callMs, signal);
  if (setting !== 'direct') return;
  const shown = { chat_id: chat, message_id: message, ...markupOf(left) };
  courtesies.offer('editMessageReplyMarkup', shown, signal);
}
