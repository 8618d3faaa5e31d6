import type { ChannelKind } from '../kind.ts';
import { botIdOf } from './wire.ts';
import { messenger, parseMessenger, type MessengerDocument } from '../messenger-kind.ts';

export const discord = {
  ...messenger,
  type: 'messenger_b',
  name: 'Discord',
  synonyms: ['discord'],
  dedupeDays: 30,
  mode: 'gateway',
  token: { variable: 'DISCORD_TOKEN', ours: null },
  botOf: botIdOf,
  groupsAtConnect: true,
  parse: (document: MessengerDocument) => parseMessenger('messenger_b', document),
} as const satisfies ChannelKind;
