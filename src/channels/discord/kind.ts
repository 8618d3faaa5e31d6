/** Discord: svc connects to the gateway for messages. */
import type { ChannelKind } from '../kind.ts';
import { messenger, parseMessenger, type MessengerDocument } from '../messenger/messenger-kind.ts';

/** @returns the bot's user id, which a token has in its first part; null: this is not a token */
function botIdOf(token: string): string | null {
  const [first, ...rest] = token.split('.');
  if (rest.length !== 2 || rest.includes('') || /\s/.test(token)) return null;
  try {
    const id = atob(first!.replaceAll('-', '+').replaceAll('_', '/'));
    return /^[0-9]{1,20}$/.test(id) ? id : null;
  } catch {
    return null;
  }
}

export const discord = {
  ...messenger,
  type: 'messenger_b',
  name: 'Discord',
  synonyms: ['discord'],
  dedupeDays: 30,
  mode: 'gateway',
  token: {
    variable: 'DISCORD_TOKEN',
    ours: null,
    steps: [
      'Make an application on https://discord.com/developers/applications.',
      'Under Bot: switch on MESSAGE CONTENT INTENT and save; then Reset Token, and copy the token.',
      'Under OAuth2: scope bot, with View Channels, Send Messages, Send Messages in Threads, ' +
        'Read Message History, Attach Files and Add Reactions; open its link, choose a server.',
    ],
  },
  botOf: botIdOf,
  // A thread has an id of its own, and is a conversation; its channel is an alias of the message.
  topics: 'unique',
  placeOf: (conversation: string) => ({ chat: conversation, topic: conversation }),
  groupsAtConnect: true,
  parse: (document: MessengerDocument) => parseMessenger('messenger_b', document),
} as const satisfies ChannelKind;
