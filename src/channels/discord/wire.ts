/**
 * Discord's JSON: a MESSAGE_CREATE becomes a message, and a reply becomes the body of a new
 * message.
 *
 * Format: https://discord.com/developers/docs/resources/message (API version 10). The id of a
 * Discord channel names the conversation. A thread has an id of its own, so it is a conversation,
 * too. An id is a snowflake: digits, whose upper bits are the time.
 */
import type { RESTPostAPIChannelMessageJSONBody } from 'discord-api-types/v10';
import type { ConversationId } from '../../domain/ids.ts';
import {
  quotedCharactersMax,
  type Media,
  type MessageContext,
  type Sender,
  type Quoted,
} from '../../domain/message.ts';
import { beginning } from '../../domain/reply.ts';
import { fieldsOf, listOf, textOf, type Fields } from '../../lib/json.ts';
import type { Rows } from '../messenger/choices.ts';
import type { Incoming, Outgoing } from '../messenger/platform.ts';
import { editMsMax } from '../messenger/recent-questions.ts';

/** `id`: the message's own. */
export type WireMessage = Incoming & { readonly id: string };

/** The longest text of a message, in UTF-16 units (Discord counts characters: never more). */
export const textUnitsMax = 2_000;

/** Plain messages and replies. Other types (joins, pins, commands, …) are nobody's words to svc. */
const spokenTypes: ReadonlySet<unknown> = new Set([0, 19]);

/**
 * Reads the `d` of a MESSAGE_CREATE, or a fetched message.
 * @param self the bot's own user id
 * @param direct whether it is from a direct chat; null: it is if `guild_id` is missing, which holds
 *   only for events
 * @returns null: this is no message of a person (a bot, a webhook, another type), or it is empty
 */
export function parseMessage(
  wire: unknown,
  self: string,
  direct: boolean | null = null,
): WireMessage | null {
  const fields = fieldsOf(wire);
  const sender = senderOf(fields['author']);
  const [id, place] = [fields['id'], fields['channel_id']].map(idOf);
  if (!id || !place || sender === null || sender.id === self) return null;
  if (textOf(fields['webhook_id']) !== '') return null;
  if (!spokenTypes.has(fields['type'] ?? 0)) return null;
  const forward = forwardIn(fields);
  const content = forward ?? fields;
  const [media = null, ...further] = mediaOf(content, place, id);
  const ownText = withNames(withoutMention(textOf(content['content']), self), content);
  const isDirect = direct ?? idOf(fields['guild_id']) === null;
  const setting = isDirect ? 'direct' : addresses(fields, self) ? 'addressed' : 'overheard';
  const acknowledged = setting === 'addressed' && { acknowledged: true as const };
  const context = contextOf(fields, !isDirect, self, forward !== null);
  const text = ownText === '' && context?.quoted !== undefined ? mentionIn(fields, self) : ownText;
  if (text === '' && media === null) return null;
  return {
    id,
    conversation: place as ConversationId,
    sender,
    text,
    media,
    ...(further.length > 0 && { further }),
    ...(context !== undefined && { context }),
    setting,
    saidAt: { at: timeOfSnowflake(id), stepMs: 1 },
    target: targetOf({ place, message: isDirect ? null : id, ...acknowledged }),
  };
}

/** @returns null: this is no person */
export function senderOf(user: unknown): Sender | null {
  const fields = fieldsOf(user);
  const id = idOf(fields['id']);
  if (id === null) return null;
  if (fields['bot'] === true || fields['system'] === true) return null;
  return { id, name: nameOf(fields) };
}

/** A mention of the bot or a reply to it; never @everyone, and never one of its roles. */
function addresses(fields: Fields, self: string): boolean {
  const mentioned = listOf(fields['mentions']).some((user) => fieldsOf(user)['id'] === self);
  if (mentioned) return true;
  const repliedTo = fieldsOf(fieldsOf(fields['referenced_message'])['author']);
  return fields['type'] === 19 && repliedTo['id'] === self;
}

/**
 * The id of the channel that a reply goes to, and in a group of the message that it answers.
 * `acknowledged`: that message was said to the bot, and gets a reaction when work on it begins.
 * `deferred`: the response to a slash command that waits for its text. `edits`: the id of the
 * edited question.
 */
