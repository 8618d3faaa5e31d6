/**
 * The routes of Discord's REST that the fake knows. Pages:
 * https://discord.com/developers/docs/reference, /events/gateway#get-gateway-bot, /resources/user,
 * /resources/channel, /resources/message#create-message, #edit-message, #delete-message,
 * /reference#uploading-files, #get-channel-messages, #allowed-mentions-object,
 * /resources/channel#trigger-typing-indicator. The limit of 2,000 is assumed to count code points:
 * the page says "characters".
 */
import type { ChannelState, Guilds } from './guilds.ts';
import { answerInteraction, componentsFault, type Interaction } from './interactions.ts';
import type { SlashCommands } from './slash-commands.ts';
import type { UploadedFile } from '../form.ts';
import { errors, type ErrorName, type Message, type Snowflake, type User } from './wire.ts';

export type Sent = {
  readonly channelId: Snowflake;
  readonly content: string;
  readonly message: Message;
  /** The bot's request: `allowed_mentions`, `nonce`, `message_reference`. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly files: readonly UploadedFile[];
  /** Milliseconds since 1970. */
  readonly at: number;
};
export type Reaction = { readonly messageId: Snowflake; readonly emoji: string };
export type Typing = { readonly channelId: Snowflake; readonly at: number };

export type RestRequest = {
  readonly method: string;
  /** Without `/api/v10`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The JSON body; undefined: none, null: no JSON. */
  readonly body: unknown;
  /** The files of a form; absent: the request was no form. */
  readonly files?: readonly UploadedFile[];
};
export type RestAnswer = { readonly status: number; readonly body: unknown };

export type RestHost = {
  readonly bot: User;
  readonly now: () => number;
  readonly guilds: Guilds;
  readonly sent: Sent[];
  readonly typing: Typing[];
  readonly interactions: readonly Interaction[];
  readonly slash: SlashCommands;
  readonly reactions: Reaction[];
  /** The body of GET /gateway/bot. */
  readonly gateway: () => object;
  readonly arrived: (state: ChannelState, message: Message) => void;
  /** Changes fields of a message, and sends its event. @returns the changed message */
  readonly edit: (message: Message, fields: Partial<Message>) => Message;
  readonly remove: (message: Message) => void;
};

const contentMax = 2_000;
const nonceMax = 25;
/** /resources/message#message-object-message-flags: the flags that Create Message may set. */
const suppressEmbeds = 1 << 2;
const suppressNotifications = 1 << 12;
const mayBeSet = suppressEmbeds | suppressNotifications;
/** "In the past few minutes": the page gives no number. */
const nonceMs = 5 * 60 * 1_000;

/** The route of a path, as rate limits and faults name it: `POST /channels/:id/messages`. */
export const routeOf = ({ method, path }: RestRequest): string => {
  const route = path
    .replaceAll(/\/\d+/g, '/:id')
    .replace(/[^/]+\/callback$/, ':token/callback')
    .replace(/(?<=^\/webhooks\/:id\/)[^/]+/, ':token')
    .replace(/(?<=\/reactions\/)[^/]+/, ':emoji');
  return `${method} ${route}`;
};

export function answerRest(host: RestHost, request: RestRequest): RestAnswer {
  const [, first = '', id = ''] = request.path.split('/');
  if (request.body === null) return failed('invalidJson');
  const commanded = host.slash.answer(request);
  if (commanded !== null) return commanded;
  switch (routeOf(request)) {
    case 'GET /gateway':
    case 'GET /gateway/bot':
      return fine(host.gateway());
    case 'GET /users/@me':
      return fine({ ...host.bot, verified: true, mfa_enabled: false, email: null, flags: 0 });
    case 'GET /applications/@me':
    case 'GET /oauth2/applications/@me':
      return fine({ id: host.bot.id, name: host.bot.username, bot: host.bot, flags: 0 });
    case 'POST /interactions/:id/:token/callback': {
      const { interactions, now, edit } = host;
      const path = request.path.split('/');
      return answerInteraction(interactions, path, request.body, now(), edit);
    }
    case 'POST /users/@me/channels':
      return openDirect(host, request.body);
    case 'GET /users/:id': {
      const user = host.guilds.users.get(id);
      return user === undefined ? failed('unknownUser') : fine(user);
    }
    default:
      return first === 'channels' ? answerChannel(host, request, id) : failed('notFound');
  }
}

