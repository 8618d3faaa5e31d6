/**
 * How private the text is that a message replies to, or forwards. It came with a message, yet was
 * said before it: the message's own stamp says nothing about it.
 */
import type { Brain } from '../brains/brain.ts';
import type { Channel } from '../channels/channel.ts';
import { quoteBlock } from '../domain/surroundings.ts';
import { noTurns, type EarlierTurns } from '../domain/conversation.ts';
import type { QuotedBlock, TurnRow } from '../domain/conversation.ts';
import type { Quoted } from '../domain/message.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';
import type { InClaim, Ledger } from '../ledger/ledger.ts';
import { isPublicSince, marginMs, publicSinceOf } from './public-since.ts';
import { withoutNotice } from './sentences.ts';

/** How a channel shows a reply. */
type Showing = Pick<Channel, 'split' | 'plain'>;

/** What cannot be read now may be private. */
const unread: EarlierTurns = { kind: 'label', sensitivity: 'private' };

/** So many turns are looked through, back from when it was said: an answer may come late. */
const turnsMax = 40;

/** @returns the quoted block with its stamp; null: nothing is quoted */
export async function stampedQuote(
  ledger: Pick<Ledger, 'cursor' | 'earlier'>,
  { channel, brain }: { readonly channel: Showing; readonly brain: Pick<Brain, 'sensitivity'> },
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
 * The message as private as the turn whose words it forwards: they were said here before. Without
 * storage it is as private as the conversation was.
 */
export async function withForwardedLabel(
  ledger: Pick<Ledger, 'earlier'>,
  { channel, brain }: { readonly channel: Showing; readonly brain: Pick<Brain, 'sensitivity'> },
  claim: InClaim,
): Promise<InClaim['message']> {
  const { message, memory } = claim;
  const isForwarded = message.context?.forwardedFrom !== undefined && message.text !== '';
  if (!isForwarded || strictest(brain.sensitivity, message.sensitivity) === 'private') {
    return message;
  }
  const inView = labelIn(memory.turns, message.text, channel);
  if (inView === 'private') return { ...message, sensitivity: inView };
  const earlier = await ledger.earlier(claim, message.acceptedAt, turnsMax).catch(() => unread);
  const label =
    earlier.kind === 'kept' ? labelIn(earlier.turns, message.text, channel) : earlier.sensitivity;
  return label === 'private' ? { ...message, sensitivity: label } : message;
}

/**
 * What a turn has is as private as that. All else is public only where it is known to have been
 * said to a public brain, and a reply of svc only where nothing private can be in it.
 */
async function labelOf(
  ledger: Pick<Ledger, 'cursor' | 'earlier'>,
  channel: Showing,
  claim: InClaim,
  quoted: Quoted,
): Promise<Sensitivity> {
  const { by, at, elsewhere } = quoted;
  // Also a text that was said here would tell what is said there, and by whom.
  if (elsewhere === 'closed') return 'private';
  const said = quoted.text === '' ? filesOf(quoted) : quoted.text;
  const text = by === 'us' ? withoutNotice(said) : said;
  const found = labelIn(claim.memory.turns, text, channel);
  if (found !== null) return found;
  if (elsewhere === 'open') return 'public';
  if (at === 0) return 'private';
  const earlier = await ledger.earlier(claim, at + marginMs, turnsMax).catch(() => noTurns);
  if (earlier.kind === 'kept') {
    const kept = labelIn(earlier.turns, text, channel);
    if (kept !== null) return kept;
  }
  if (by === 'us' && (earlier.kind === 'kept' || earlier.sensitivity === 'private')) {
    return 'private';
  }
  const since = await publicSinceOf(ledger, claim.message.channel);
  return isPublicSince(since, at) ? 'public' : 'private';
}

/** As a turn remembers what came with it. */
function filesOf({ media = [] }: Quoted): string {
  return media.map(({ reference }) => reference).join('\n');
}

/** Private as soon as one turn with the text is. @returns null: it is in none */
function labelIn(window: readonly TurnRow[], text: string, channel: Showing): Sensitivity | null {
  const sought = bare(text);
  if (sought === '') return null;
  const has = (one: string): boolean => bare(one).includes(sought);
  const found = window.filter(({ text: asked, reply }) => {
    if (has(asked)) return true;
    return reply !== null && (has(reply) || has(shown(reply, channel)));
  });
  return found.length === 0 ? null : strictest(...found.map(({ sensitivity }) => sensitivity));
}

/** All parts of a reply as its channel shows them, for the platform tells them so. */
function shown(reply: string, channel: Showing): string {
  const parts = channel.split?.(reply) ?? [{ text: reply }];
  return parts.map((part) => channel.plain?.(part) ?? part.text).join('\n');
}

/**
 * Without white space and marks of formatting, in which what is shown and what is remembered mostly
 * differ, and without the dots behind a reply that still grew.
 */
function bare(text: string): string {
  return text.replace(/[\s*_~`#|\\>•[\]…]/gu, '');
}