export type Target = {
  readonly place: string;
  readonly message: string | null;
  readonly acknowledged?: true;
  readonly deferred?: Deferred;
  readonly edits?: string;
};

/** `token` is valid for 15 minutes and lets its holder write, so nobody may see it. */
export type Deferred = { readonly application: string; readonly token: string };

/** The characters that may enter a path. */
export const tokenShape = /^[\w.=-]{1,512}$/;
const acknowledgedMark = 'seen';

/**
 * `place`, `place/message`, `place/message/seen`, `place/message/edits`, `place//edits`, or
 * `place//application/token`.
 */
export function targetOf({ place, message, acknowledged, deferred, edits }: Target): string {
  if (deferred !== undefined) return `${place}//${deferred.application}/${deferred.token}`;
  if (edits !== undefined) return `${place}/${message ?? ''}/${edits}`;
  if (message === null) return place;
  return `${place}/${message}${acknowledged === true ? `/${acknowledgedMark}` : ''}`;
}

/** @returns null for a text that no message of svc had as its target */
export function parseTarget(target: string): Target | null {
  const [place, message, ...rest] = target.split('/');
  if (place === undefined || idOf(place) === null) return null;
  if (message === undefined) return { place, message: null };
  const [mark, token] = rest;
  if (message === '' && token !== undefined) return deferredIn(place, rest);
  const answered = message === '' ? null : idOf(message);
  if (token !== undefined || (answered === null && message !== '')) return null;
  if (mark === undefined) return answered === null ? null : { place, message: answered };
  if (mark === acknowledgedMark && answered !== null) {
    return { place, message: answered, acknowledged: true };
  }
  return idOf(mark) === null ? null : { place, message: answered, edits: mark };
}

function deferredIn(place: string, [application, token, ...rest]: readonly string[]) {
  if (token === undefined || rest.length > 0) return null;
  if (idOf(application) === null || !tokenShape.test(token)) return null;
  return { place, message: null, deferred: { application: application!, token } };
}

/**
 * SUPPRESS_EMBEDS. The platform fetches each link at once, without a click. So an agent's text
 * could leak data in an address. Format: /resources/message#message-object-message-flags
 */
const suppressEmbeds = 1 << 2;

/** No pings of people, and no link previews. */
const withoutPings = {
  allowed_mentions: { parse: [], replied_user: false },
  flags: suppressEmbeds,
};

/**
 * The body of Create Message, without pings and link previews. The nonce is the delivery's id, so a
 * second try within minutes makes no second message.
 */
export function bodyOf({ target, text, refers, buttons, key }: Outgoing<Target>) {
  return {
    content: text,
    ...withoutPings,
    ...(refers &&
      target.message !== null && {
        message_reference: { message_id: target.message, fail_if_not_exists: false },
      }),
    ...(nonceFits(key) && { nonce: key, enforce_nonce: true }),
    ...(buttons.length > 0 && { components: componentsOf(buttons) }),
  } satisfies RESTPostAPIChannelMessageJSONBody;
}

/** False for a longer id, as in a reply of a hundred parts: a nonce has 25 characters at most. */
export function nonceFits(key: string): boolean {
  return key.length <= 25;
}

const actionRow = 1;
const secondary = 2;
export const button = 2;

/** https://discord.com/developers/docs/components/reference#button */
export function componentsOf(rows: Rows) {
  return rows.map((row) => ({
    type: actionRow,
    components: row.map(({ label, says }) => {
      return { type: button, style: secondary, label, custom_id: says };
    }),
  })) satisfies RESTPostAPIChannelMessageJSONBody['components'];
}

/** The buttons of a message, without those that are not svc's. */
export function rowsIn(components: unknown): Rows {
  return listOf(components).map((row) =>
    listOf(fieldsOf(row)['components']).flatMap((one) => {
      const { label, custom_id: says } = fieldsOf(one);
      return typeof label === 'string' && typeof says === 'string' ? [{ label, says }] : [];
    }),
  );
}

export type GatewayInfo = {
  /** Where to connect: ws or wss. */
  readonly url: string;
  /** How many new sessions the platform still allows, until `resetMs` has passed. */
  readonly sessionsLeft: number;
  readonly resetMs: number;
};

