/**
 * A reply that grows by edits while it is written (../growing-message.ts). Its first text points at
 * the message that it answers, as the reply does. What is shown is formatted as far as it is
 * closed, and what does not fit into one message waits for the reply. It takes of the platform's
 * allowance only what no reply needs.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { Preview, Previewed } from '../channel.ts';
import { goesOn, GrowingMessage, type Shown } from '../growing-message.ts';
import { splitText } from '../splitting.ts';
import type { LooseEnds } from '../loose-ends.ts';
import type { BotApi, CallResult } from './bot-api.ts';
import type { Formatted, Lexer } from './markdown.ts';
import type { Pace } from './pace.ts';
import { parseTarget, type Target } from './place.ts';
import { contentOf, editText, messageText, numberOf } from './putting.ts';
import { parseMessageText, placeFields, unsureText } from './putting.ts';
import { fitted, tellsNoEnd, textMax } from './sending.ts';

export type PreviewParts = Pick<Clock, 'steady'> & {
  readonly api: BotApi;
  readonly lexer: Lexer;
  readonly deadlines: Deadlines;
  readonly ends: LooseEnds;
  readonly pace: Pick<Pace, 'spare'>;
};

const callMs = 10_000;
/** A group takes twenty messages a minute, edits among them. */
const everyMs = { person: 1_500, group: 3_000 } as const;
const cutting = {
  unitsMax: textMax - goesOn.length,
  unitsOf: (text: string) => text.length,
  fences: true,
};

/** @returns null where the address is none of Telegram's */
export function beginPreview(parts: PreviewParts, shown: Previewed): Preview | null {
  const { ends, pace, steady, deadlines } = parts;
  const target = parseTarget(shown.address);
  if (target === null) return null;
  return new GrowingMessage({
    message: shown.replaces,
    made: shown.made,
    unseen: null,
    cut: (text) => splitText(text, cutting)[0]?.text ?? text,
    room: (signal) => pace.spare(target.chat, signal),
    put: (message, text, signal) => put(parts, target, message, text, signal),
    takeAway: (message) => void ends.takeAway(message),
    // A group's id is below zero.
    everyMs: target.chat < 0 ? everyMs.group : everyMs.person,
    steady,
    deadlines,
  });
}

async function put(
  { api, lexer }: PreviewParts,
  target: Target,
  message: string | null,
  text: string,
  signal: AbortSignal,
): Promise<Shown> {
  const { chat } = target;
  const content = contentOf(beginningOf(text, lexer));
  if (message !== null) {
    const made = parseMessageText(message);
    if (made?.chat !== chat) return { kind: 'over' };
    const edit = { chat_id: chat, message_id: made.number, ...content };
    const result = await editText(api, edit, callMs, signal);
    return mayComeLate(result) ? { kind: 'unseen', message: unsureText(made) } : shownAfter(result);
  }
  const payload = { ...placeFields(target), ...content };
  const result = await api.call('sendMessage', payload, callMs, signal);
  const number = result.kind === 'done' ? numberOf(result.result) : null;
  if (number !== null) return { kind: 'made', message: messageText({ chat, number }) };
  // It may stand there, and nobody knows it: a second one would be too much.
  return mayStand(result) ? { kind: 'over' } : shownAfter(result);
}

/** An error page of a relay says as little as a connection that breaks. */
function mayStand(result: CallResult): boolean {
  if (result.kind === 'refused') return result.status >= 500 && result.status !== 503;
  return result.kind === 'done' || result.sent;
}

function mayComeLate(result: CallResult): boolean {
  return result.kind === 'refused' ? tellsNoEnd(result) : result.kind === 'fault' && result.sent;
}

function shownAfter(result: CallResult): Shown {
  if (result.kind === 'done') return { kind: 'shown' };
  return { kind: result.kind === 'refused' && result.status === 429 ? 'over' : 'failed' };
}

function beginningOf(source: string, lexer: Lexer): Formatted {
  const { text, entities } = fitted(source, lexer);
  return { text: `${text}${goesOn}`, entities };
}