function answerChannel(host: RestHost, request: RestRequest, id: Snowflake): RestAnswer {
  const state = host.guilds.channels.get(id);
  if (state === undefined) return failed('unknownChannel');
  // A bot that may not send may still read.
  const { refusal, readsHistory } = state;
  const sends = request.method !== 'GET';
  if (refusal !== null && (sends || refusal === 'missingAccess' || refusal === 'unknownChannel')) {
    return failed(refusal);
  }
  const last = request.path.split('/')[4];
  switch (routeOf(request)) {
    case 'GET /channels/:id':
      return fine({ ...state.channel, last_message_id: state.messages.at(-1)?.id ?? null });
    case 'GET /channels/:id/messages':
      return readsHistory ? listMessages(state, request.query) : fine([]);
    case 'GET /channels/:id/messages/:id':
    case 'PATCH /channels/:id/messages/:id':
    case 'DELETE /channels/:id/messages/:id': {
      const message = state.messages.find((one) => one.id === last);
      if (message === undefined) return failed('unknownMessage');
      if (request.method === 'GET') return fine(message);
      if (request.method === 'DELETE') return deleteMessage(host, state, message);
      return editMessage(host, message, (request.body ?? {}) as Body);
    }
    case 'POST /channels/:id/messages':
      return createMessage(host, state, (request.body ?? {}) as Body, request.files ?? []);
    case 'PUT /channels/:id/messages/:id/reactions/:emoji/@me': {
      if (!readsHistory) return failed('missingPermissions');
      const [, , , , messageId = '', , emoji = ''] = request.path.split('/');
      if (!state.messages.some((one) => one.id === messageId)) return failed('unknownMessage');
      host.reactions.push({ messageId, emoji: decodeURIComponent(emoji) });
      return { status: 204, body: undefined };
    }
    case 'POST /channels/:id/typing':
      host.typing.push({ channelId: id, at: host.now() });
      return { status: 204, body: undefined };
    default:
      return failed('notFound');
  }
}

function openDirect(host: RestHost, body: unknown): RestAnswer {
  const { recipient_id: id } = (body ?? {}) as { recipient_id?: Snowflake };
  const user = host.guilds.users.get(id ?? '');
  return user === undefined ? failed('unknownUser') : fine(host.guilds.direct(user));
}

/**
 * "Returns an array of message objects from newest to oldest". With `after` it returns the messages
 * next to that one.
 */
function listMessages({ messages }: ChannelState, query: URLSearchParams): RestAnswer {
  const limit = Number(query.get('limit') ?? '50');
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    const range = limit < 1 ? 'greater than or equal to 1' : 'less than or equal to 100';
    return invalid('limit', 'NUMBER_TYPE_RANGE', `int value should be ${range}.`);
  }
  const [after, before, around] = ['after', 'before', 'around'].map((name) => query.get(name));
  let found = messages.slice(-limit);
  if (after) found = messages.filter(({ id }) => BigInt(id) > BigInt(after)).slice(0, limit);
  else if (before) found = messages.filter(({ id }) => BigInt(id) < BigInt(before)).slice(-limit);
  else if (around) {
    const at = messages.findIndex(({ id }) => BigInt(id) >= BigInt(around));
    const from = Math.max(at - Math.floor(limit / 2), 0);
    found = messages.slice(from, from + limit);
  }
  return fine(found.toReversed());
}

type Body = Readonly<Record<string, unknown>>;

/** The types that a message can refer to: default, reply, slash command, context menu command. */
const answerable: ReadonlySet<number> = new Set([0, 19, 20, 23]);

/** The checks of new and edited messages alike; null: no fault. */
function contentFault(body: Body, flagsAllowed: number): RestAnswer | null {
  const given = body['content'] ?? '';
  if (typeof given !== 'string') {
    return invalid('content', 'STRING_TYPE_CONVERT', 'Could not interpret "content" as string.');
  }
  if (Array.from(given).length > contentMax) {
    const words = `Must be ${contentMax} or fewer in length.`;
    return invalid('content', 'BASE_TYPE_MAX_LENGTH', words);
  }
  const flags = body['flags'] ?? 0;
  if (typeof flags !== 'number' || (flags & ~flagsAllowed) !== 0) {
    return invalid('flags', 'BITFIELD_INVALID', 'Those flags cannot be set.');
  }
  const mentions = mentionsFault(body['allowed_mentions']);
  if (mentions !== null) return mentions;
  const fault = componentsFault(body['components']);
  return fault === null ? null : invalid('components', ...fault);
}

/** A check before has made sure that the content is a text. */
const trimmed = ({ content }: Body): string => ((content ?? '') as string).trim();

const fileBytesMax = 10 * 1024 * 1024;

