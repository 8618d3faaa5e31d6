/**
 * The methods of the Bot API that the fake knows. Pages: https://core.telegram.org/bots/api, each
 * under the method's own name (#getme, #deletewebhook, #sendmessage, #senddocument,
 * #sendchataction, #getfile). For #sendmessagedraft see drafts.ts. The checks have the published
 * server's order: the text's shape, the chat, the topic, the answered message, and only then the
 * text's bounds and length.
 */
import type { ChatState, Chats } from './chats.ts';
import {
  answerCallbackQuery,
  editMessageReplyMarkup,
  readKeyboard,
  type Press,
} from './presses.ts';
import { setMessageReaction, type CommandList, type Reaction } from './commands.ts';
import type { Drafts } from './drafts.ts';
import { deleteMessage, editMessageText } from './revising.ts';
import { fixText, readText } from './text.ts';
import { integerOf, jsonOf, type UpdateQueue } from './update-queue.ts';
import {
  badRequest,
  fine,
  refuse,
  textOf,
  type Answer,
  type Message,
  type Params,
  type Refusal,
  type User,
} from './wire.ts';
import type { UploadedFile } from '../form.ts';

export type Sent = {
  readonly chatId: number;
  /** The text in the chat: parsed and trimmed; empty under a file. */
  readonly text: string;
  readonly file?: UploadedFile;
  readonly message: Message;
  /** The bot's parameters. */
  readonly params: Params;
  /** Milliseconds since 1970. */
  readonly at: number;
};
export type Typing = {
  readonly chatId: number;
  readonly topic: number | undefined;
  readonly action: string;
  readonly at: number;
};
export type StoredFile = { readonly path: string; readonly bytes: Buffer };

export type World = {
  readonly bot: User;
  /** Whether privacy mode is off, as getMe reports. */
  readonly readsAllGroupMessages: boolean;
  readonly now: () => number;
  readonly queue: UpdateQueue;
  readonly chats: Chats;
  readonly sent: Sent[];
  readonly typing: Typing[];
  readonly presses: Press[];
  readonly files: Map<string, StoredFile>;
  readonly commands: CommandList;
  readonly reactions: Reaction[];
  readonly drafts: Drafts;
};

const fileBytesMax = 20 * 1024 * 1024;
/** https://core.telegram.org/bots/api#sendchataction */
const actions = new Set([
  'typing',
  'upload_photo',
  'record_video',
  'upload_video',
  'record_voice',
  'upload_voice',
  'upload_document',
  'choose_sticker',
  'find_location',
  'record_video_note',
  'upload_video_note',
]);

/** Names of methods are "case-insensitive". */
export function callMethod(world: World, name: string, params: Params): Answer | Promise<Answer> {
  switch (name.toLowerCase()) {
    case 'getme':
      return fine(getMe(world));
    case 'getupdates':
      return world.queue.getUpdates(params);
    case 'setwebhook':
      return setWebhook(world, params);
    case 'deletewebhook':
      return deleteWebhook(world, params);
    case 'getwebhookinfo':
      return fine({
        url: world.queue.webhookUrl,
        has_custom_certificate: false,
        pending_update_count: world.queue.pending,
      });
    case 'sendmessage':
      return sendMessage(world, params);
    case 'senddocument':
      return sendDocument(world, params);
    case 'editmessagetext': {
      const state = writableChat(world, params);
      return 'ok' in state ? state : editMessageText(state, params, world.bot, world.now());
    }
    case 'deletemessage': {
      const state = writableChat(world, params);
      return 'ok' in state ? state : deleteMessage(state, params, world.bot);
    }
    case 'answercallbackquery':
      return answerCallbackQuery(world.presses, params, world.now());
    case 'editmessagereplymarkup': {
      const state = writableChat(world, params);
      return 'ok' in state ? state : editMessageReplyMarkup(state.messages, params, world.bot);
    }
    case 'sendchataction':
      return sendChatAction(world, params);
    case 'sendmessagedraft':
      if (world.drafts.isKnown) return sendMessageDraft(world, params);
      return refuse(404, 'Not Found: method not found');
    case 'getfile':
      return getFile(world, params);
    case 'getmycommands':
      return fine(world.commands.list);
    case 'setmycommands':
      return world.commands.set(params);
    case 'setmessagereaction': {
      const state = writableChat(world, params);
      return 'ok' in state ? state : setMessageReaction(state, params, world.reactions);
    }
    default:
      return refuse(404, 'Not Found: method not found');
  }
}

