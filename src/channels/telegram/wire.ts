/**
 * Reads Telegram's JSON: an update becomes a message. Format:
 * https://core.telegram.org/bots/api#message. Pure; nothing here throws.
 *
 * A group message is marked as said to this bot if it mentions the bot, replies to it, or is a
 * command for it. A command for no particular bot has a mark of its own.
 */
import type { ConversationId } from '../../domain/ids.ts';
import {
  quotedCharactersMax,
  type Media,
  type MessageContext,
  type Sender,
  type Setting,
  type Address,
  type Quoted,
} from '../../domain/message.ts';
import { isPressable, rowsWithout, type Rows } from '../messenger/choices.ts';
import type { DirectChat, Incoming } from '../messenger/platform.ts';
import { editMsMax } from '../messenger/recent-questions.ts';
import { fieldsOf, listOf, parseJson, recordOf, textOf, type Fields } from '../../lib/json.ts';
import { beginning, type Choice } from '../../domain/reply.ts';
import type { Migration } from './former-chats.ts';

/** `dedupeKey`: unique for one bot, even if update ids begin anew. */
type IncomingMessage = Incoming & { readonly dedupeKey: string };

/**
 * `message` null: svc does not answer this update. `press`: the message is a press on a button.
 * `migration`: the update is a service message, which says that a group became a supergroup.
 */
export type Update = {
  readonly id: number;
  readonly message: IncomingMessage | null;
  readonly press?: Press;
  readonly migration?: Migration;
};

/** A press, and the message with its button. */
export type Press = {
  readonly query: string;
  readonly chat: number;
  readonly message: number;
  readonly setting: Setting;
  /** The buttons of the other questions in the same message. */
  readonly otherRows: Rows;
};

/** @returns the updates of one answer in their order, without invalid entries */
export function parseUpdates(result: unknown, bot: Bot): readonly Update[] {
  return listOf(result).flatMap((one) => {
    const update = fieldsOf(one);
    const id = update['update_id'];
    if (typeof id !== 'number') return [];
    const edited = recordOf(update['edited_message']);
    if (edited !== null) return [{ id, message: parseEdit(edited, bot) }];
    const query = recordOf(update['callback_query']);
    if (query !== null) return [{ id, message: null, ...parsePress(query, bot) }];
    const wire = fieldsOf(update['message']);
    const migration = migrationIn(wire);
    return [{ id, message: parseMessage(wire, bot), ...(migration !== null && { migration }) }];
  });
}

/** @returns null: the message does not say that a group became a supergroup */
function migrationIn(wire: Fields): Migration | null {
  const chat = numberOf(recordOf(wire['chat'])?.['id']);
  const to = numberOf(wire['migrate_to_chat_id']);
  const from = numberOf(wire['migrate_from_chat_id']);
  if (chat === null) return null;
  if (to !== null) return { from: chat, to };
  return from === null ? null : { from, to: chat };
}

/** @returns the account of the token; null: this is no answer of getMe */
export function parseBot(result: unknown): Bot | null {
  const { id, username } = fieldsOf(result);
  return typeof id === 'number' && typeof username === 'string' ? { id, username } : null;
}

function parseMessage(wire: Fields, bot: Bot): IncomingMessage | null {
  const place = placeOf(wire);
  if (place === null) return null;
  const { chat, thread, number, isGroup } = place;
  const sender = senderOf(wire, chat);
  if (sender === null) return null;
  const media = mediaOf(wire);
  const body = string(wire['text']) ?? string(wire['caption']) ?? '';
  if (body === '' && media === null) return null;
  const entities = wire['entities'] ?? wire['caption_entities'];
  const marks = marksOf(body, entities, bot);
  if (marks === 'for_another' && isGroup) return null;
  const spans = marks === 'for_another' ? [] : marks;
  const setting = isGroup ? settingIn(wire, spans, entities, bot) : 'direct';
  const acknowledged = setting === 'addressed' || setting === 'command';
  const context = contextOf(wire, isGroup, bot);
  return {
    conversation: conversationOf(place),
    target: targetOf({
      chat,
      thread,
      replyTo: isGroup ? number : null,
      ...(acknowledged && { acknowledged }),
    }),
    sender,
    text: withoutSpans(body, spans),
    media,
    ...(context !== undefined && { context }),
    ...albumOf(wire),
    ...(isAnonymous(wire) && { apart: 'anonymous' as const }),
    ...saidAtOf(wire),
    dedupeKey: `${chat}:${number}`,
    setting,
  };
}

