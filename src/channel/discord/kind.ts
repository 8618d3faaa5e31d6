import type { ChannelKind } from '../kind.ts';
import { messenger, parseMessenger, type MessengerDocument } from '../messenger-kind.ts';

/** The bot's user id, which is the first part of its token; null: this is no bot token. */
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
  token: { variable: 'DISCORD_TOKEN', ours: null },
  botOf: botIdOf,
  groupsAtConnect: true,
  parse: (document: MessengerDocument) => parseMessenger('messenger_b', document),
} as const satisfies ChannelKind;
