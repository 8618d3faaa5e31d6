/**
 * Guilds, channels, people and messages of the fake, as Discord shows them to a bot.
 * Pages: https://discord.com/developers/docs/resources/guild#guild-object, /resources/channel,
 * /resources/message, /events/gateway-events#guild-create, /events/gateway#message-content-intent.
 */
import type { Channel, ErrorName, Guild, Message, Snowflake, User } from './wire.ts';

/** 2015-01-01, the epoch of snowflakes, in milliseconds since 1970. /reference#snowflakes */
const discordEpochMs = 1_420_070_400_000n;

export type ChannelState = {
  readonly channel: Channel;
  /** Oldest first. */
  readonly messages: Message[];
  /** The refusal of every request about this channel. */
  refusal: ErrorName | null;
  /** Without it the bot gets no history, and can neither refer to a message nor react to one. */
  readsHistory: boolean;
};

export type More = {
  readonly author?: User;
  /** The message that this one answers; the new message has type 19. */
  readonly replyTo?: Message;
  /** Whether the answer pings the author of `replyTo`. */
  readonly pings?: boolean;
  readonly everyone?: boolean;
  /** Any other field of the platform's message (`type`, `webhook_id`, `attachments`). */
  readonly fields?: Readonly<Record<string, unknown>>;
};

export class Guilds {
  readonly channels = new Map<Snowflake, ChannelState>();
  readonly guilds = new Map<Snowflake, Guild>();
  readonly users = new Map<Snowflake, User>();
  readonly #now: () => number;
  #count = 0n;

  constructor(now: () => number) {
    this.#now = now;
  }

  nextId(): Snowflake {
    return String(((BigInt(this.#now()) - discordEpochMs) << 22n) | (++this.#count & 0xfffn));
  }

  user(name: string, bot = false): User {
    const user: User = {
      id: this.nextId(),
      username: name.toLowerCase(),
      discriminator: '0',
      global_name: bot ? null : name,
      avatar: null,
      ...(bot && { bot: true as const }),
    };
    this.users.set(user.id, user);
    return user;
  }

  guild(name: string): Guild {
    const guild = { id: this.nextId(), name };
    this.guilds.set(guild.id, guild);
    return guild;
  }

  textChannel(guild: Guild, name: string): Channel {
    return this.#open({ type: 0, guild_id: guild.id, name, parent_id: null });
  }

  thread(parent: Channel, name: string): Channel {
    const { guild_id } = parent;
    return this.#open({ type: 11, name, parent_id: parent.id, ...(guild_id && { guild_id }) });
  }

  /** "If one already exists, it will be returned instead." /resources/user#create-dm */
  direct(user: User): Channel {
    for (const { channel } of this.channels.values()) {
      if (channel.recipients?.some(({ id }) => id === user.id)) return channel;
    }
    return this.#open({ type: 1, recipients: [user] });
  }

  write(state: ChannelState, author: User, content: string, more: More): Message {
    const { replyTo } = more;
    const { channel, messages } = state;
    const named = [...content.matchAll(/<@!?(\d+)>/g)].map(([, id = '']) => this.users.get(id));
    const pinged = replyTo !== undefined && more.pings !== false ? [replyTo.author] : [];
    const mentions = [...named, ...pinged].filter((user) => user !== undefined);
    const message: Message = {
      id: this.nextId(),
      channel_id: channel.id,
      author,
      content,
      timestamp: new Date(this.#now()).toISOString(),
      edited_timestamp: null,
      tts: false,
      type: replyTo === undefined ? 0 : 19,
      mentions: mentions.filter((user, at) => mentions.indexOf(user) === at),
      mention_everyone: more.everyone ?? false,
      mention_roles: [],
      attachments: [],
      embeds: [],
      components: [],
      pinned: false,
      ...(replyTo !== undefined && {
        message_reference: { type: 0, channel_id: channel.id, message_id: replyTo.id },
        referenced_message: replyTo,
      }),
      ...more.fields,
    };
    messages.push(message);
    return message;
  }

  /** The whole guild, for GUILD_CREATE. */
  created(guild: Guild, bot: User): object {
    const own = [...this.channels.values()]
      .map(({ channel }) => channel)
      .filter(({ guild_id }) => guild_id === guild.id);
    const everyone = { id: guild.id, name: '@everyone', permissions: '8', position: 0, color: 0 };
    return {
      ...guild,
      owner_id: bot.id,
      joined_at: new Date(this.#now()).toISOString(),
      large: false,
      unavailable: false,
      member_count: 2,
      members: [{ user: bot, roles: [], joined_at: null, deaf: false, mute: false, flags: 0 }],
      channels: own.filter(({ type }) => type === 0),
      threads: own.filter(({ type }) => type === 11),
      roles: [{ ...everyone, hoist: false, managed: false, mentionable: false, flags: 0 }],
      emojis: [],
      stickers: [],
      features: [],
      presences: [],
      voice_states: [],
      stage_instances: [],
      guild_scheduled_events: [],
      soundboard_sounds: [],
      premium_tier: 0,
      preferred_locale: 'en-US',
      verification_level: 0,
      default_message_notifications: 0,
      explicit_content_filter: 0,
      mfa_level: 0,
      nsfw_level: 0,
      system_channel_flags: 0,
      premium_progress_bar_enabled: false,
    };
  }

  #open(channel: Omit<Channel, 'id' | 'last_message_id'>): Channel {
    const whole = { ...channel, id: this.nextId(), last_message_id: null } as Channel;
    this.channels.set(whole.id, {
      channel: whole,
      messages: [],
      refusal: null,
      readsHistory: true,
    });
    return whole;
  }
}

/** The message event's fields beside the message. /events/gateway-events#message-create */
export function eventOf(message: Message, channel: Channel): object {
  const { guild_id } = channel;
  const member = { roles: [], joined_at: null, deaf: false, mute: false, flags: 0 };
  const where = guild_id === undefined ? {} : { guild_id, ...(!message.webhook_id && { member }) };
  return { ...message, channel_type: channel.type, ...where };
}

/**
 * Without the intent the content is empty. Exceptions: direct messages, messages that mention the
 * bot, and its own messages. /events/gateway#message-content-intent
 */
export function withoutContent(message: Message, channel: Channel, bot: User): Message {
  const exempt = channel.type === 1 || message.author.id === bot.id;
  if (exempt || message.mentions.some(({ id }) => id === bot.id)) return message;
  return { ...message, content: '', embeds: [], attachments: [], components: [] };
}
