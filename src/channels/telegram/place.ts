/**
 * The place of a message, its conversation, and the target of a reply. A conversation is a chat, or
 * a topic of one. Format: https://core.telegram.org/bots/api#message. Pure.
 */
import type { ConversationId } from '../../domain/ids.ts';
import type { Address } from '../../domain/message.ts';
import { object, type Wire } from './fields.ts';

/** A message's place on the platform. `number`: its own id in the chat. */
export type Place = {
  readonly chat: number;
  readonly thread: number | null;
  readonly number: number;
  readonly isGroup: boolean;
};

/** @returns null: the chat is none that svc talks in */
export function placeOf(wire: Wire): Place | null {
  const chat = object(wire['chat']);
  const number = wire['message_id'];
  const id = chat?.['id'];
  if (typeof id !== 'number' || typeof number !== 'number') return null;
  const isGroup = chat?.['type'] === 'group' || chat?.['type'] === 'supergroup';
  if (!isGroup && chat?.['type'] !== 'private') return null;
  const topic = wire['is_topic_message'] === true ? wire['message_thread_id'] : null;
  return { chat: id, thread: typeof topic === 'number' ? topic : null, number, isGroup };
}

export function conversationOf({ chat, thread }: Place): ConversationId {
  return (thread === null ? `${chat}` : `${chat}:${thread}`) as ConversationId;
}

/** The direct chat with a person has the person's own id. @returns null: this is no person's id */
export function directChatOf(
  user: string,
): { conversation: ConversationId; target: string } | null {
  const chat = /^[1-9]\d{0,15}$/.test(user) ? Number(user) : Number.NaN;
  if (!Number.isSafeInteger(chat)) return null;
  const conversation = String(chat) as ConversationId;
  return { conversation, target: targetOf({ chat, thread: null, replyTo: null }) };
}

/**
 * Where a reply goes. `replyTo`: in groups, the message that it answers. `acknowledged`: that
 * message was said to the bot, and gets a reaction when work on it begins.
 */
export type Target = {
  readonly chat: number;
  readonly thread: number | null;
  readonly replyTo: number | null;
  readonly acknowledged?: true;
  /** The number of the edited question; absent: the reply answers no edit. */
  readonly edits?: number;
};

export function targetOf({ chat, thread, replyTo, acknowledged, edits }: Target): string {
  const mark = acknowledged === true ? 1 : null;
  const more = edits !== undefined ? [mark, edits] : mark === null ? [] : [mark];
  return JSON.stringify([chat, thread, replyTo, ...more]);
}

/** @returns null if this file did not write the address */
export function parseTarget({ target }: Pick<Address, 'target'>): Target | null {
  let parts: unknown;
  try {
    parts = JSON.parse(target);
  } catch {
    return null;
  }
  if (!Array.isArray(parts)) return null;
  const [chat, thread, replyTo, mark, edits] = parts as unknown[];
  if (typeof chat !== 'number') return null;
  const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  return {
    chat,
    thread: number(thread),
    replyTo: number(replyTo),
    ...(mark === 1 && { acknowledged: true as const }),
    ...(typeof edits === 'number' && { edits }),
  };
}

/** The dedupe key of the edited question; null: the reply answers no edit. */
export function questionEdited(address: Pick<Address, 'target'>): string | null {
  const target = parseTarget(address);
  return target?.edits === undefined ? null : `${target.chat}:${target.edits}`;
}
