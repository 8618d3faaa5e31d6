/**
 * The context of a message: the message that it replies to or quotes, and the origin of a forward.
 * Format: https://core.telegram.org/bots/api#message. Names only, never ids. Pure.
 */
import { quotedCharactersMax, type MessageContext, type Quoted } from '../../domain/message.ts';
import { beginning } from '../../domain/reply.ts';
import { object, string, type Wire } from './fields.ts';
import { nameOf } from './people.ts';
import { mediaOf } from './files.ts';

type Self = { readonly id: number };

/** @returns undefined: there is no context */
export function contextOf(wire: Wire, isGroup: boolean, bot: Self): MessageContext | undefined {
  const quoted = quotedIn(wire, bot);
  const origin = object(wire['forward_origin']);
  if (!isGroup && quoted === null && origin === null) return undefined;
  return {
    ...(isGroup && { inGroup: true }),
    ...(quoted !== null && { quoted }),
    ...(origin !== null && { forwardedFrom: nameOfOrigin(origin) }),
  };
}

/** In a topic every message "replies" to the one that made the topic: that is no quotation. */
function quotedIn(wire: Wire, bot: Self): Quoted | null {
  const part = string(object(wire['quote'])?.['text']);
  const other = object(wire['reply_to_message']);
  if (other !== null && other['forum_topic_created'] === undefined) {
    const content = quotedContentOf(other, part);
    return content === null ? null : { ...content, ...attributionOf(other, wire, bot) };
  }
  const external = object(wire['external_reply']);
  const origin = object(external?.['origin']);
  if (external === null || origin === null) return null;
  const content = quotedContentOf(external, part);
  if (content === null) return null;
  const by = authorOf(object(origin['sender_user']), wire, bot);
  const isOpen = isPublicChannel(object(external['chat'])) && isOfPublicChannel(origin);
  const elsewhere = isOpen ? 'open' : 'closed';
  return { ...content, by, name: nameOfOrigin(origin), at: 0, elsewhere };
}

function attributionOf(other: Wire, wire: Wire, bot: Self): Omit<Quoted, 'text' | 'media'> {
  const from = object(other['from']);
  const chat = object(other['sender_chat']);
  const by = chat === null ? authorOf(from, wire, bot) : 'other';
  const name = chat === null ? from && nameOf(from) : nameOfChat(chat);
  // A message of another bot may contain a private brain's answer; an anonymous admin is no bot.
  const isOfBot = chat === null && from?.['is_bot'] === true && by !== 'us';
  const origin = object(other['forward_origin']);
  const isUnknown = isOfBot || other['via_bot'] !== undefined || origin !== null;
  const at = isUnknown ? 0 : timeOf(other['date']);
  if (origin === null) return { by, name, at };
  if (isOfPublicChannel(origin)) return { by, name, at, elsewhere: 'open' };
  // A forwarding person said the text here, too. The posts of a channel arrive by themselves.
  return { by, name, at, ...(chat !== null && { elsewhere: 'closed' }) };
}

/** Nobody can change a forwarded text. */
function isOfPublicChannel(origin: Wire): boolean {
  return origin['type'] === 'channel' && isPublicChannel(object(origin['chat']));
}

/** Only a channel that anybody can find and read has a username. */
function isPublicChannel(chat: Wire | null): boolean {
  return chat?.['type'] === 'channel' && string(chat['username']) !== null;
}

function authorOf(user: Wire | null, wire: Wire, bot: Self): Quoted['by'] {
  if (user === null || typeof user['id'] !== 'number') return 'other';
  if (user['id'] === bot.id) return 'us';
  return user['id'] === object(wire['from'])?.['id'] ? 'sender' : 'other';
}

/** @param part the part that the person marked in it; null: none */
function quotedContentOf(wire: Wire, part: string | null): Pick<Quoted, 'text' | 'media'> | null {
  const text = part ?? string(wire['text']) ?? string(wire['caption']) ?? '';
  const media = mediaOf(wire);
  if (text === '' && media === null) return null;
  const short = beginning(text, quotedCharactersMax).toWellFormed();
  return { text: short, ...(media !== null && { media: [media] }) };
}

/** In milliseconds; Telegram counts seconds. */
function timeOf(date: unknown): number {
  return typeof date === 'number' ? date * 1_000 : 0;
}

function nameOfOrigin(origin: Wire): string | null {
  const user = object(origin['sender_user']);
  const chat = object(origin['sender_chat']) ?? object(origin['chat']);
  if (user !== null) return nameOf(user);
  return chat === null ? string(origin['sender_user_name']) : nameOfChat(chat);
}

function nameOfChat(chat: Wire): string | null {
  return string(chat['title']) ?? string(chat['username']);
}