/**
 * Edits of questions (https://core.telegram.org/bots/api#update, `edited_message`). An edit soon
 * after its message is a message of its own, whose address names the question that it changes.
 * @returns null: svc does not answer it, or it comes too late
 */
function parseEdit(wire: Fields, bot: Bot): IncomingMessage | null {
  const { date: saidAt, edit_date: editedAt } = wire;
  if (typeof saidAt !== 'number' || typeof editedAt !== 'number') return null;
  const message = parseMessage(wire, bot);
  if (message === null || (editedAt - saidAt) * 1_000 > editMsMax) return null;
  const target = parseTarget(message);
  const edited = numberOf(wire['message_id']);
  if (target === null || edited === null) return null;
  const { dedupeKey: edits } = message;
  const place = { target: targetOf({ ...target, edits: edited }), dedupeKey: `edit:${edits}` };
  return { ...message, ...place, apart: 'edit', edits };
}

/** Telegram counts whole seconds. */
function saidAtOf({ date }: Fields): Pick<IncomingMessage, 'saidAt'> {
  return typeof date === 'number' ? { saidAt: { at: date * 1_000, stepMs: 1_000 } } : {};
}

/** Parts of an album are separate messages that come close together. */
export const albumMs = 1_000;

function albumOf(wire: Fields): Pick<IncomingMessage, 'gather'> {
  const key = string(wire['media_group_id']);
  return key === null ? {} : { gather: { kind: 'album', key, ms: albumMs } };
}

/**
 * A press on a button of svc (https://core.telegram.org/bots/api#callbackquery). For a message that
 * Telegram no longer shows, the topic is unknown, so such a press is ignored.
 */
function parsePress(query: Fields, bot: Bot): { message: IncomingMessage; press: Press } | null {
  const { id, data } = query;
  const sender = personOf(query['from']);
  const under = recordOf(query['message']);
  const place = under === null ? null : placeOf(under);
  if (typeof id !== 'string' || under === null || place === null || sender === null) return null;
  const rows = rowsIn(under['reply_markup']);
  if (!isPressable(data, rows)) return null;
  if (recordOf(under['from'])?.['id'] !== bot.id || under['date'] === 0) return null;
  const { chat, thread, number, isGroup } = place;
  const setting = isGroup ? 'addressed' : 'direct';
  return {
    message: {
      conversation: conversationOf(place),
      target: targetOf({ chat, thread, replyTo: isGroup ? number : null }),
      sender,
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
      otherRows: rowsWithout(data, rows),
    },
  };
}

function settingIn(
  wire: Fields,
  spans: readonly Span[],
  entities: unknown,
  bot: Bot,
): Exclude<Setting, 'direct'> {
  if (spans.length > 0 || repliesTo(wire, bot)) return 'addressed';
  return beginsWithCommand(entities) ? 'command' : 'overheard';
}

/** In a topic every message "replies" to the one that made the topic. */
function repliesTo(wire: Fields, bot: Bot): boolean {
  const other = recordOf(wire['reply_to_message']);
  if (other === null || other['forum_topic_created'] !== undefined) return false;
  return recordOf(other['from'])?.['id'] === bot.id;
}

/**
 * The `reply_markup` field of a message (https://core.telegram.org/bots/api#inlinekeyboardmarkup);
 * no field without buttons.
 */
export function markupOf(rows: Rows) {
  if (rows.length === 0) return {};
  const inline_keyboard = rows.map((row) =>
    row.map(({ label, says }) => ({ text: label, callback_data: says })),
  );
  return { reply_markup: { inline_keyboard } };
}

/** The rows of a message's `reply_markup`, without buttons that are not svc's. */
function rowsIn(markup: unknown): Rows {
  return listOf(fieldsOf(markup)['inline_keyboard']).map((row) => listOf(row).flatMap(choiceOf));
}

