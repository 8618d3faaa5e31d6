/** One interface for two messengers, as several svc and some people see them. */
import { channelKeyOf } from '../../../src/domain/ids.ts';
import { startFakeDiscord } from '../../fake/discord.ts';
import { startFakeTelegram } from '../../fake/telegram.ts';

/** A poll, or a session of a gateway, as it begins. */
export type Entry = {
  /** The svc's port of its connection. */
  readonly port: number;
  readonly isOpen: () => boolean;
};

export type Answer = { readonly place: number; readonly text: string; readonly at: number };

export type Platform = AsyncDisposable & {
  readonly type: 'telegram' | 'discord';
  /** The name of the bot's lease. */
  readonly post: string;
  readonly url: string;
  /** The port on which it listens. */
  readonly port: number;
  readonly token: string;
  /** A person writes in a private chat with the bot. */
  say(place: number, text: string): void;
  /** The bot's messages, in order. */
  answers(): readonly Answer[];
  /** Calls `entered` for each entry from now on. */
  watch(entered: (entry: Entry) => void): void;
};

/** @param people their number, each in a private chat */
export async function startTelegram(people: number, random: () => number): Promise<Platform> {
  const telegram = await startFakeTelegram({ random });
  const chats = Array.from({ length: people }, (_, place) =>
    telegram.privateChat(telegram.person(`Person ${place}`)),
  );
  const placeOf = new Map(chats.map(({ id }, place) => [id, place]));
  return {
    type: 'telegram',
    post: channelKeyOf({ name: 'messenger_a', type: 'messenger_a' }, String(telegram.bot.id)),
    url: telegram.url,
    port: Number(new URL(telegram.url).port),
    token: telegram.token,
    say: (place, text) => void telegram.say(chats[place]!, text),
    answers: () =>
      telegram.sent.map(({ chatId, text, at }) => ({ place: placeOf.get(chatId)!, text, at })),
    watch(entered) {
      telegram.onCall = async (call) => {
        if (call.method.toLowerCase() !== 'getupdates') return;
        // Waits for an end that has arrived before, which must count first.
        for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
        entered({ port: call.port, isOpen: () => !call.over && !call.gone });
      };
    },
    [Symbol.asyncDispose]: () => telegram[Symbol.asyncDispose](),
  };
}

/** @param people their number, each in a private chat */
export async function startDiscord(people: number): Promise<Platform> {
  const discord = await startFakeDiscord({ identifyGapMs: 0, heartbeatMs: 5_000 });
  const chats = Array.from({ length: people }, (_, place) =>
    discord.direct(discord.user(`Person ${place}`)),
  );
  const placeOf = new Map(chats.map(({ id }, place) => [id, place]));
  return {
    type: 'discord',
    post: channelKeyOf(
      { name: 'messenger_b', type: 'messenger_b' },
      atob(discord.token.split('.')[0]!),
    ),
    url: discord.url,
    port: Number(new URL(discord.url).port),
    token: discord.token,
    say: (place, text) => void discord.say(chats[place]!, text),
    answers: () =>
      discord.sent.map(({ channelId, content: text, at }) => {
        return { place: placeOf.get(channelId)!, text, at };
      }),
    watch(entered) {
      discord.gateway.onEnter = (connection) => {
        entered({ port: connection.port, isOpen: () => connection.closed === null });
      };
    },
    [Symbol.asyncDispose]: () => discord[Symbol.asyncDispose](),
  };
}
