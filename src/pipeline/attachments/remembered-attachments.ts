import type { Attachment } from '../../domain/attachment.ts';
import { keptLater } from '../../domain/kept-text.ts';
import type { TurnRow } from '../../domain/conversation.ts';
import { lineOfAttachment, withLines } from '../../domain/surroundings.ts';
import type { InClaim } from '../../ledger/ledger.ts';
import type { Deps } from '../deps.ts';

/**
 * What later turns remember as said: the text, and what svc could make words of, as this turn has
 * it but for long files.
 */
export function rememberedOf(text: string, attachments: readonly Attachment[]): string {
  const lines = attachments.map((one) =>
    lineOfAttachment(one.kind === 'text' ? { ...one, text: keptLater(one.text) } : one),
  );
  return withLines(text, lines);
}

/**
 * A turn of the session as it was said, and all that was read of what came with it: what is
 * remembered of that stands in its text, which may be less.
 * @returns null: nothing is kept of what came with it
 */
export async function asItWasSaid(
  { ledger }: Pick<Deps, 'ledger'>,
  claim: InClaim,
  { at, text }: TurnRow,
): Promise<{ readonly text: string; readonly attachments: readonly Attachment[] } | null> {
  if (!text.includes('[')) return null;
  // Messages of one millisecond are told apart by what is remembered of each.
  for (const attachments of await ledger.attachments.acceptedAt(claim, at)) {
    const told = rememberedOf('', attachments);
    const from = text.lastIndexOf(told);
    if (from < 0) continue;
    const before = text.slice(0, from).replace(/\n$/, '');
    return { text: before + text.slice(from + told.length), attachments };
  }
  return null;
}
