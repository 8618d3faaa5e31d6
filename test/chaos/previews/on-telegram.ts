import { join } from 'node:path';
import type { Script } from '../../fake/model-server.ts';
import type { FakeTelegram } from '../../fake/telegram.ts';
import { refuse, type Chat } from '../../fake/telegram/wire.ts';
import { openTelegram } from '../../telegram/program.ts';
import { privateChats } from '../talk.ts';
import { goesOn, type Deed, type Made, type Messenger } from './messenger.ts';
import { patienceMs } from '../../support/waiting.ts';

const people = 4;
const limited = { kind: 'rate-limit', retryAfterSeconds: 1 } as const;
const failed = { kind: 'refuse', answer: refuse(500, 'Internal Server Error') } as const;
const spoilings: readonly Parameters<FakeTelegram['fail']>[] = [
  ['sendMessage', failed],
  ['sendMessage', failed],
  ['editMessageText', failed],
  ['editMessageText', { kind: 'reset', done: true }],
  ['editMessageText', limited],
  ['sendMessage', limited],
];

/** Opens private chats on a server without drafts, since drafts leave no message behind. */
export async function openOnTelegram(script: Script, random: () => number): Promise<Messenger> {
  const more = { storage: { path: 'svc.db' } };
  const shows = { channel: { streaming: true }, draftsFor: 'nobody' } as const;
  const stage = await openTelegram(script, { ...shows, more, random });
  const { telegram } = stage;
  const chats = new Map<string, Chat>(
    privateChats(telegram, people).map((chat) => [`${chat.id}`, chat]),
  );
  const nameOf = (chat: unknown, number: unknown): string =>
    `${chat as number}/${number as number}`;
  return {
    name: 'Telegram',
    database: join(stage.folder, 'svc.db'),
    places: [...chats.keys()].map((id) => ({ id })),
    say: ({ id }, number) => void telegram.say(chats.get(id)!, number),
    spawn: stage.spawn,
    findsBegun: false,
    connected: () => Promise.resolve(),
    spoil: () => telegram.fail(...spoilings[Math.floor(random() * spoilings.length)]!),
    deeds: () =>
      telegram.calls.flatMap(({ method, params, at, answer }): Deed[] => {
        const { chat_id, message_id, text } = params;
        const facts = { text: String(text), at, isSpoiled: answer === null };
        if (method === 'sendMessage') return [{ kind: 'make', message: null, ...facts }];
        if (method !== 'editMessageText') return [];
        return [{ kind: 'edit', message: nameOf(chat_id, message_id), ...facts }];
      }),
    made: () =>
      telegram.sent.map(({ message, params, chatId, at }): Made => ({
        message: nameOf(chatId, message.message_id),
        place: `${chatId}`,
        madeAt: at,
        grew: String(params['text']).endsWith(goesOn),
        text: telegram.shown(message)?.text ?? null,
        isCalled: false,
      })),
    remove({ message }) {
      const sent = telegram.sent.find(
        (one) => nameOf(one.chatId, one.message.message_id) === message,
      );
      if (sent !== undefined) telegram.remove(sent.message);
    },
    waiting: () => 0,
    until: (find, what) => telegram.until(find, what, patienceMs),
    unconnected: () => telegram.unconnected(),
    [Symbol.asyncDispose]: () => stage[Symbol.asyncDispose](),
  };
}
