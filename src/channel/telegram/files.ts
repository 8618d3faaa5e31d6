/** What came with a message beside its text. Pure. */
import type { Media } from '../../domain/message.ts';
import { object, string, type Wire } from './fields.ts';

/** In this order: an animation is also sent as a document, a venue as a location. */
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
] as const;

/** The kind, and the file's name where it has one. Never a URL: a file's URL holds the token. */
export function mediaOf(wire: Wire): Media | null {
  for (const kind of mediaKinds) {
    const media = wire[kind];
    if (media === undefined || media === null) continue;
    const name = string(object(media)?.['file_name']);
    return name === null ? { type: null, reference: kind } : { type: kind, reference: name };
  }
  return null;
}