/** Reads the answer to Get Gateway Bot. */
export function parseGatewayInfo(wire: unknown): GatewayInfo | null {
  const fields = fieldsOf(wire);
  const limit = fieldsOf(fields['session_start_limit']);
  const { remaining, reset_after: resetMs } = limit;
  const url = textOf(fields['url']);
  if (!isGatewayUrl(url)) return null;
  return {
    url,
    sessionsLeft: typeof remaining === 'number' ? remaining : 1,
    resetMs: typeof resetMs === 'number' ? Math.max(0, resetMs) : 0,
  };
}

export function isGatewayUrl(url: string): boolean {
  return URL.canParse(url) && /^wss?:$/.test(new URL(url).protocol);
}

/** The bot's id and name, from Get Current User. */
export function parseSelf(wire: unknown): { id: string; name: string } | null {
  const { id, username } = fieldsOf(wire);
  const known = idOf(id);
  return known === null ? null : { id: known, name: textOf(username) || known };
}

/** The bot's own user id, from the `d` of a READY. */
export function selfOf(wire: unknown): string | null {
  return idOf(fieldsOf(fieldsOf(wire)['user'])['id']);
}

/** The first snowflake of that millisecond. */
export function snowflakeAt(ms: number): string {
  return String(BigInt(Math.max(0, Math.floor(ms) - discordEpochMs)) << 22n);
}

/** Milliseconds since 1970. */
export function timeOfSnowflake(id: string): number {
  return Number(BigInt(id) >> 22n) + discordEpochMs;
}

/** Whether snowflake a is later than b. */
export function isLater(a: string, b: string): boolean {
  return a.length === b.length ? a > b : a.length > b.length;
}

const discordEpochMs = 1_420_070_400_000;

// The context of a message: the message that it replies to, and the message that it forwards.
// Format: https://discord.com/developers/docs/resources/message#message-reference-object. Names
// only, never ids. Pure.

/**
 * The forwarded message. A forward itself is empty; its snapshot has the content. @returns null:
 * this is no forward
 */
function forwardIn(fields: Fields): Fields | null {
  if (fieldsOf(fields['message_reference'])['type'] !== 1) return null;
  const [snapshot] = listOf(fields['message_snapshots']);
  return snapshot === undefined ? null : fieldsOf(fieldsOf(snapshot)['message']);
}

/** @returns undefined: there is no context */
function contextOf(
  fields: Fields,
  inGroup: boolean,
  self: string,
  isForward: boolean,
): MessageContext | undefined {
  const quoted = quotedIn(fields, self);
  if (!inGroup && !isForward && quoted === null) return undefined;
  return {
    ...(inGroup && { inGroup: true }),
    ...(quoted !== null && { quoted }),
    // The platform does not report the author.
    ...(isForward && { forwardedFrom: null }),
  };
}

function quotedIn(fields: Fields, self: string): Quoted | null {
  const other = fieldsOf(fields['referenced_message']);
  const [id, place] = [other['id'], fields['channel_id']].map(idOf);
  if (fields['type'] !== 19 || !id || !place) return null;
  const forward = forwardIn(other);
  const shown = forward ?? other;
  const text = withNames(textOf(shown['content']), shown);
  const media = mediaOf(shown, place, id);
  if (text === '' && media.length === 0) return null;
  const author = fieldsOf(other['author']);
  const by = authorOf(author, fields, self);
  const at = Date.parse(textOf(other['timestamp']));
  // A message of another bot may contain a private brain's answer; a forward comes from elsewhere.
  const isOfBot = by !== 'us' && (author['bot'] === true || textOf(other['webhook_id']) !== '');
  return {
    text: beginning(text, quotedCharactersMax).toWellFormed(),
    ...(media.length > 0 && { media }),
    by,
    name: nameOf(author),
    at: isOfBot || forward !== null || Number.isNaN(at) ? 0 : at,
  };
}

function authorOf(author: Fields, fields: Fields, self: string): Quoted['by'] {
  if (author['id'] === self) return 'us';
  return author['id'] === fieldsOf(fields['author'])['id'] ? 'sender' : 'other';
}

