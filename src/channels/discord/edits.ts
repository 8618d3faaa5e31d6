/**
 * Edits of questions: an edit soon after its message is a message of its own, whose address says
 * which question it changes.
 *
 * Format: https://discord.com/developers/docs/events/gateway-events#message-update. It also comes
 * when the platform adds what links lead to, or somebody pins: then the text is as it was.
 */
import { editMsMax } from '../messenger/recent-questions.ts';
import { fieldsOf } from './fields.ts';
import { parseMessage, parseTarget, targetOf, type WireMessage } from './wire.ts';

/**
 * Reads the `d` of a MESSAGE_UPDATE.
 * @param self the bot's own user id
 * @returns null for what is no edit of a text that is to be asked
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
