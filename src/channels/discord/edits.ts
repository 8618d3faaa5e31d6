/**
 * Edits of questions: an edit soon after its message is a message of its own, whose address names
 * the question that it changes.
 *
 * Format: https://discord.com/developers/docs/events/gateway-events#message-update. The platform
 * also sends this event when it adds link previews, or when somebody pins a message; then the text
 * is the same.
 */
import { editMsMax } from '../messenger/recent-questions.ts';
import { fieldsOf } from './fields.ts';
import { parseMessage, parseTarget, targetOf, type WireMessage } from './wire.ts';

/**
 * Reads the `d` of a MESSAGE_UPDATE.
 * @param self the bot's own user id
 * @returns null: this is no edit of a text, or it comes too late
 */
export function parseEdit(wire: unknown, self: string): WireMessage | null {
  const { timestamp, edited_timestamp: edited } = fieldsOf(wire);
  if (typeof timestamp !== 'string' || typeof edited !== 'string') return null;
  const ms = Date.parse(edited) - Date.parse(timestamp);
  const message = parseMessage(wire, self);
  if (message === null || !(ms <= editMsMax)) return null;
  const target = parseTarget(message.target);
  if (target === null) return null;
  return { ...message, target: targetOf({ ...target, edits: message.id }), edits: message.id };
}
