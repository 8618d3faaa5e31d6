/** What goes to Telegram, and what of it a refusal takes away. Pure. */
import type { Reply } from '../../domain/reply.ts';
import { rowsOf } from '../choices.ts';
import type { Refused } from './bot-api.ts';
import { markupOf, type Rows } from './keyboard.ts';
import { format } from './markdown.ts';
import type { Entity, Lexer } from './markdown.ts';
import type { Target } from './place.ts';

/** In UTF-16 units. */
export const textMax = 4_096;

/** What is sent, as far as a refusal can change it. */
export type Outgoing = {
  chat: number;
  thread: number | null;
  replyTo: number | null;
  text: string;
  entities: readonly Entity[];
  /** The Markdown itself, sent when the entities are refused. */
  readonly source: string;
  keyboard: Rows;
  /** The message that becomes this one; null: a new one is sent. */
  shown: Shown | null;
};

/** Of a label the platform names no length; what a button says has 64 bytes. */
const buttonLimits = { labelUnitsMax: 64, saysBytesMax: 64 };

export function outgoingOf(
  { text: source, choices, replaces }: Pick<Reply, 'text' | 'choices' | 'replaces'>,
  lexer: Lexer,
  target: Target,
): Outgoing {
  const keyboard = rowsOf(choices, buttonLimits);
  const formatted = format(source, lexer);
  const fits = formatted.text !== '' && formatted.text.length <= textMax;
  const { text, entities } = fits ? formatted : { text: source, entities: [] };
  const shown = parseShown(replaces);
  return { ...target, text, entities, source, keyboard, shown };
}

export function payloadOf({ chat, thread, replyTo, text, entities, keyboard }: Outgoing) {
  return {
    chat_id: chat,
    text,
    link_preview_options: { is_disabled: true },
    ...(entities.length === 0 ? {} : { entities: entities as never }),
    ...(thread === null ? {} : { message_thread_id: thread }),
    ...markupOf(keyboard),
    ...(replyTo === null
      ? {}
      : { reply_parameters: { message_id: replyTo, allow_sending_without_reply: true } }),
  };
}

/** An edit keeps what a message answers, and where it stands. */
export function editOf({ text, entities, keyboard }: Outgoing, { chat, message }: Shown) {
  return {
    chat_id: chat,
    message_id: message,
    text,
    link_preview_options: { is_disabled: true },
    ...(entities.length === 0 ? {} : { entities: entities as never }),
    ...markupOf(keyboard),
  };
}

/** A message of the bot's own, as `replaces` has it. */
export type Shown = { readonly chat: number; readonly message: number };

export function shownText({ chat, message }: Shown): string {
  return JSON.stringify([chat, message]);
}

/** @returns null: it is none that this file wrote */
export function parseShown(text: string | undefined): Shown | null {
  if (text === undefined) return null;
  try {
    const [chat, message] = JSON.parse(text) as unknown[];
    return typeof chat === 'number' && typeof message === 'number' ? { chat, message } : null;
  } catch {
    return null;
  }
}

/** It was deleted, or is too old. */
const editedIsGone = /message to edit not found|message can't be edited|message_id_invalid/i;

/** In the words of today and of older servers, which heed no `allow_sending_without_reply`. */
const answeredIsGone =
  /message to be replied not found|reply message not found|reply_message_id_invalid/i;

/** Takes away what was refused. @returns whether another try may help */
export function mend(outgoing: Outgoing, { status, description, migrateToChat }: Refused): boolean {
  if (status !== 400) return false;
  if (migrateToChat !== null && migrateToChat !== outgoing.chat) {
    outgoing.chat = migrateToChat;
    // The new chat counts its messages anew.
    outgoing.replyTo = null;
    outgoing.shown = null;
    return true;
  }
  if (outgoing.shown !== null && editedIsGone.test(description)) {
    outgoing.shown = null;
    return true;
  }
  if (outgoing.thread !== null && /thread not found/i.test(description)) {
    outgoing.thread = null;
    return true;
  }
  if (outgoing.replyTo !== null && answeredIsGone.test(description)) {
    outgoing.replyTo = null;
    return true;
  }
  if (outgoing.entities.length > 0 && /entit|can't parse/i.test(description)) {
    outgoing.entities = [];
    outgoing.text = outgoing.source;
    return true;
  }
  if (outgoing.keyboard.length > 0 && /button|keyboard|reply.?markup/i.test(description)) {
    outgoing.keyboard = [];
    return true;
  }
  return false;
}
