/**
 * What came with the message that a message replies to: it is looked at as the message's own, where
 * all who are shown the turn may be shown it.
 */
import type { Brain } from '../../brains/brain.ts';
import type { QuotedBlock } from '../../domain/conversation.ts';
import type { Media, Message } from '../../domain/message.ts';
import { strictest } from '../../domain/sensitivity.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { kindOfFile } from './file-types.ts';
import { isPublicSince, publicSinceOf } from '../public-since.ts';

/** @param block of its text; undefined: it is not told */
export async function quotedMediaOf(
  ledger: Pick<Ledger, 'cursor'>,
  brain: Pick<Brain, 'sensitivity'>,
  message: Message,
  block: QuotedBlock | undefined,
): Promise<readonly Media[]> {
  const { quoted, overheard } = message.context ?? {};
  if (quoted === undefined || block === undefined || overheard === true) return [];
  // Nobody is told what of it cannot be read.
  const media = (quoted.media ?? []).filter((one) => kindOfFile(one) !== 'unknown');
  if (media.length === 0) return [];
  if (strictest(brain.sensitivity, message.sensitivity) === 'private') return media;
  if (block.sensitivity === 'private') return [];
  if (quoted.elsewhere === 'open') return media;
  // That a text like its own is public says nothing of a picture.
  if (quoted.by === 'us') return [];
  const since = await publicSinceOf(ledger, message.channel);
  return isPublicSince(since, quoted.at) ? media : [];
}
