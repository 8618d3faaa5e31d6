/**
 * Telegram's JSON: an update becomes what was said, an address becomes where a reply goes. Format:
 * https://core.telegram.org/bots/api#message. Pure, and nothing in it throws.
 *
 * A conversation is a chat, or a topic of one. A group message is marked as meant for this bot when
 * it mentions the bot, replies to it, or is a command for it. Offsets of entities count UTF-16
 * units, as JavaScript's strings do.
 */
import type { ConversationId } from '../../domain/ids.ts';
import type { Address, Media, Sender, Setting } from '../../domain/message.ts';
import { isPressable, rowsBut } from '../choices.ts';
import { rowsIn, type Rows } from './keyboard.ts';

export type Bot = { readonly id: number; readonly username: string };

export type Heard = {
  readonly conversation: ConversationId;
  readonly target: string;
  readonly sender: Sender;
  /** Without the bot's own name. */
  readonly text: string;
  readonly media: Media | null;
  /** Unique for one bot, whatever becomes of the update ids. */
  readonly dedupeKey: string;
  readonly setting: Setting;
};

/** `message` null: nothing that svc answers. `press`: it was said by a press on a button. */
export type Update = {
  readonly id: number;
  readonly message: Heard | null;
  readonly press?: Press;
};

/** A press, and the message under which the button is. */
export type Press = {
  readonly query: string;
  readonly chat: number;
  readonly message: number;
  readonly setting: Setting;
  /** The buttons of the message whose question is another. */
  readonly left: Rows;
};

type Wire = Readonly<Record<string, unknown>>;

/** @returns the updates of one answer in their order, without entries that are no update */
export function parseUpdates(result: unknown, bot: Bot): readonly Update[] {
  if (!Array.isArray(result)) return [];
  const updates: Update[] = [];
  for (const one of result) {
    const update = object(one);
    const id = update?.['update_id'];
    if (update === null || typeof id !== 'number') continue;
    const message = object(update['message']);
    const query = object(update['callback_query']);
    if (query === null) {
      updates.push({ id, message: message === null ? null : parseMessage(message, bot) });
    } else {
      updates.push({ id, message: null, ...parsePress(query, bot) });
    }
  }
  return updates;
}

/** @returns who the token belongs to; null: this is no answer of getMe */
export function parseBot(result: unknown): Bot | null {
  const me = object(result);
  const { id, username } = (me ?? {}) as { id?: unknown; username?: unknown };
  return typeof id === 'number' && typeof username === 'string' ? { id, username } : null;
}

function parseMessage(wire: Wire, bot: Bot): Heard | null {
  const place = placeOf(wire);
  const from = object(wire['from']);
  if (place === null) return null;
  const { chat, thread, number, isGroup } = place;
  // A post of a linked channel comes into its group as if somebody had said it there.
  if (from === null || from['is_bot'] === true || wire['is_automatic_forward'] === true)
    return null;
  if (typeof from['id'] !== 'number') return null;
  const media = mediaOf(wire);
  const body = string(wire['text']) ?? string(wire['caption']) ?? '';
  if (body === '' && media === null) return null;
  const marks = marksOf(body, wire['entities'] ?? wire['caption_entities'], bot);
  if (marks === 'for_another' && isGroup) return null;
  const spans = marks === 'for_another' ? [] : marks;
  return {
    conversation: conversationOf(place),
    target: targetOf({ chat, thread, replyTo: isGroup ? number : null }),
    sender: { id: String(from['id']), name: nameOf(from) },
    text: without(body, spans),
    media,
    dedupeKey: `${chat}:${number}`,
    setting: isGroup ? settingIn(wire, spans, bot) : 'direct',
  };
}

/**
 * A press on a button of svc's own (https://core.telegram.org/bots/api#callbackquery). Of a message
 * that Telegram no longer shows it is not known in which topic it stands: such a press is none.
 */
function parsePress(query: Wire, bot: Bot): { message: Heard; press: Press } | null {
  const { id, data } = query;
  const from = object(query['from']);
  const under = object(query['message']);
  const place = under === null ? null : placeOf(under);
  if (typeof id !== 'string' || !isPressable(data) || under === null || place === null) return null;
  if (typeof from?.['id'] !== 'number' || from['is_bot'] === true) return null;
  if (object(under['from'])?.['id'] !== bot.id || under['date'] === 0) return null;
  const { chat, thread, number, isGroup } = place;
  const setting = isGroup ? 'addressed' : 'direct';
  return {
    message: {
      conversation: conversationOf(place),
      target: targetOf({ chat, thread, replyTo: isGroup ? number : null }),
      sender: { id: String(from['id']), name: nameOf(from) },
      text: data,
      media: null,
      dedupeKey: `press:${id}`,
      setting,
    },
    press: {
      query: id,
      chat,
      message: number,
      setting,
      left: rowsBut(data, rowsIn(under['reply_markup'])),
    },
  };
}

type Place = {
  readonly chat: number;
  readonly thread: number | null;
  readonly number: number;
  readonly isGroup: boolean;
};

