/** The turn of a message with attachments: read once, kept with the message, shown to the brain. */
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

// What came with the message that a message replies to: it is looked at as the message's own, where
// all who are shown the turn may be shown it.

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

/** How the line of a picture begins, by which later turns remember that one came. */
const mark = '[picture: ';

/** Whether pictures may be kept of these; else nobody looks for any. */
export function mayBePictured(history: readonly TurnRow[]): boolean {
  return history.some(({ text }) => text.includes(mark));
}

/**
 * The turn with a way to the newest pictures of its history, as many as one message may have with
 * its own. Each costs again whenever it is shown: within a budget none is.
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

/** A picture is no less private than the turn that it came with. */
async function newestOf(
  { attachments }: Deps['ledger'],
  claim: InClaim,
  { history, since, most }: { history: readonly TurnRow[]; since: number; most: number },
): Promise<EarlierPictures> {
  const pictured = new Map<TurnRow, readonly Picture[]>();
  const kept = await attachments.picturesSince(claim, since, most);
  for (const { at, sensitivity, picture } of kept.toReversed()) {
    const [row, ...others] = history.filter((one) => one.at === at && one.text.includes(mark));
    // Of two messages of one millisecond nobody knows whose it is.
    if (row === undefined || others.length > 0) continue;
    if (sensitivity === 'private' && row.sensitivity !== 'private') continue;
    pictured.set(row, [...(pictured.get(row) ?? []), picture]);
  }
  return pictured;
}

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