const getMe = ({ bot, readsAllGroupMessages }: World): object => ({
  ...bot,
  can_join_groups: true,
  can_read_all_group_messages: readsAllGroupMessages,
  supports_inline_queries: false,
  can_connect_to_business: false,
  has_main_web_app: false,
});

function setWebhook({ queue }: World, params: Params): Answer {
  const url = textOf(params['url']);
  if (url !== '' && !url.startsWith('https://')) {
    return badRequest('bad webhook: An HTTPS URL must be provided for webhook');
  }
  queue.setWebhook(url);
  return fine(true, 'Webhook was set');
}

function deleteWebhook({ queue }: World, params: Params): Answer {
  const was = queue.webhookUrl;
  queue.setWebhook('');
  if (params['drop_pending_updates'] === true || params['drop_pending_updates'] === 'true') {
    queue.drop();
  }
  return fine(true, was === '' ? 'Webhook is already deleted' : 'Webhook was deleted');
}

function sendMessage(world: World, params: Params): Answer {
  const read = readText(params);
  if ('ok' in read) return read;
  return sendInto(world, params, () => {
    const fixed = fixText(read);
    if ('ok' in fixed) return fixed;
    const { text, entities } = fixed;
    const preview = objectOf(params['link_preview_options']);
    const content = {
      text,
      ...(entities.length > 0 && { entities }),
      ...(preview !== undefined && { link_preview_options: preview }),
    };
    return { text, content };
  });
}

/** A larger request does not reach the server. */
const uploadBytesMax = 50 * 1024 * 1024;

/** Takes a file by its bytes; it does not know files that are already on a server. */
function sendDocument(world: World, params: Params): Answer {
  const file = params['document'];
  if (typeof file !== 'object' || file === null) {
    return badRequest('there is no document in the request');
  }
  const { name, type, text } = file as UploadedFile;
  const bytes = Buffer.byteLength(text);
  if (bytes > uploadBytesMax) return refuse(413, 'Request Entity Too Large');
  if (bytes === 0) return badRequest('file must be non-empty');
  return sendInto(world, params, () => {
    const id = `BQACAgIAAxkDAAI${world.sent.length + 1}`;
    const about = { file_name: name, mime_type: type.split(';', 1)[0], file_size: bytes };
    const document = { ...about, file_id: id, file_unique_id: `u${id}` };
    return { text: '', content: { document }, file: file as UploadedFile };
  });
}

type Content = { readonly text: string; readonly content: object; readonly file?: UploadedFile };

/** @param contentOf reads the content, once the bot may send there */
function sendInto(world: World, params: Params, contentOf: () => Content | Refusal): Answer {
  const keyboard = readKeyboard(params);
  if (keyboard !== undefined && 'ok' in keyboard) return keyboard;
  const reply = readReply(params);
  if ('ok' in reply) return reply;
  const state = writableChat(world, params);
  if ('ok' in state) return state;
  const topic = readTopic(state, params);
  if (typeof topic === 'object') return topic;
  const { messageId, optional } = reply;
  if (messageId !== undefined && !state.messages.has(messageId) && !optional) {
    return badRequest('message to be replied not found');
  }
  const made = contentOf();
  if ('ok' in made) return made;
  if (state.blocked) return refuse(403, 'Forbidden: bot was blocked by the user');
  const { text, content, file } = made;
  const more = {
    ...(topic !== undefined && { topic }),
    ...(messageId !== undefined && state.messages.has(messageId) && { replyTo: messageId }),
  };
  const message = world.chats.write(state, world.bot, more, {
    ...content,
    ...(keyboard !== undefined && { reply_markup: keyboard }),
  });
  const sent = { chatId: state.chat.id, text, message, params, at: world.now() };
  world.drafts.sent(state.chat.id);
  world.sent.push({ ...sent, ...(file !== undefined && { file }) });
  return fine(message);
}

