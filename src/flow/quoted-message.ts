/**
 * How private the text is that a message replies to. It came with a message, yet was said before
 * it: the message's own stamp says nothing about it.
 */
import type { Brain } from '../brain/brain.ts';
import type { Channel } from '../channel/channel.ts';
import { quoteBlock } from '../domain/surroundings.ts';
import type { QuotedBlock, TurnRow } from '../domain/conversation.ts';
import type { Message, Quoted } from '../domain/message.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';
import type { Ledger } from '../store/store.ts';
import { isPublicSince, publicSinceOf } from './public-since.ts';
import { withoutNotice } from './sentences.ts';

/** How a channel shows a reply. */
type Showing = Pick<Channel, 'split' | 'plain'>;

/**
 * @param window the turns of the active session
 * @returns the quoted block with its stamp; null: nothing is quoted
 */
export async function quotedIn(
  ledger: Pick<Ledger, 'cursor'>,
  { channel, brain }: { readonly channel: Showing; readonly brain: Pick<Brain, 'sensitivity'> },
  message: Message,
  window: readonly TurnRow[],
): Promise<QuotedBlock | null> {
  const quoted = message.context?.quoted;
  if (quoted === undefined) return null;
  const text = quoteBlock(quoted);
  const own = strictest(brain.sensitivity, message.sensitivity);
  if (own === 'private') return { text, sensitivity: own };
  const said = quoted.text === '' ? filesOf(quoted) : quoted.text;
  const reply = quoted.by === 'us' ? withoutNotice(said) : said;
  const found = stampIn(window, reply, channel);
  if (found !== null) return { text, sensitivity: found };
  if (quoted.isOpen === true) return { text, sensitivity: 'public' };
  if (!isOfOthers(message, quoted)) return { text, sensitivity: 'private' };
  const since = await publicSinceOf(ledger, message.channel);
  return { text, sensitivity: isPublicSince(since, quoted.at) ? 'public' : 'private' };
}

/** As a turn remembers what came with it. */
function filesOf({ media = [] }: Quoted): string {
  return media.map(({ reference }) => reference).join('\n');
}

/** In a group people talk to each other, and svc has seen none of that. */
export function isOfOthers({ context }: Message, { by }: Quoted): boolean {
  return context?.inGroup === true && by !== 'us';
}

/** Private as soon as one turn with the text is. @returns null: it is in none */
function stampIn(window: readonly TurnRow[], text: string, channel: Showing): Sensitivity | null {
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
