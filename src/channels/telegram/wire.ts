/**
 * Reads Telegram's JSON: an update becomes a message. Format:
 * https://core.telegram.org/bots/api#message. Pure; nothing here throws.
 *
 * A group message is marked as said to this bot if it mentions the bot, replies to it, or is a
 * command for it. A command for no particular bot has a mark of its own.
 */
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type {
  Gather,
  Inbound,
  Media,
  MessageContext,
  PlatformTime,
  Sender,
  Setting,
} from '../../domain/message.ts';
import { isPressable, rowsWithout } from '../messenger/choices.ts';
import { editMsMax } from '../messenger/recent-questions.ts';
import { contextOf } from './context.ts';
import { object, string, type Wire } from './fields.ts';
import { mediaOf } from './files.ts';
import { rowsIn, type Rows } from './keyboard.ts';
import { beginsWithCommand, marksOf, withoutSpans, type Span } from './mentions.ts';
import { isAnonymous, personOf, senderOf, type Bot } from './people.ts';
import { conversationOf, parseTarget, placeOf, targetOf } from './place.ts';

export type IncomingMessage = {
  readonly conversation: ConversationId;
  readonly target: string;
  readonly sender: Sender;
  /** Without the bot's own name. */
  readonly text: string;
  readonly media: Media | null;
  readonly context?: MessageContext;
  /** Set on a part of an album; absent: the message is whole. */
  readonly gather?: Gather;
  readonly apart?: NonNullable<Inbound['apart']>;
  readonly edits?: string;
  readonly saidAt?: PlatformTime;
  /** Unique for one bot, even if update ids begin anew. */
  readonly dedupeKey: string;
  readonly setting: Setting;
};

/**
 * `message` null: svc does not answer this update. `press`: the message is a press on a button.
 * `edits`: the dedupe key of the message that it changes.
 */
export type Update = {
  readonly id: number;
  readonly message: IncomingMessage | null;
  readonly press?: Press;
  readonly edits?: string;
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
  if (!Array.isArray(result)) return [];
  const updates: Update[] = [];
  for (const one of result) {
    const update = object(one);
    const id = update?.['update_id'];
    if (update === null || typeof id !== 'number') continue;
    const message = object(update['message']);
    const query = object(update['callback_query']);
    const edited = object(update['edited_message']);
    if (edited !== null) {
      updates.push({ id, ...asEdit(edited, parseMessage(edited, bot)) });
    } else if (query === null) {
      updates.push({ id, message: message === null ? null : parseMessage(message, bot) });
    } else {
      updates.push({ id, message: null, ...parsePress(query, bot) });
    }
  }
  return updates;
}

export function inboundOf(channel: ChannelKey, { target, ...message }: IncomingMessage): Inbound {
  return { channel, ...message, address: { channel, target } };
}

/** @returns the account of the token; null: this is no answer of getMe */
export function parseBot(result: unknown): Bot | null {
  const me = object(result);
  const { id, username } = (me ?? {}) as { id?: unknown; username?: unknown };
  return typeof id === 'number' && typeof username === 'string' ? { id, username } : null;
}

function parseMessage(wire: Wire, bot: Bot): IncomingMessage | null {
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
 * @param parsed the text of the edited message; null: svc does not answer it
 */
function asEdit(wire: Wire, parsed: IncomingMessage | null): Pick<Update, 'message' | 'edits'> {
  const saidAt = wire['date'];
  const editedAt = wire['edit_date'];
  if (parsed === null || typeof saidAt !== 'number' || typeof editedAt !== 'number') return noEdit;
  if ((editedAt - saidAt) * 1_000 > editMsMax) return noEdit;
  const target = parseTarget(parsed);
  const number = wire['message_id'];
  if (target === null || typeof number !== 'number') return noEdit;
  const { dedupeKey: edits } = parsed;
  const message = {
    ...parsed,
    target: targetOf({ ...target, edits: number }),
    dedupeKey: `edit:${edits}`,
    apart: 'edit' as const,
    edits,
  };
  return { message, edits };
}

const noEdit = { message: null } as const;

/** Telegram counts whole seconds. */
function saidAtOf({ date }: Wire): Pick<IncomingMessage, 'saidAt'> {
  return typeof date === 'number' ? { saidAt: { at: date * 1_000, stepMs: 1_000 } } : {};
}

/** Parts of an album are separate messages that come close together. */
export const albumMs = 1_000;

function albumOf(wire: Wire): Pick<IncomingMessage, 'gather'> {
  const key = string(wire['media_group_id']);
  return key === null ? {} : { gather: { kind: 'album', key, ms: albumMs } };
}

/**
 * A press on a button of svc (https://core.telegram.org/bots/api#callbackquery). For a message that
 * Telegram no longer shows, the topic is unknown, so such a press is ignored.
 */
function parsePress(query: Wire, bot: Bot): { message: IncomingMessage; press: Press } | null {
  const { id, data } = query;
  const sender = personOf(query['from']);
  const under = object(query['message']);
  const place = under === null ? null : placeOf(under);
  if (typeof id !== 'string' || under === null || place === null || sender === null) return null;
  const rows = rowsIn(under['reply_markup']);
  if (!isPressable(data, rows)) return null;
  if (object(under['from'])?.['id'] !== bot.id || under['date'] === 0) return null;
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
  wire: Wire,
  spans: readonly Span[],
  entities: unknown,
  bot: Bot,
): Exclude<Setting, 'direct'> {
  if (spans.length > 0 || repliesTo(wire, bot)) return 'addressed';
  return beginsWithCommand(entities) ? 'command' : 'overheard';
}

/** In a topic every message "replies" to the one that made the topic. */
function repliesTo(wire: Wire, bot: Bot): boolean {
  const other = object(wire['reply_to_message']);
  if (other === null || other['forum_topic_created'] !== undefined) return false;
  return object(other['from'])?.['id'] === bot.id;
}