function choiceOf(button: unknown): readonly Choice[] {
  const { text, callback_data: says } = fieldsOf(button);
  return typeof text === 'string' && typeof says === 'string' ? [{ label: text, says }] : [];
}

/**
 * Where a text names the bot (https://core.telegram.org/bots/api#messageentity). Offsets count
 * UTF-16 units, as JavaScript's strings do. Pure.
 */
type Span = { readonly start: number; readonly end: number };

/** The spans that name the bot; `for_another`: the text begins with a command for another bot. */
function marksOf(body: string, entities: unknown, bot: Bot): readonly Span[] | 'for_another' {
  const spans: Span[] = [];
  const ours = `@${bot.username.toLowerCase()}`;
  for (const { type, offset, length, user } of listOf(entities).map(fieldsOf)) {
    if (typeof offset !== 'number' || typeof length !== 'number') continue;
    const end = offset + length;
    const mention = body.slice(offset, end).toLowerCase();
    const isMention = type === 'mention' && mention === ours;
    const isTextMention = type === 'text_mention' && fieldsOf(user)['id'] === bot.id;
    if (isMention || isTextMention) spans.push({ start: offset, end });
    const at = mention.indexOf('@');
    if (type === 'bot_command' && at >= 0) {
      if (mention.slice(at) === ours) spans.push({ start: offset + at, end });
      else if (offset === 0) return 'for_another';
    }
  }
  return spans;
}

/** Whether the text begins with a command. `marksOf` tells for which bot. */
function beginsWithCommand(entities: unknown): boolean {
  return listOf(entities).some((one) => {
    const { type, offset } = fieldsOf(one);
    return type === 'bot_command' && offset === 0;
  });
}

/**
 * The text without those spans and the white space that they leave. A text of spans alone stays
 * whole.
 */
