/**
 * The turn of a message with attachments: svc reads them once, keeps them with the message and
 * shows them to the brain.
 */
import type { Turn, Brain, EarlierPictures } from '../../brains/brain.ts';
import { picturesMax, type Attachment, type Picture } from '../../domain/attachment.ts';
import { mediaOf, type Media, type Message } from '../../domain/message.ts';
import {
  quoteBlock,
  withMediaLines,
  lineOfAttachment,
  withLines,
} from '../../domain/surroundings.ts';
import type { InClaim, Ledger } from '../../ledger/ledger.ts';
import { ownAnswer } from '../commands.ts';
import type { PipelineTurnContext } from '../turn-context.ts';
import type { TurnEnd } from '../effects.ts';
import { askBrain } from '../turn-failure.ts';
import type { ActiveRoute, Deps } from '../deps.ts';
import { readAttachments } from './reading.ts';
import type { QuotedBlock, TurnRow } from '../../domain/conversation.ts';
import { strictest } from '../../domain/sensitivity.ts';
import { kindOfFile } from './file-types.ts';
import { isPublicSince, publicSinceOf } from '../public-since.ts';
import { keptLater } from '../../domain/kept-text.ts';

/**
 * Reads the attachments, then asks the brain. If the message has only unreadable attachments, svc
 * itself answers. Attachments that an earlier run of the message read are not read again.
 */
export async function answerWithAttachments(
  deps: Deps,
  route: ActiveRoute,
  claim: InClaim,
  turn: Omit<Turn, 'attachments'>,
  turnContext: PipelineTurnContext,
): Promise<TurnEnd> {
  const beganAt = deps.steady();
  const { attachments: storedAttachments } = deps.ledger;
  const { message } = turn;
  const ownMedia = mediaOf(message);
  const quotedMedia = await quotedMediaOf(deps.ledger, route.brain, message, turn.quoted);
  const allMedia = [...ownMedia, ...quotedMedia];
  const earlierRead =
    allMedia.length === 0 && claim.attempt === 1 ? null : await storedAttachments.of(claim);
  // The merged message may now have more or fewer attachments than the earlier run read.
  const reusable = earlierRead?.length === allMedia.length ? earlierRead : null;
  const read =
    reusable ?? (await readAttachments(deps, route, message, allMedia, turnContext)) ?? [];
  if (earlierRead !== null && reusable === null) await storedAttachments.keep(claim, []);
  turnContext.thinksAfterMs = deps.steady() - beganAt;
  const attachments = read.filter(({ kind }, at) => at < ownMedia.length || kind !== 'unread');
  if (attachments.length === 0) {
    if (ownMedia.length > 0) turnContext.remembered = withMediaLines(message, turn.text);
    return askBrain(deps, route.brain, withEarlierPictures(deps, route, claim, turn), turnContext);
  }
  if (isUnreadable(turn.text, attachments)) {
    // svc does not tell a person who speaks to others what it cannot read.
    const isOverheard = message.context?.overheard === true;
    return ownAnswer('unread', isOverheard ? null : describeUnread(attachments));
  }
  if (reusable === null && !turnContext.stop.stopped)
    await storedAttachments.keep(claim, attachments);
  turnContext.remembered = rememberedOf(turn.text, attachments);
  const shown = new Set(
    quotedMedia.filter((_, at) => read[ownMedia.length + at]?.kind !== 'unread'),
  );
  const shownTurn = withShownMedia(turn, shown);
  turnContext.quoted = shownTurn.quoted ?? null;
  const fullTurn = withEarlierPictures(deps, route, claim, { ...shownTurn, attachments });
  return askBrain(deps, route.brain, fullTurn, turnContext);
}

/** The turn whose quoted block says which of its attachments are shown. */
function withShownMedia<T extends Omit<Turn, 'attachments'>>(
  turn: T,
  shown: ReadonlySet<Media>,
): T {
  const quotedMessage = turn.message.context?.quoted;
  if (turn.quoted === undefined || quotedMessage === undefined || shown.size === 0) return turn;
  const text = quoteBlock(quotedMessage, (media) => shown.has(media));
  return { ...turn, quoted: { ...turn.quoted, text } };
}

/** Whether the message has no text, and no attachment of it can be read. */
function isUnreadable(text: string, attachments: readonly Attachment[]): boolean {
  if (text.trim() !== '') return false;
  return attachments.every(({ kind }) => kind === 'unread');
}