function createMessage(
  host: RestHost,
  state: ChannelState,
  body: Body,
  files: readonly UploadedFile[],
): RestAnswer {
  if (files.some(({ text }) => Buffer.byteLength(text) > fileBytesMax)) return failed('tooLarge');
  const wrong = contentFault(body, mayBeSet);
  if (wrong !== null) return wrong;
  const content = trimmed(body);
  if (content === '' && files.length === 0) return failed('emptyMessage');
  const flags = Number(body['flags'] ?? 0);
  const nonce = body['nonce'] as string | number | undefined;
  if (String(nonce ?? '').length > nonceMax) {
    return invalid('nonce', 'BASE_TYPE_MAX_LENGTH', `Must be ${nonceMax} or fewer in length.`);
  }
  const replyTo = repliedTo(state, body['message_reference']);
  if (replyTo !== null && !state.readsHistory) return failed('noHistory');
  if (replyTo === 'gone') {
    return invalid('message_reference', 'REPLIES_UNKNOWN_MESSAGE', 'Unknown message');
  }
  if (replyTo !== null && !answerable.has(replyTo.type)) {
    const code = 'REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE';
    return invalid('message_reference', code, 'Cannot reply to a system message');
  }
  if (nonce !== undefined && body['enforce_nonce'] === true) {
    const since = host.now() - nonceMs;
    const same = host.sent.find(
      ({ message, at }) => at > since && String(message.nonce) === String(nonce),
    );
    // The message as it is now. A deleted one counts, too (discord-api-docs#6647).
    const { id } = same?.message ?? {};
    const there = state.messages.find((one) => one.id === id);
    if (same !== undefined) return there === undefined ? failed('unknownMessage') : fine(there);
  }
  const message = host.guilds.write(state, host.bot, content, {
    ...(replyTo !== null && { replyTo }),
    pings: pingsReplied(body['allowed_mentions']),
    fields: {
      flags,
      components: body['components'] ?? [],
      attachments: attachmentsOf(host, files),
      embeds: (flags & suppressEmbeds) === 0 ? linksIn(content) : [],
      ...(nonce !== undefined && { nonce }),
    },
  });
  const sent = { channelId: state.channel.id, content, message, body, files, at: host.now() };
  host.sent.push(sent);
  host.arrived(state, message);
  return fine(message);
}

function attachmentsOf({ guilds }: RestHost, files: readonly UploadedFile[]): readonly object[] {
  return files.map(({ name, type, text }) => {
    const about = { filename: name, content_type: type, size: Buffer.byteLength(text) };
    return { ...about, id: guilds.nextId(), url: `https://cdn.example/attachments/${name}` };
  });
}

/** An edit that names attachments names all that stay. */
function attachmentsKept(message: Message, body: Body): readonly object[] {
  const there = (message['attachments'] ?? []) as readonly { readonly id: string }[];
  if (body['attachments'] === undefined) return there;
  const named = body['attachments'] as readonly { readonly id: unknown }[];
  const ids = new Set(named.map(({ id }) => id));
  return there.filter(({ id }) => ids.has(id));
}

/**
 * Absent fields stay. Of the flags an edit can only change the one for embeds.
 * /resources/message#edit-message
 */
function editMessage(host: RestHost, message: Message, body: Body): RestAnswer {
  if (message.author.id !== host.bot.id) return failed('notOwnMessage');
  const wrong = contentFault(body, suppressEmbeds);
  if (wrong !== null) return wrong;
  const kept = attachmentsKept(message, body);
  if (body['content'] !== undefined && trimmed(body) === '' && kept.length === 0) {
    return failed('emptyMessage');
  }
  return fine(
    host.edit(message, {
      edited_timestamp: new Date(host.now()).toISOString(),
      attachments: kept,
      ...(body['content'] !== undefined && { content: trimmed(body) }),
      ...(body['flags'] !== undefined && { flags: body['flags'] }),
      ...(body['components'] !== undefined && { components: body['components'] }),
    }),
  );
}

/** Without the right to manage messages a bot deletes only its own. */
function deleteMessage(host: RestHost, { channel }: ChannelState, message: Message): RestAnswer {
  if (message.author.id !== host.bot.id) {
    return failed(channel.type === 1 ? 'cannotActInDirect' : 'missingPermissions');
  }
  host.remove(message);
  return { status: 204, body: undefined };
}

/** The platform fetches each link and shows its page. /resources/message#embed-object */
function linksIn(content: string): readonly object[] {
  return [...content.matchAll(/https?:\/\/[^\s<>]+/g)].map(([url]) => ({ type: 'link', url }));
}

/** `fail_if_not_exists` is true by default. */
function repliedTo({ messages }: ChannelState, reference: unknown): Message | null | 'gone' {
  if (typeof reference !== 'object' || reference === null) return null;
  const { message_id, fail_if_not_exists } = reference as Record<string, unknown>;
  const there = messages.find(({ id }) => id === message_id);
  if (there !== undefined) return there;
  return fail_if_not_exists === false ? null : 'gone';
}

/** A kind in `parse` may not also have a list. /resources/message#allowed-mentions-object */
function mentionsFault(given: unknown): RestAnswer | null {
  const { parse = [], users = [], roles = [] } = (given ?? {}) as Record<string, string[]>;
  for (const [kind, list] of Object.entries({ users, roles })) {
    if (parse.includes(kind) && list.length > 0) {
      const words = `parse:["${kind}"] and ${kind}: [ids...] are mutually exclusive.`;
      return invalid('allowed_mentions', 'MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE', words);
    }
  }
  return null;
}

/** Without `allowed_mentions` everyone can be mentioned, with it only those named. */
function pingsReplied(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return true;
  return (given as { replied_user?: unknown }).replied_user === true;
}

const fine = (body: unknown): RestAnswer => ({ status: 200, body });

export function failed(name: ErrorName): RestAnswer {
  const [status, code, message] = errors[name];
  return { status, body: { message, code } };
}

/** /reference#error-messages */
function invalid(field: string, code: string, message: string): RestAnswer {
  const found = { [field]: { _errors: [{ code, message }] } };
  return { status: 400, body: { message: 'Invalid Form Body', code: 50_035, errors: found } };
}