function withoutSpans(body: string, spans: readonly Span[]): string {
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

// The place of a message, its conversation, and the target of a reply. A conversation is a chat, or
// a topic of one. Format: https://core.telegram.org/bots/api#message. Pure.

/** A message's place on the platform. `number`: its own id in the chat. */
type Place = {
  readonly chat: number;
  readonly thread: number | null;
  readonly number: number;
  readonly isGroup: boolean;
};

/** @returns null: the chat is none that svc talks in */
function placeOf(wire: Fields): Place | null {
  const chat = recordOf(wire['chat']);
  const number = wire['message_id'];
  const id = chat?.['id'];
  if (typeof id !== 'number' || typeof number !== 'number') return null;
  // Direct messages of a channel: its people would share one conversation, and a reply without the
  // number of its topic is refused (Bot API 9.2).
  if (chat?.['is_direct_messages'] === true) return null;
  const isGroup = chat?.['type'] === 'group' || chat?.['type'] === 'supergroup';
  if (!isGroup && chat?.['type'] !== 'private') return null;
  const topic = wire['is_topic_message'] === true ? wire['message_thread_id'] : null;
  return { chat: id, thread: typeof topic === 'number' ? topic : null, number, isGroup };
}

function conversationOf({ chat, thread }: Place): ConversationId {
  return (thread === null ? `${chat}` : `${chat}:${thread}`) as ConversationId;
}

/** The direct chat with a person has the person's own id. @returns null: this is no person's id */
export function directChatOf(user: string): DirectChat | null {
  const chat = /^[1-9]\d{0,15}$/.test(user) ? Number(user) : Number.NaN;
  if (!Number.isSafeInteger(chat)) return null;
  const conversation = String(chat) as ConversationId;
  return { conversation, target: targetOf({ chat, thread: null, replyTo: null }) };
}

/**
 * Where a reply goes. `replyTo`: in groups, the message that it answers. `acknowledged`: that
 * message was said to the bot, and gets a reaction when work on it begins.
 */
export type Target = {
  readonly chat: number;
  readonly thread: number | null;
  readonly replyTo: number | null;
  readonly acknowledged?: true;
  /** The number of the edited question; absent: the reply answers no edit. */
  readonly edits?: number;
};

export function targetOf({ chat, thread, replyTo, acknowledged, edits }: Target): string {
  const mark = acknowledged === true ? 1 : null;
  const more = edits !== undefined ? [mark, edits] : mark === null ? [] : [mark];
  return JSON.stringify([chat, thread, replyTo, ...more]);
}

/** @returns null if this file did not write the address */
export function parseTarget({ target }: Pick<Address, 'target'>): Target | null {
  const [chat, thread, replyTo, mark, edits] = listOf(parseJson(target));
  if (typeof chat !== 'number') return null;
  return {
    chat,
    thread: numberOf(thread),
    replyTo: numberOf(replyTo),
    ...(mark === 1 && { acknowledged: true as const }),
    ...(typeof edits === 'number' && { edits }),
  };
}

/**
 * The context of a message: the message that it replies to or quotes, and the origin of a forward.
 * Format: https://core.telegram.org/bots/api#message. Names only, never ids. Pure.
 */
type Self = Pick<Bot, 'id'>;

/** @returns undefined: there is no context */
export function contextOf(wire: Fields, isGroup: boolean, bot: Self): MessageContext | undefined {
  const quoted = quotedIn(wire, bot);
  const origin = recordOf(wire['forward_origin']);
  if (!isGroup && quoted === null && origin === null) return undefined;
  const { id, is_bot: isBot } = fieldsOf(origin?.['sender_user']);
  return {
    ...(isGroup && { inGroup: true }),
    ...(quoted !== null && { quoted }),
    ...(origin !== null && { forwardedFrom: nameOfOrigin(origin) }),
    ...(isBot === true && { forwardedBot: { id: String(id), at: timeOf(origin?.['date']) } }),
  };
}

/** In a topic every message "replies" to the one that made the topic: that is no quotation. */
function quotedIn(wire: Fields, bot: Self): Quoted | null {
  const part = string(recordOf(wire['quote'])?.['text']);
  const other = recordOf(wire['reply_to_message']);
  if (other !== null && other['forum_topic_created'] === undefined) {
    const content = quotedContentOf(other, part);
    return content === null ? null : { ...content, ...attributionOf(other, wire, bot) };
  }
  const external = recordOf(wire['external_reply']);
  const origin = recordOf(external?.['origin']);
  if (external === null || origin === null) return null;
  const content = quotedContentOf(external, part);
  if (content === null) return null;
  const by = authorOf(recordOf(origin['sender_user']), wire, bot);
  const isOpen = isPublicChannel(recordOf(external['chat'])) && isOfPublicChannel(origin);
  const elsewhere = isOpen ? 'open' : 'closed';
  return { ...content, by, name: nameOfOrigin(origin), at: 0, elsewhere };
}

function attributionOf(other: Fields, wire: Fields, bot: Self): Omit<Quoted, 'text' | 'media'> {
  const from = recordOf(other['from']);
  const chat = recordOf(other['sender_chat']);
  const by = chat === null ? authorOf(from, wire, bot) : 'other';
  const name = chat === null ? from && nameOf(from) : nameOfChat(chat);
  // A message of another bot may contain a private brain's answer; an anonymous admin is no bot.
  const isOfBot = chat === null && from?.['is_bot'] === true && by !== 'us';
  const origin = recordOf(other['forward_origin']);
  const isUnknown = isOfBot || other['via_bot'] !== undefined || origin !== null;
  const at = isUnknown ? 0 : timeOf(other['date']);
  if (origin === null) return { by, name, at };
  if (isOfPublicChannel(origin)) return { by, name, at, elsewhere: 'open' };
  // A forwarding person said the text here, too. The posts of a channel arrive by themselves.
  return { by, name, at, ...(chat !== null && { elsewhere: 'closed' }) };
}

/** Nobody can change a forwarded text. */
function isOfPublicChannel(origin: Fields): boolean {
  return origin['type'] === 'channel' && isPublicChannel(recordOf(origin['chat']));
}

/** Only a channel that anybody can find and read has a username. */
function isPublicChannel(chat: Fields | null): boolean {
  return chat?.['type'] === 'channel' && string(chat['username']) !== null;
}

function authorOf(user: Fields | null, wire: Fields, bot: Self): Quoted['by'] {
  if (user === null || typeof user['id'] !== 'number') return 'other';
  if (user['id'] === bot.id) return 'us';
  return user['id'] === recordOf(wire['from'])?.['id'] ? 'sender' : 'other';
}

/** @param part the part that the person marked in it; null: none */
function quotedContentOf(wire: Fields, part: string | null): Pick<Quoted, 'text' | 'media'> | null {
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

function nameOfOrigin(origin: Fields): string | null {
  const user = recordOf(origin['sender_user']);
  const chat = recordOf(origin['sender_chat']) ?? recordOf(origin['chat']);
  if (user !== null) return nameOf(user);
  return chat === null ? string(origin['sender_user_name']) : nameOfChat(chat);
}

function nameOfChat(chat: Fields): string | null {
  return string(chat['title']) ?? string(chat['username']);
}

/** Who sent a message (https://core.telegram.org/bots/api#message). Pure. */
export type Bot = { readonly id: number; readonly username: string };

/**
 * An anonymous administrator writes as the group itself, by Telegram's own bot. A message in the
 * name of a channel has no sender for svc, nor has a post that a linked channel forwards into its
 * group.
 * @returns null: no person
 */
function senderOf(wire: Fields, chat: number): Sender | null {
  if (wire['is_automatic_forward'] === true) return null;
  const as = recordOf(wire['sender_chat']);
  if (as === null) return personOf(wire['from']);
  if (as['id'] !== chat) return null;
  return { id: String(chat), name: string(as['title']) ?? string(wire['author_signature']) };
}

/** All anonymous administrators are one sender: the group. */
function isAnonymous(wire: Fields): boolean {
  return recordOf(wire['sender_chat']) !== null;
}

/** @returns null: a bot, or no user */
function personOf(user: unknown): Sender | null {
  const from = recordOf(user);
  if (typeof from?.['id'] !== 'number' || from['is_bot'] === true) return null;
  return { id: String(from['id']), name: nameOf(from) };
}

function nameOf(from: Fields): string | null {
  const name = [string(from['first_name']), string(from['last_name'])]
    .filter((part) => part !== null)
    .join(' ');
  return name === '' ? string(from['username']) : name;
}

// The attachment of a message. Pure.

/** The order matters: Telegram also sends an animation as a document, and a venue as a location. */
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
  'story',
  'paid_media',
  'checklist',
  'game',
  'invoice',
  'giveaway',
  'giveaway_winners',
  'rich_message',
] as const;

/** The kinds that svc can read, each with its media type if the update names none. */
const readable: Readonly<Record<string, string | null>> = {
  photo: 'image/jpeg',
  voice: 'audio/ogg',
  audio: 'audio/mpeg',
  document: null,
};

/** svc takes the largest size of a photo within this limit. Telegram sends the sizes in order. */
const photoBytesMax = 8 * 1024 * 1024;

/**
 * The type of the attachment, or its kind, and its file name. Never a URL, since that holds the
 * token.
 */
function mediaOf(wire: Fields): Media | null {
  for (const kind of mediaKinds) {
    const media = wire[kind];
    if (media === undefined || media === null) continue;
    const file = Array.isArray(media) ? largestOf(media) : recordOf(media);
    const name = string(file?.['file_name']);
    const own = name === null ? { type: null, reference: kind } : { type: kind, reference: name };
    const id = string(file?.['file_id']);
    const usual = readable[kind];
    if (usual === undefined || id === null) return own;
    const bytes = file?.['file_size'];
    return {
      type: string(file?.['mime_type']) ?? usual ?? own.type,
      reference: own.reference,
      file: id,
      ...(typeof bytes === 'number' && { bytes }),
    };
  }
  return null;
}

function largestOf(sizes: readonly unknown[]): Fields | null {
  const fitting = sizes.map(recordOf).filter((size) => {
    const bytes = size?.['file_size'];
    return size !== null && (typeof bytes !== 'number' || bytes <= photoBytesMax);
  });
  return fitting.at(-1) ?? recordOf(sizes[0]);
}

// Fields of Telegram's JSON, which is `unknown` at first.

export function string(value: unknown): string | null {
  return textOf(value) || null;
}

export function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
