/** Telegram: svc polls the Bot API for messages. */
import type { ChannelKind } from '../kind.ts';
import { messenger, parseMessenger, type MessengerDocument } from '../messenger/messenger-kind.ts';

/** A token from @BotFather: the bot's id, a colon, the secret. */
const tokenShape = /^(\d{1,20}):[\w-]{20,}$/;

export const telegram = {
  ...messenger,
  type: 'messenger_a',
  name: 'Telegram',
  synonyms: ['telegram'],
  dedupeDays: 30,
  mode: 'polling',
  token: {
    variable: 'TELEGRAM_TOKEN',
    ours: null,
    steps: [
      'In Telegram, write /newbot to @BotFather (https://t.me/BotFather).',
      'Give it a name, then a user name that ends in "bot".',
      'It answers with the token: digits, a colon, and letters.',
    ],
  },
  botOf: (token: string) => tokenShape.exec(token)?.[1] ?? null,
  topics: 'of_each_chat',
  placeOf,
  groupsAtConnect: false,
  parse: (document: MessengerDocument) => parseMessenger('messenger_a', document),
} as const satisfies ChannelKind;

/** The conversation of a topic is the chat's id, a colon and the topic's number. */
function placeOf(conversation: string) {
  const [chat = '', topic = null] = conversation.split(':');
  return { chat, topic };
}
