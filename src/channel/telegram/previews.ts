/**
 * A reply that is still being written, as a message that grows
 * (https://core.telegram.org/bots/api#editmessagetext).
 */
import type { SteadyTime } from '../../lib/clock.ts';
import type { Preview, Previewed } from '../channel.ts';
import { GrowingMessage, type Made } from '../growing-message.ts';
import type { BotApi, CallResult } from './bot-api.ts';
import { format } from './markdown.ts';
import type { Lexer } from './markdown.ts';
import { editOf, outgoingOf, parseShown, payloadOf, shownText, textMax } from './outgoing.ts';
import type { Pace } from './pace.ts';
import { parseTarget } from './place.ts';

export type PreviewParts = {
  readonly api: BotApi;
  readonly lexer: Lexer;
  readonly pace: Pace;
  readonly steady: () => SteadyTime;
};

const callMs = 5_000;
/** Says that more is to come. */
const goesOn = ' …';

/** @returns null: the address is none of this channel's */
export function openPreview(parts: PreviewParts, shown: Previewed): Preview | null {
  const target = parseTarget(shown.address);
  if (target === null) return null;
  const { api, lexer, pace, steady } = parts;
  const never = new AbortController().signal;
  const outgoing = (text: string) => outgoingOf({ text: growing(text, lexer) }, lexer, target);
  const screen = {
    mayShow: () => pace.tryTake(target.chat),
    async make(text: string): Promise<Made> {
      const payload = payloadOf(outgoing(text));
      const made = await api.call('sendMessage', payload, callMs, never);
      if (made.kind !== 'done') return { kind: mayStand(made) ? 'unseen' : 'failed' };
      const { message_id: message } = made.result as { message_id?: unknown };
      if (typeof message !== 'number') return { kind: 'unseen' };
      return { kind: 'made', replaces: shownText({ chat: target.chat, message }) };
    },
    async edit(replaces: string, text: string): Promise<boolean> {
      const known = parseShown(replaces);
      if (known === null) return false;
      const payload = editOf(outgoing(text), known);
      const edited = await api.call('editMessageText', payload, callMs, never);
      return edited.kind === 'done';
    },
  };
  return new GrowingMessage(screen, shown, steady);
}

/** Telegram knows no repeats. */
function mayStand(result: CallResult): boolean {
  return result.kind === 'fault' && result.sent;
}

/** The beginning that a message holds; what is longer waits for the reply. */
function growing(text: string, lexer: Lexer): string {
  const most = textMax - goesOn.length;
  const isLong = text.length > most || format(text, lexer).text.length > most;
  return `${isLong ? text.slice(0, most).toWellFormed() : text}${goesOn}`;
}
