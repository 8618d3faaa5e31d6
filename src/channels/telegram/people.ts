/** Who sent a message (https://core.telegram.org/bots/api#message). Pure. */
import type { Sender } from '../../domain/message.ts';
import { object, string, type Wire } from './fields.ts';

export type Bot = { readonly id: number; readonly username: string };

/**
 * An anonymous administrator writes as the group itself, by Telegram's own bot. A message in the
 * name of a channel has no sender for svc, nor has a post that a linked channel forwards into its
 * group.
 * @returns null: no person
 */
export function senderOf(wire: Wire, chat: number): Sender | null {
  if (wire['is_automatic_forward'] === true) return null;
  const as = object(wire['sender_chat']);
  if (as === null) return personOf(wire['from']);
  if (as['id'] !== chat) return null;
  return { id: String(chat), name: string(as['title']) ?? string(wire['author_signature']) };
}

/** All anonymous administrators are one sender: the group. */
export function isAnonymous(wire: Wire): boolean {
  return object(wire['sender_chat']) !== null;
}

/** @returns null: a bot, or no user */
export function personOf(user: unknown): Sender | null {
  const from = object(user);
  if (typeof from?.['id'] !== 'number' || from['is_bot'] === true) return null;
  return { id: String(from['id']), name: nameOf(from) };
}

export function nameOf(from: Wire): string | null {
  const name = [string(from['first_name']), string(from['last_name'])]
    .filter((part) => part !== null)
    .join(' ');
  return name === '' ? string(from['username']) : name;
}
