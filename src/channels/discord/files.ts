/** The attachments of a message. Pure. */
import type { Media } from '../../domain/message.ts';
import { fieldsOf, idOf, listOf, textOf, type Fields } from './fields.ts';

/** The type and the file name. Not the URL, since it is signed and expires soon. */
export function mediaOf(fields: Fields, place: string, message: string): readonly Media[] {
  const attachments = listOf(fields['attachments']).map((attachment) => {
    const { id, content_type: type, filename, size } = fieldsOf(attachment);
    const file = fileOf(place, message, id);
    return {
      type: textOf(type) || null,
      reference: textOf(filename) || 'file',
      ...(file !== null && { file }),
      ...(typeof size === 'number' && { bytes: size }),
    };
  });
  const stickers = listOf(fields['sticker_items']).map((sticker) => {
    return { type: 'sticker', reference: textOf(fieldsOf(sticker)['name']) || 'sticker' };
  });
  const polls = fields['poll'] ? [{ type: null, reference: 'poll' }] : [];
  return [...attachments, ...stickers, ...polls];
}

/** The name by which `fetchFile` finds the attachment later. @returns null: it has no id */
function fileOf(place: string, message: string, attachment: unknown): string | null {
  const id = idOf(attachment);
  return id === null ? null : `${place}/${message}/${id}`;
}
