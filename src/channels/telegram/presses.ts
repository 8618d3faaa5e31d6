/**
 * Answers a press that the ledger took. Telegram's wait ends, and in a direct chat the buttons of
 * the question go. In a group they stay, since the person who pressed may have no right to decide.
 * A press that the gate turned away gets no answer. A failure here changes nothing else.
 */
import type { BotApi } from './bot-api.ts';
import type { BestEffortCalls } from './best-effort-calls.ts';
import { markupOf } from './keyboard.ts';
import type { Press } from './wire.ts';

const callMs = 5_000;

type PressDeps = { readonly api: BotApi; readonly bestEffort: BestEffortCalls };

export function acknowledge(
  { api, bestEffort }: PressDeps,
  { query, chat, message, setting, otherRows }: Press,
  signal: AbortSignal,
): void {
  void api.call('answerCallbackQuery', { callback_query_id: query }, callMs, signal);
  if (setting !== 'direct') return;
  const shown = { chat_id: chat, message_id: message, ...markupOf(otherRows) };
  bestEffort.offer('editMessageReplyMarkup', shown, signal);
}
