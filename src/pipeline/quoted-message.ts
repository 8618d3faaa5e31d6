/**
 * How private quoted or forwarded text is. It came with a message but was said before it, so the
 * message's own sensitivity label says nothing about it.
 */
import type { Brain } from '../brains/brain.ts';
import type { Channel } from '../channels/channel.ts';
import { botOf, channelTypeOf } from '../domain/ids.ts';
import { quoteBlock } from '../domain/surroundings.ts';
import {
  noTurns,
  type EarlierTurns,
  type QuotedBlock,
  type TurnRow,
} from '../domain/conversation.ts';
import type { Quoted } from '../domain/message.ts';
import { leadingCommand } from '../domain/routing.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';
import type { InClaim, Ledger } from '../ledger/ledger.ts';
import type { ActiveRoute } from './deps.ts';
import { isPublicSince, marginMs, publicSinceOf } from './public-since.ts';
import { withoutNotice } from './sentences.ts';

/** How a channel shows a reply. */
type ReplyFormat = Pick<Channel, 'split' | 'plain'>;

/** Turns that cannot be read now may be private. */
const unreadableTurns: EarlierTurns = { kind: 'label', sensitivity: 'private' };

/** How many turns are searched, back from the time of the quoted text: an answer may come late. */
const turnsMax = 40;

/** @returns the quoted block with its sensitivity label; null: the message quotes nothing */
export async function labelledQuote(
  ledger: Pick<Ledger, 'cursor' | 'earlier'>,
  { channel, brain }: { readonly channel: ReplyFormat; readonly brain: Pick<Brain, 'sensitivity'> },
  claim: InClaim,
): Promise<QuotedBlock | null> {
  const { message } = claim;
  const quoted = message.context?.quoted;
  if (quoted === undefined) return null;
  const text = quoteBlock(quoted);
  const own = strictest(brain.sensitivity, message.sensitivity);
  if (own === 'private') return { text, sensitivity: own };
  return { text, sensitivity: await labelOf(ledger, channel, claim, quoted) };
}

/**
 * The message, at least as private as the turn whose words it forwards, if they were said here
 * before. Without storage it is as private as the conversation was. Other words of a bot of svc may
 * come from another chat: they are public only if no private brain answered through it by then.
 */
export async function withForwardedLabel(
  ledger: Pick<Ledger, 'cursor' | 'earlier'>,
  {
    channel,
    brain,
    session,
    all,
  }: Pick<ActiveRoute, 'session' | 'all'> & {
    readonly channel: ReplyFormat;
    readonly brain: Pick<Brain, 'sensitivity'>;
  },
  claim: InClaim,
): Promise<InClaim['message']> {
  const { message, memory } = claim;
  const { forwardedFrom, forwardedBot } = message.context ?? {};
  const hasWords = forwardedFrom !== undefined && message.text !== '';
  const mayBeKnown = hasWords || forwardedBot !== undefined;
  if (!mayBeKnown || strictest(brain.sensitivity, message.sensitivity) === 'private') {
    return message;
  }
  // A turn has the words without what svc took off or put before them.
  const { text } = message;
  const trigger = session?.triggers.find((one) => text.trimStart().split(/\s/, 1)[0] === one) ?? '';
  const body = text.trimStart().slice(trigger.length);
  const forms = [text, leadingCommand(body, [])?.rest ?? body, withoutNotice(text)];
  const earlier = await ledger
    .earlier(claim, message.acceptedAt, turnsMax)
    .catch(() => unreadableTurns);
  const turns = earlier.kind === 'kept' ? [...memory.turns, ...earlier.turns] : memory.turns;
  const labels = forms.map((form) => labelIn(turns, form, channel));
  const isPrivate =
    labels.includes('private') ||
    (earlier.kind === 'label' && earlier.sensitivity === 'private') ||
    (labels.every((label) => label === null) && (await mayBePrivateOfBot(ledger, message, all)));
  return isPrivate ? { ...message, sensitivity: 'private' } : message;
}

/** Whether a bot of svc wrote the forwarded text while a private brain could answer there. */
async function mayBePrivateOfBot(
  ledger: Pick<Ledger, 'cursor'>,
  { channel, context }: InClaim['message'],
  all: ActiveRoute['all'],
): Promise<boolean> {
  const bot = context?.forwardedBot;
  if (bot === undefined) return false;
  for (const key of new Set([channel, ...(all?.keys() ?? [])])) {
    if (botOf(key) !== bot.id || channelTypeOf(key) !== channelTypeOf(channel)) continue;
    if (!isPublicSince(await publicSinceOf(ledger, key), bot.at)) return true;
  }
  return false;
}

/**
 * A text that stands in a turn is as private as that turn. Any other text is public only if it was
 * certainly said to a public brain. A reply of svc is public only if it can hold nothing private.
 */
async function labelOf(
  ledger: Pick<Ledger, 'cursor' | 'earlier'>,
  channel: ReplyFormat,
  claim: InClaim,
  quoted: Quoted,
): Promise<Sensitivity> {
  const { by, at, elsewhere } = quoted;
  // Even a text that was also said here would reveal that it was said there, and by whom.
  if (elsewhere === 'closed') return 'private';
  const rawText = quoted.text === '' ? filesOf(quoted) : quoted.text;
  const text = by === 'us' ? withoutNotice(rawText) : rawText;
  const labelInView = labelIn(claim.memory.turns, text, channel);
  if (labelInView !== null) return labelInView;
  if (elsewhere === 'open') return 'public';
  if (at === 0) return 'private';
  const earlier = await ledger.earlier(claim, at + marginMs, turnsMax).catch(() => noTurns);
  if (earlier.kind === 'kept') {
    const labelOfEarlier = labelIn(earlier.turns, text, channel);
    if (labelOfEarlier !== null) return labelOfEarlier;
  }
  if (by === 'us' && (earlier.kind === 'kept' || earlier.sensitivity === 'private')) {
    return 'private';
  }
  const since = await publicSinceOf(ledger, claim.message.channel);
  return isPublicSince(since, at) ? 'public' : 'private';
}

/** The files, as a turn remembers them. */
function filesOf({ media = [] }: Quoted): string {
  return media.map(({ reference }) => reference).join('\n');
}

/** Private as soon as one turn with the text is private. @returns null: no turn has it */
function labelIn(
  window: readonly TurnRow[],
  text: string,
  channel: ReplyFormat,
): Sensitivity | null {
  const needle = comparable(text);
  if (needle === '') return null;
  const has = (one: string): boolean => comparable(one).includes(needle);
  const matches = window.filter(({ text: question, reply }) => {
    if (has(question)) return true;
    return reply !== null && (has(reply) || has(shownText(reply, channel)));
  });
  return matches.length === 0 ? null : strictest(...matches.map(({ sensitivity }) => sensitivity));
}

/** All parts of a reply as its channel shows them: platforms quote the shown text. */
function shownText(reply: string, channel: ReplyFormat): string {
  const parts = channel.split?.(reply) ?? [{ text: reply }];
  return parts.map((part) => channel.plain?.(part) ?? part.text).join('\n');
}

/**
 * The text without white space and marks of formatting: shown and remembered text mostly differ in
 * these. The dots behind a growing reply go as well.
 */
function comparable(text: string): string {
  return text.replace(/[\s*_~`#|\\>•[\]…]/gu, '');
}
