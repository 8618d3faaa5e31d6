/** The attachment of a message. Pure. */
import type { Media } from '../../domain/message.ts';
import { object, string, type Wire } from './fields.ts';

/** The order matters: Telegram also sends an animation as a document, and a venue as a location. */
const mediaKinds = [
  'photo',
  'animation',
  'video',
  'video_note',
  'voice',
  'audio',
  'document',
  'sticker',
  'contact',
  'venue',
  'location',
  'poll',
  'dice',
  'story',
  'paid_media',
  'checklist',
  'game',
  'invoice',
  'giveaway',
  'giveaway_winners',
  'rich_message',
] as const;

/** The kinds that svc can read, each with its media type if the update names none. */
const readable: Readonly<Record<string, string | null>> = {
  photo: 'image/jpeg',
  voice: 'audio/ogg',
  audio: 'audio/mpeg',
  document: null,
};

/** svc takes the largest size of a photo within this limit. Telegram sends the sizes in order. */
const photoBytesMax = 8 * 1024 * 1024;

/**
 * The type of the attachment, or its kind, and its file name. Never a URL, since that holds the
 * token.
 */
export function mediaOf(wire: Wire): Media | null {
  for (const kind of mediaKinds) {
    const media = wire[kind];
    if (media === undefined || media === null) continue;
    const file = Array.isArray(media) ? largestOf(media) : object(media);
    const name = string(file?.['file_name']);
    const own = name === null ? { type: null, reference: kind } : { type: kind, reference: name };
    const id = string(file?.['file_id']);
    const usual = readable[kind];
    if (usual === undefined || id === null) return own;
    const bytes = file?.['file_size'];
    return {
      type: string(file?.['mime_type']) ?? usual ?? own.type,
      reference: own.reference,
      file: id,
      ...(typeof bytes === 'number' && { bytes }),
    };
  }
  return null;
}

function largestOf(sizes: readonly unknown[]): Wire | null {
  const fitting = sizes.map(object).filter((size) => {
    const bytes = size?.['file_size'];
    return size !== null && (typeof bytes !== 'number' || bytes <= photoBytesMax);
  });
  return fitting.at(-1) ?? object(sizes[0]);
}
