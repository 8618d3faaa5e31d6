/**
 * The context of a message: the message that it replies to, and the message that it forwards.
 * Format: https://discord.com/developers/docs/resources/message#message-reference-object. Names
 * only, never ids. Pure.
 */
import { quotedCharactersMax, type MessageContext, type Quoted } from '../../domain/message.ts';
import { beginning } from '../../domain/reply.ts';
import { fieldsOf, idOf, listOf, nameOf, textOf, type Fields } from './fields.ts';
import { mediaOf } from './files.ts';
import { withNames } from './mentions.ts';

/**
 * The forwarded message. A forward itself is empty; its snapshot has the content. @returns null:
 * this is no forward
 */
export function forwardIn(fields: Fields): Fields | null {
  if (fieldsOf(fields['message_reference'])['type'] !== 1) return null;
  const [snapshot] = listOf(fields['message_snapshots']);
  return snapshot === undefined ? null : fieldsOf(fieldsOf(snapshot)['message']);
}

/** @returns undefined: there is no context */
export function contextOf(
  fields: Fields,
  inGroup: boolean,
  self: string,
  isForward: boolean,
): MessageContext | undefined {
  const quoted = quotedIn(fields, self);
  if (!inGroup && !isForward && quoted === null) return undefined;
  return {
    ...(inGroup && { inGroup: true }),
    ...(quoted !== null && { quoted }),
    // The platform does not report the author.
    ...(isForward && { forwardedFrom: null }),
  };
}

function quotedIn(fields: Fields, self: string): Quoted | null {
  const other = fieldsOf(fields['referenced_message']);
  const [id, place] = [other['id'], fields['channel_id']].map(idOf);
  if (fields['type'] !== 19 || !id || !place) return null;
  const forward = forwardIn(other);
  const shown = forward ?? other;
  const text = withNames(textOf(shown['content']), shown);
  const media = mediaOf(shown, place, id);
  if (text === '' && media.length === 0) return null;
  const author = fieldsOf(other['author']);
  const by = authorOf(author, fields, self);
  const at = Date.parse(textOf(other['timestamp']));
  // A message of another bot may contain a private brain's answer; a forward comes from elsewhere.
  const isOfBot = by !== 'us' && (author['bot'] === true || textOf(other['webhook_id']) !== '');
  return {
    text: beginning(text, quotedCharactersMax).toWellFormed(),
    ...(media.length > 0 && { media }),
    by,
    name: nameOf(author),
    at: isOfBot || forward !== null || Number.isNaN(at) ? 0 : at,
  };
}

function authorOf(author: Fields, fields: Fields, self: string): Quoted['by'] {
  if (author['id'] === self) return 'us';
  return author['id'] === fieldsOf(fields['author'])['id'] ? 'sender' : 'other';
}
