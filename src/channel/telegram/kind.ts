import type { ChannelKind } from '../kind.ts';
import { messenger, parseMessenger, type MessengerDocument } from '../messenger-kind.ts';

export const telegram = {
  ...messenger,
  type: 'messenger_a',
  name: 'Telegram',
  synonyms: ['telegram'],
  dedupeDays: 30,
  mode: 'polling',
  token: { variable: 'TELEGRAM_TOKEN', ours: null },
  groupsAtConnect: false,
  parse: (document: MessengerDocument) => parseMessenger('messenger_a', document),
} as const satisfies ChannelKind;