/** https://core.telegram.org/bots/api#replyparameters */
function readReply(params: Params): Refusal | { messageId?: number; optional: boolean } {
  const given = params['reply_parameters'];
  if (given === undefined || given === '') {
    const old = integerOf(params['reply_to_message_id'], 0);
    const optional = String(params['allow_sending_without_reply']) === 'true';
    return old > 0 ? { messageId: old, optional } : { optional };
  }
  const reply = objectOf(given);
  if (reply === undefined) return badRequest("can't parse reply parameters JSON object");
  const messageId = integerOf(reply['message_id'], Number.NaN);
  if (Number.isNaN(messageId)) return badRequest('can\'t find field "message_id"');
  return { messageId, optional: reply['allow_sending_without_reply'] === true };
}

/** The chat, if the bot may write to it, or a refusal. */
function writableChat({ chats }: World, params: Params): ChatState | Refusal {
  const given = params['chat_id'];
  if (given === undefined || given === '') return badRequest('chat_id is empty');
  const state = chats.get(integerOf(given, Number.NaN));
  if (state === undefined) return badRequest('chat not found');
  if (state.migratedTo !== null) {
    return refuse(400, 'Bad Request: group chat was upgraded to a supergroup chat', {
      migrate_to_chat_id: state.migratedTo,
    });
  }
  const { type } = state.chat;
  if (state.kicked) return refuse(403, `Forbidden: bot was kicked from the ${type} chat`);
  return state;
}

/** Clients give the General topic the number 1; a bot writes to it without a number. */
function readTopic(state: ChatState, params: Params): number | undefined | Refusal {
  const given = integerOf(params['message_thread_id'], 0);
  if (state.chat.is_direct_messages && integerOf(params['direct_messages_topic_id'], 0) === 0) {
    return badRequest('Channel direct messages topic must be specified');
  }
  if (given === 0) return undefined;
  if (state.deletedTopics.has(given)) return badRequest('TOPIC_DELETED');
  return state.topics.has(given) ? given : badRequest('message thread not found');
}

function sendChatAction(world: World, params: Params): Answer {
  const action = textOf(params['action']);
  if (!actions.has(action)) return badRequest('wrong parameter action in request');
  const state = writableChat(world, params);
  if ('ok' in state) return state;
  const topic = readTopic(state, params);
  if (typeof topic === 'object') return topic;
  if (state.blocked) return refuse(403, 'Forbidden: bot was blocked by the user');
  world.typing.push({ chatId: state.chat.id, topic, action, at: world.now() });
  return fine(true);
}

function sendMessageDraft(world: World, params: Params): Answer {
  const state = writableChat(world, params);
  if ('ok' in state) return state;
  const topic = readTopic(state, params);
  return typeof topic === 'object' ? topic : world.drafts.show(state, topic, params);
}

/** "For the moment, bots can download files of up to 20MB in size." */
function getFile({ files }: World, params: Params): Answer {
  const id = textOf(params['file_id']);
  const file = files.get(id);
  if (file === undefined) return badRequest('invalid file_id');
  const { path, bytes } = file;
  if (bytes.length > fileBytesMax) return badRequest('file is too big');
  const about = { file_id: id, file_unique_id: `u${id}`, file_size: bytes.length };
  return fine({ ...about, file_path: path });
}

function objectOf(given: unknown): Record<string, unknown> | undefined {
  const value = typeof given === 'string' ? jsonOf(given) : given;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return value as Record<string, unknown>;
}
