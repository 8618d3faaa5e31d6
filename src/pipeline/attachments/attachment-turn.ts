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
import { think } from '../turn-failure.ts';
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
  // The merged message may now have more or fewer attachments than the earlier run read.
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
    // svc does not tell a person who speaks to others what it cannot read.
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

/** The turn whose quoted block says which of its attachments are shown. */
function withShown<T extends Omit<Turn, 'attachments'>>(turn: T, shown: ReadonlySet<Media>): T {
  const said = turn.message.context?.quoted;
  if (turn.quoted === undefined || said === undefined || shown.size === 0) return turn;
  const text = quoteBlock(said, (media) => shown.has(media));
  return { ...turn, quoted: { ...turn.quoted, text } };
}

/** Whether the message has no text, and no attachment of it can be read. */
function isUnreadable(text: string, attachments: readonly Attachment[]): boolean {
  if (text.trim() !== '') return false;
  return attachments.every(({ kind }) => kind === 'unread');
}

/** The sentences about the unreadable attachments, each once. */
function describeUnread(attachments: readonly Attachment[]): string {
  const told = attachments.flatMap((one) => (one.kind === 'unread' ? [one.why] : []));
  return [...new Set(told)].join(' ');
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
const mark = '[picture: ';

/** Whether pictures may be stored for these turns; otherwise nobody looks for any. */
export function mayBePictured(history: readonly TurnRow[]): boolean {
  return history.some(({ text }) => text.includes(mark));
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
  const first = history.find(({ text }) => text.includes(mark));
  const most = picturesMax - attachments.filter(({ kind }) => kind === 'picture').length;
  if (first === undefined || most <= 0 || brain.budget !== null) return turn;
  return { ...turn, pictured: () => newestOf(ledger, claim, { history, since: first.at, most }) };
}

/** A picture is at least as private as the turn that it came with. */
async function newestOf(
  { attachments }: Deps['ledger'],
  claim: InClaim,
  { history, since, most }: { history: readonly TurnRow[]; since: number; most: number },
): Promise<EarlierPictures> {
  const pictured = new Map<TurnRow, readonly Picture[]>();
  const kept = await attachments.picturesSince(claim, since, most);
  for (const { at, sensitivity, picture } of kept.toReversed()) {
    const [row, ...others] = history.filter((one) => one.at === at && one.text.includes(mark));
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
export async function asItWasSaid(
  { ledger }: Pick<Deps, 'ledger'>,
  claim: InClaim,
  { at, text }: TurnRow,
): Promise<{ readonly text: string; readonly attachments: readonly Attachment[] } | null> {
  if (!text.includes('[')) return null;
  // Messages of one millisecond are told apart by their remembered texts.
  for (const attachments of await ledger.attachments.acceptedAt(claim, at)) {
    const told = rememberedOf('', attachments);
    const from = text.lastIndexOf(told);
    if (from < 0) continue;
    const before = text.slice(0, from).replace(/\n$/, '');
    return { text: before + text.slice(from + told.length), attachments };
  }
  return null;
}