/** The sentences about the unreadable attachments, each once. */
function describeUnread(attachments: readonly Attachment[]): string {
  const sentences = attachments.flatMap((one) => (one.kind === 'unread' ? [one.why] : []));
  return [...new Set(sentences)].join(' ');
}

// Attachments of the message that a message replies to. svc reads them like the message's own, if
// everybody who is shown the turn may see them.

/** @param block the quoted text; undefined: the quote is not shown */
export async function quotedMediaOf(
  ledger: Pick<Ledger, 'cursor'>,
  brain: Pick<Brain, 'sensitivity'>,
  message: Message,
  block: QuotedBlock | undefined,
): Promise<readonly Media[]> {
  const { quoted, overheard } = message.context ?? {};
  if (quoted === undefined || block === undefined || overheard === true) return [];
  // Nobody is told which quoted attachments cannot be read.
  const media = (quoted.media ?? []).filter((one) => kindOfFile(one) !== 'unknown');
  if (media.length === 0) return [];
  if (strictest(brain.sensitivity, message.sensitivity) === 'private') return media;
  if (block.sensitivity === 'private') return [];
  if (quoted.elsewhere === 'open') return media;
  // A public text of the same message proves nothing about its picture.
  if (quoted.by === 'us') return [];
  const since = await publicSinceOf(ledger, message.channel);
  return isPublicSince(since, quoted.at) ? media : [];
}

/** The beginning of a picture's line; by it later turns remember that a picture came. */
const pictureMark = '[picture: ';

/** Whether pictures may be stored for these turns; otherwise nobody looks for any. */
export function mayHavePictures(history: readonly TurnRow[]): boolean {
  return history.some(({ text }) => text.includes(pictureMark));
}

/**
 * The turn with access to the newest pictures of its history, as many as one message may have,
 * counting its own. Each picture costs tokens each time it is shown, so a brain with a budget gets
 * none.
 */
export function withEarlierPictures<T extends Turn>(
  { ledger }: Pick<Deps, 'ledger'>,
  { brain }: Pick<ActiveRoute, 'brain'>,
  claim: InClaim,
  turn: T,
): T {
  const { history, attachments = [] } = turn;
  const first = history.find(({ text }) => text.includes(pictureMark));
  const most = picturesMax - attachments.filter(({ kind }) => kind === 'picture').length;
  if (first === undefined || most <= 0 || brain.budget !== null) return turn;
  return {
    ...turn,
    pictured: () => newestPictures(ledger, claim, { history, since: first.at, most }),
  };
}

/** A picture is at least as private as the turn that it came with. */
async function newestPictures(
  { attachments }: Deps['ledger'],
  claim: InClaim,
  { history, since, most }: { history: readonly TurnRow[]; since: number; most: number },
): Promise<EarlierPictures> {
  const pictured = new Map<TurnRow, readonly Picture[]>();
  const kept = await attachments.picturesSince(claim, since, most);
  for (const { at, sensitivity, picture } of kept.toReversed()) {
    const [row, ...others] = history.filter(
      (one) => one.at === at && one.text.includes(pictureMark),
    );
    // If two turns share the millisecond, nobody knows whose picture it is.
    if (row === undefined || others.length > 0) continue;
    if (sensitivity === 'private' && row.sensitivity !== 'private') continue;
    pictured.set(row, [...(pictured.get(row) ?? []), picture]);
  }
  return pictured;
}

/**
 * The text that later turns remember as said: the text, and the attachments in words. Only long
 * files are shorter than in this turn.
 */
export function rememberedOf(text: string, attachments: readonly Attachment[]): string {
  const lines = attachments.map((one) =>
    lineOfAttachment(one.kind === 'text' ? { ...one, text: keptLater(one.text) } : one),
  );
  return withLines(text, lines);
}

/**
 * A turn of the session as it was said, with everything that was read of its attachments. The
 * turn's own text may remember less of them.
 * @returns null: no attachments are stored for it
 */
export async function restoreTurn(
  { ledger }: Pick<Deps, 'ledger'>,
  claim: InClaim,
  { at, text }: TurnRow,
): Promise<{ readonly text: string; readonly attachments: readonly Attachment[] } | null> {
  if (!text.includes('[')) return null;
  // Messages of one millisecond are told apart by their remembered texts.
  for (const attachments of await ledger.attachments.acceptedAt(claim, at)) {
    const rememberedLines = rememberedOf('', attachments);
    const start = text.lastIndexOf(rememberedLines);
    if (start < 0) continue;
    const before = text.slice(0, start).replace(/\n$/, '');
    return { text: before + text.slice(start + rememberedLines.length), attachments };
  }
  return null;
}
