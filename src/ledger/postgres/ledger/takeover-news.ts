/**
 * What instances tell each other of conversations that are answered by hand. It comes from the
 * database, and so from another release: what cannot be read is about nobody.
 */
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { ConversationKey } from '../../../domain/story.ts';
import type { Hold } from '../../../domain/takeover.ts';

/** `hold` null: it is held no more. */
export type TakeoverSummary = ConversationKey & { readonly hold: Hold | null };

/** These messages are answered, and the lane's newest number is this one. */
export type Answered = ConversationKey & {
  readonly messages: readonly string[];
  readonly tail: number;
};

type Fields = Readonly<Record<string, unknown>>;

export function heldIn(body: string): TakeoverSummary | null {
  const fields = fieldsIn(body);
  const where = whereIn(fields);
  const { hold } = fields;
  if (where === null) return null;
  if (hold === null) return { ...where, hold };
  if (typeof hold !== 'object') return null;
  const { since, untilAt } = hold as Fields;
  const areTimes = typeof since === 'number' && typeof untilAt === 'number';
  return areTimes ? { ...where, hold: { since, untilAt } } : null;
}

export function answeredIn(body: string): Answered | null {
  const fields = fieldsIn(body);
  const where = whereIn(fields);
  const { messages, tail } = fields;
  if (where === null || !Array.isArray(messages) || typeof tail !== 'number') return null;
  return { ...where, messages: messages.filter((id) => typeof id === 'string'), tail };
}

function whereIn({ channel, conversation }: Fields): ConversationKey | null {
  if (typeof channel !== 'string' || typeof conversation !== 'string') return null;
  return { channel: channel as ChannelKey, conversation: conversation as ConversationId };
}

/** @returns no fields where it is no object */
function fieldsIn(body: string): Fields {
  try {
    const told: unknown = JSON.parse(body);
    return typeof told === 'object' && told !== null ? (told as Fields) : {};
  } catch {
    return {};
  }
}