// Edits of questions: an edit soon after its message is a message of its own, whose address names
// the question that it changes.
//
// Format: https://discord.com/developers/docs/events/gateway-events#message-update. The platform
// also sends this event when it adds link previews, or when somebody pins a message; then the text
// is the same.

/**
 * Reads the `d` of a MESSAGE_UPDATE.
 * @param self the bot's own user id
 * @returns null: this is no edit of a text, or it comes too late
 */
export function parseEdit(wire: unknown, self: string): WireMessage | null {
  const { timestamp, edited_timestamp: edited } = fieldsOf(wire);
  if (typeof timestamp !== 'string' || typeof edited !== 'string') return null;
  const ms = Date.parse(edited) - Date.parse(timestamp);
  const message = parseMessage(wire, self);
  if (message === null || !(ms <= editMsMax)) return null;
  const target = parseTarget(message.target);
  if (target === null) return null;
  const { id: edits } = message;
  return { ...message, target: targetOf({ ...target, edits }), apart: 'edit', edits };
}

// Mentions in a text (https://discord.com/developers/docs/reference#message-formatting): a person
// by `<@id>`, or by the former `<@!id>`, a role by `<@&id>`, a channel by `<#id>`, a slash command
// by `</name:id>`. Pure.

/** The text without the bot's own `<@id>`, and otherwise character for character. */
function withoutMention(text: string, self: string): string {
  const mention = new RegExp(`[ \\t]*<@!?${self}>`, 'g');
  return mention.test(text) ? text.replace(mention, '').trim() : text;
}

/** The mention of the bot as people see it: the text of a reply that says nothing else. */
function mentionIn(fields: Fields, self: string): string {
  const us = mentionsOf(fields).find((user) => user['id'] === self);
  return us === undefined ? '' : `@${textOf(us['username'])}`;
}

/**
 * A text as people see it, without the ids of mentions. People have their names if the platform
 * reports them; roles and channels become a word.
 * @param fields the message with the text
 */
export function withNames(text: string, fields: Fields): string {
  if (!text.includes('<')) return text;
  return text
    .replace(/<@!?([0-9]{1,20})>/g, (_, id) => {
      const user = mentionsOf(fields).find((one) => one['id'] === id);
      return `@${(user && nameOf(user)) ?? 'someone'}`;
    })
    .replace(/<@&[0-9]{1,20}>/g, '@a role')
    .replace(/<#[0-9]{1,20}>/g, '#a channel')
    .replace(/<(\/[^<>:]{1,100}):[0-9]{1,20}>/g, '$1');
}

function mentionsOf(fields: Fields): readonly Fields[] {
  return listOf(fields['mentions']).map(fieldsOf);
}

// The attachments of a message. Pure.

/** The type and the file name. Not the URL, since it is signed and expires soon. */
function mediaOf(fields: Fields, place: string, message: string): readonly Media[] {
  const attachments = listOf(fields['attachments']).map((attachment) => {
    const { id, content_type: type, filename, size } = fieldsOf(attachment);
    const file = fileOf(place, message, id);
    return {
      type: textOf(type) || null,
      reference: textOf(filename) || 'file',
      ...(file !== null && { file }),
      ...(typeof size === 'number' && { bytes: size }),
    };
  });
  const stickers = listOf(fields['sticker_items']).map((sticker) => {
    return { type: 'sticker', reference: textOf(fieldsOf(sticker)['name']) || 'sticker' };
  });
  const polls = fields['poll'] ? [{ type: null, reference: 'poll' }] : [];
  return [...attachments, ...stickers, ...polls];
}

/** The name by which `locate` finds the attachment later. @returns null: it has no id */
function fileOf(place: string, message: string, attachment: unknown): string | null {
  const id = idOf(attachment);
  return id === null ? null : `${place}/${message}/${id}`;
}

// Fields of Discord's JSON, which is `unknown` at first.

const snowflake = /^[0-9]{1,20}$/;

export function nameOf(user: Fields): string | null {
  return textOf(user['global_name']) || textOf(user['username']) || null;
}

export function idOf(value: unknown): string | null {
  return typeof value === 'string' && snowflake.test(value) ? value : null;
}