/** Where a message stands. @returns null: in no chat that svc talks in */
function placeOf(wire: Wire): Place | null {
  const chat = object(wire['chat']);
  const number = wire['message_id'];
  const id = chat?.['id'];
  if (typeof id !== 'number' || typeof number !== 'number') return null;
  const isGroup = chat?.['type'] === 'group' || chat?.['type'] === 'supergroup';
  if (!isGroup && chat?.['type'] !== 'private') return null;
  const topic = wire['is_topic_message'] === true ? wire['message_thread_id'] : null;
  return { chat: id, thread: typeof topic === 'number' ? topic : null, number, isGroup };
}

function conversationOf({ chat, thread }: Place): ConversationId {
  return (thread === null ? `${chat}` : `${chat}:${thread}`) as ConversationId;
}

/** The chat with a person alone has their own id. @returns null: that is no person's id */
export function directChatOf(
  user: string,
): { conversation: ConversationId; target: string } | null {
  const chat = /^[1-9]\d{0,15}$/.test(user) ? Number(user) : Number.NaN;
  if (!Number.isSafeInteger(chat)) return null;
  const conversation = String(chat) as ConversationId;
  return { conversation, target: targetOf({ chat, thread: null, replyTo: null }) };
}

function nameOf(from: Wire): string | null {
  const name = [string(from['first_name']), string(from['last_name'])]
    .filter((part) => part !== null)
    .join(' ');
  return name === '' ? string(from['username']) : name;
}

/** A command with the code of an approval is for whoever asked, as its press is. */
function settingIn(wire: Wire, spans: readonly Span[], bot: Bot): Setting {
  const isMeant = spans.length > 0 || repliesTo(wire, bot) || isPressable(wire['text']);
  return isMeant ? 'addressed' : 'overheard';
}

/** In a topic every message "replies" to the one that made the topic. */
function repliesTo(wire: Wire, bot: Bot): boolean {
  const other = object(wire['reply_to_message']);
  if (other === null || other['forum_topic_created'] !== undefined) return false;
  return object(other['from'])?.['id'] === bot.id;
}

/** In this order: an animation is also sent as a document, a venue as a location. */
const mediaKinds = [
  'photo',
  'animation',
  'video',
  'video_note',
  'voice',
  'audio',
  'document',
  'sticker',
  'contact',
  'venue',
  'location',
  'poll',
  'dice',
] as const;

/** The kind, and the file's name where it has one. Never a URL: a file's URL holds the token. */
function mediaOf(wire: Wire): Media | null {
  for (const kind of mediaKinds) {
    const media = wire[kind];
    if (media === undefined || media === null) continue;
    const name = string(object(media)?.['file_name']);
    return name === null ? { type: null, reference: kind } : { type: kind, reference: name };
  }
  return null;
}

type Span = { readonly start: number; readonly end: number };

/** Where the bot is named; `for_another`: a command that is for another bot. */
function marksOf(body: string, entities: unknown, bot: Bot): readonly Span[] | 'for_another' {
  if (!Array.isArray(entities)) return [];
  const spans: Span[] = [];
  const ours = `@${bot.username.toLowerCase()}`;
  for (const one of entities) {
    const entity = object(one);
    const { offset, length } = (entity ?? {}) as { offset?: unknown; length?: unknown };
    if (entity === null || typeof offset !== 'number' || typeof length !== 'number') continue;
    const end = offset + length;
    const said = body.slice(offset, end).toLowerCase();
    if (entity['type'] === 'mention' && said === ours) spans.push({ start: offset, end });
    if (entity['type'] === 'text_mention' && object(entity['user'])?.['id'] === bot.id) {
      spans.push({ start: offset, end });
    }
    const at = said.indexOf('@');
    if (entity['type'] === 'bot_command' && at >= 0) {
      if (said.slice(at) === ours) spans.push({ start: offset + at, end });
      else if (offset === 0) return 'for_another';
    }
  }
  return spans;
}

/** The text without those spans and the white space that they leave; all of it if nothing else. */
function without(body: string, spans: readonly Span[]): string {
  if (spans.length === 0) return body;
  let text = '';
  let from = 0;
  for (const { start, end } of spans) {
    text += body.slice(from, start);
    from = /\s$/.test(text) || text === '' ? skipSpace(body, end) : end;
  }
  text = (text + body.slice(from)).trim();
  return text === '' ? body : text;
}

function skipSpace(body: string, from: number): number {
  let at = from;
  while (at < body.length && /[ \t]/.test(body[at]!)) at++;
  return at;
}

/** Where a reply goes. `replyTo`: in groups the message that it answers. */
export type Target = {
  readonly chat: number;
  readonly thread: number | null;
  readonly replyTo: number | null;
};

function targetOf(target: Target): string {
  return JSON.stringify([target.chat, target.thread, target.replyTo]);
}

/** @returns null where the address is none that this file wrote */
export function parseTarget({ target }: Address): Target | null {
  let parts: unknown;
  try {
    parts = JSON.parse(target);
  } catch {
    return null;
  }
  if (!Array.isArray(parts)) return null;
  const [chat, thread, replyTo] = parts as unknown[];
  if (typeof chat !== 'number') return null;
  const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  return { chat, thread: number(thread), replyTo: number(replyTo) };
}

function object(value: unknown): Wire | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Wire)
    : null;
}

function string(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
