/** The turn of a message with attachments: read once, kept with the message, shown to the brain. */
import type { Turn } from '../../brains/brain.ts';
import type { Attachment } from '../../domain/attachment.ts';
import { mediaOf, type Media } from '../../domain/message.ts';
import { quoteBlock, withMediaLines } from '../../domain/surroundings.ts';
import type { InClaim } from '../../ledger/ledger.ts';
import { ownAnswer } from '../commands.ts';
import type { PipelineTurnContext } from '../turn-context.ts';
import { withEarlierPictures } from './earlier-pictures.ts';
import type { TurnEnd } from '../effects.ts';
import { think } from '../turn-failure.ts';
import type { ActiveRoute, Deps } from '../deps.ts';
import { quotedMediaOf } from './quoted-media.ts';
import { readAttachments } from './reading.ts';
import { rememberedOf } from './remembered-attachments.ts';

/**
 * A message that holds nothing but what cannot be read is answered by svc itself. What an earlier
 * run of the message read is not read again.
 */
export async function thinkOfAttachments(
  deps: Deps,
  route: ActiveRoute,
  claim: InClaim,
  turn: Omit<Turn, 'attachments'>,
  turnContext: PipelineTurnContext,
): Promise<TurnEnd> {
  const beganAt = deps.steady();
  const { attachments: keeping } = deps.ledger;
  const { message } = turn;
  const own = mediaOf(message);
  const quoted = await quotedMediaOf(deps.ledger, route.brain, message, turn.quoted);
  const came = [...own, ...quoted];
  const ofBefore = came.length === 0 && claim.attempt === 1 ? null : await keeping.of(claim);
  // More may be joined with the message by now than its earlier run read, or no longer as much.
  const kept = ofBefore?.length === came.length ? ofBefore : null;
  const read = kept ?? (await readAttachments(deps, route, message, came, turnContext)) ?? [];
  if (ofBefore !== null && kept === null) await keeping.keep(claim, []);
  turnContext.thinksAfterMs = deps.steady() - beganAt;
  const attachments = read.filter(({ kind }, at) => at < own.length || kind !== 'unread');
  if (attachments.length === 0) {
    if (own.length > 0) turnContext.remembered = withMediaLines(message, turn.text);
    return think(deps, route.brain, withEarlierPictures(deps, route, claim, turn), turnContext);
  }
  if (isUnreadable(turn.text, attachments)) {
    // Who speaks to others is not told what svc cannot read.
    const isToOthers = message.context?.overheard === true;
    return ownAnswer('unread', isToOthers ? null : describeUnread(attachments));
  }
  if (kept === null && !turnContext.stop.stopped) await keeping.keep(claim, attachments);
  turnContext.remembered = rememberedOf(turn.text, attachments);
  const shown = new Set(quoted.filter((_, at) => read[own.length + at]?.kind !== 'unread'));
  const told = withShown(turn, shown);
  turnContext.quoted = told.quoted ?? null;
  const whole = withEarlierPictures(deps, route, claim, { ...told, attachments });
  return think(deps, route.brain, whole, turnContext);
}

/** The turn whose quoted block says what of it is shown. */
function withShown<T extends Omit<Turn, 'attachments'>>(turn: T, shown: ReadonlySet<Media>): T {
  const said = turn.message.context?.quoted;
  if (turn.quoted === undefined || said === undefined || shown.size === 0) return turn;
  const text = quoteBlock(said, (media) => shown.has(media));
  return { ...turn, quoted: { ...turn.quoted, text } };
}

/** Whether nothing of it can be shown to anybody, and nothing was written beside it. */
function isUnreadable(text: string, attachments: readonly Attachment[]): boolean {
  if (text.trim() !== '') return false;
  return attachments.every(({ kind }) => kind === 'unread');
}

/** What is said of what could not be read, each sentence once. */
function describeUnread(attachments: readonly Attachment[]): string {
  const told = attachments.flatMap((one) => (one.kind === 'unread' ? [one.why] : []));
  return [...new Set(told)].join(' ');
}
