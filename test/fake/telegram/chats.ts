/**
 * People, chats and messages of the fake, and the bot's view of a message. Pages:
 * https://core.telegram.org/bots/api#chat and #message, https://core.telegram.org/api/forum,
 * https://core.telegram.org/bots/features#privacy-mode.
 */
import type { Chat, Entity, Message, User } from './wire.ts';

export type ChatState = {
  readonly chat: Chat;
  readonly messages: Map<number, Message>;
  /** Ids of its open topics, in a forum. */
  readonly topics: Map<number, string>;
  /** Deleted topics that the server still remembers. */
  readonly deletedTopics: Set<number>;
  /** The person has blocked the bot: 403. */
  blocked: boolean;
  /** The bot was removed: 403. */
  kicked: boolean;
  /** The supergroup that this basic group became: 400 with this id. */
  migratedTo: number | null;
};

/** The unusual parts of a message; `fields` takes any field of the platform's Message. */
export type More = {
  readonly from?: User;
  /** Id of the topic; absent: the General topic of a forum, or another kind of chat. */
  readonly topic?: number;
  /** Number of the message that this one answers. */
  readonly replyTo?: number;
  /** Absent: found in the text as the server does (mentions, commands, links). */
  readonly entities?: readonly Entity[];
  readonly fields?: Readonly<Record<string, unknown>>;
};

export class Chats {
  readonly #states = new Map<number, ChatState>();
  /** Private chats and basic groups number their messages together, a supergroup by itself. */
  #lastShared = 100;
  #lastId = 0;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  get(id: number): ChatState | undefined {
    return this.#states.get(id);
  }

  person(name: string, more: Partial<User> = {}): User {
    const id = 500_000_000 + ++this.#lastId;
    return { id, is_bot: false, first_name: name, language_code: 'en', ...more };
  }

  privateWith({ id, first_name, username }: User): Chat {
    const there = this.#states.get(id);
    if (there !== undefined) return there.chat;
    return this.#open({
      id,
      type: 'private',
      first_name,
      ...(username !== undefined && { username }),
    });
  }

  group(title: string): Chat {
    return this.#open({ id: -(4_000_000 + ++this.#lastId), type: 'group', title });
  }

  supergroup(title: string, forum = false): Chat {
    const id = -1_001_000_000_000 - ++this.#lastId;
    return this.#open({ id, type: 'supergroup', title, ...(forum && { is_forum: true as const }) });
  }

  /** The chat in which people write to a channel, each of them in a topic of their own. */
  directMessages(title: string): Chat {
    const id = -1_001_700_000_000 - ++this.#lastId;
    return this.#open({ id, type: 'supergroup', title, is_direct_messages: true });
  }

  channel(title: string): Chat {
    return this.#open({ id: -1_001_500_000_000 - ++this.#lastId, type: 'channel', title });
  }

  /**
   * A message as the server hands it to the bot. In a forum's topic it has the topic's id. There a
   * message that answers none has the topic's own service message as `reply_to_message`. In a
   * supergroup that is no forum a reply has the number of its chain's first message as
   * `message_thread_id`, which no sendMessage accepts
   * (https://github.com/tdlib/telegram-bot-api/issues/447).
   */
  write(state: ChatState, from: User | null, more: More, content: object): Message {
    const { chat, messages } = state;
    const replyTo = more.replyTo === undefined ? undefined : messages.get(more.replyTo);
    const topic = more.topic ?? (chat.is_forum ? topicOf(replyTo) : undefined);
    const thread = topic ?? (chat.type === 'supergroup' ? chainOf(replyTo) : undefined);
    const answered = replyTo ?? (topic === undefined ? undefined : messages.get(topic));
    const message: Message = {
      message_id: this.#nextMessageId(state),
      ...(from !== null && { from }),
      ...(chat.type === 'channel' && { sender_chat: chat }),
      chat,
      date: Math.floor(this.#now() / 1_000),
      ...(thread !== undefined && { message_thread_id: thread }),
      ...(topic !== undefined && { is_topic_message: true as const }),
      ...(answered !== undefined && { reply_to_message: withoutReply(answered) }),
      ...content,
      ...more.fields,
    };
    messages.set(message.message_id, message);
    return message;
  }

  /** The ids of a chat have gaps, as after deleted messages. */
  #nextMessageId({ chat, messages }: ChatState): number {
    if (chat.type === 'private' || chat.type === 'group') return ++this.#lastShared;
    return messages.size + 1;
  }

  #open(chat: Chat): Chat {
    this.#states.set(chat.id, {
      chat,
      messages: new Map(),
      topics: new Map(),
      deletedTopics: new Set(),
      blocked: false,
      kicked: false,
      migratedTo: null,
    });
    return chat;
  }
}

const topicOf = (message: Message | undefined): number | undefined =>
  message?.is_topic_message ? message.message_thread_id : undefined;

const chainOf = (message: Message | undefined): number | undefined =>
  message?.message_thread_id ?? message?.message_id;

/** "Will not contain further reply_to_message fields even if it itself is a reply." */
function withoutReply(message: Message): Message {
  const { reply_to_message: _left, ...rest } = message;
  return rest;
}

/** The author: `more.from`, or a usual one; null: nobody, as in a channel. */
export function authorIn({ id, type, first_name = '' }: Chat, more: More): User | null {
  if (more.from !== undefined) return more.from;
  if (type === 'channel') return null;
  if (type === 'private') return { id, is_bot: false, first_name };
  return { id: 777_000_001, is_bot: false, first_name: 'A stranger' };
}

/** The entities that the server finds in a text by itself, in the order of the text. */
export function entitiesIn(text: string): Entity[] {
  const kinds: [string, RegExp][] = [
    ['bot_command', /(?<![\w/])\/[a-zA-Z0-9_]{1,64}(?:@\w{3,32})?/g],
    ['mention', /(?<![\w@/])@\w{3,32}/g],
    ['url', /https?:\/\/\S+/g],
  ];
  const found = kinds.flatMap(([type, pattern]) =>
    [...text.matchAll(pattern)].map((match) => ({
      type,
      offset: match.index,
      length: match[0].length,
    })),
  );
  return found.sort((a, b) => a.offset - b.offset);
}

/**
 * Whether a bot in privacy mode receives a group's message: commands, replies to it, mentions of
 * it, service messages.
 */
export function isForBot(message: Message, bot: User): boolean {
  if (message.chat.type === 'private' || message.chat.type === 'channel') return true;
  if (message.text === undefined && message['caption'] === undefined) return true;
  if (message.reply_to_message?.from?.id === bot.id) return true;
  const text = message.text ?? String(message['caption']);
  const entities = message.entities ?? (message['caption_entities'] as Entity[] | undefined) ?? [];
  return entities.some(({ type, offset, length, user }) => {
    const part = text.slice(offset, offset + length);
    const [, to] = part.toLowerCase().split('@');
    const isNamed = to === bot.username?.toLowerCase();
    if (type === 'bot_command') return to === undefined || isNamed;
    return user?.id === bot.id || (type === 'mention' && isNamed);
  });
}
