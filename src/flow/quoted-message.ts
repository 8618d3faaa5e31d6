/**
 * How private the text is that a message replies to. It came with a message, yet was said before
 * it: the message's own stamp says nothing about it.
 */
import { quoteBlock } from '../domain/surroundings.ts';
import type { QuotedBlock, TurnRow } from '../domain/conversation.ts';
import type { Message, Quoted } from '../domain/message.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';
import type { Ledger } from '../store/store.ts';
import { isPublicSince, publicSinceOf } from './public-since.ts';

/**
 * @param window the turns of the active session
 * @returns the quoted block with its stamp; null: nothing is quoted
 */
export async function quotedIn(
  ledger: Pick<Ledger, 'cursor'>,
  brain: Sensitivity,
  message: Message,
  window: readonly TurnRow[],
): Promise<QuotedBlock | null> {
  const quoted = message.context?.quoted;
  if (quoted === undefined) return null;
  const text = quoteBlock(quoted);
  const own = strictest(brain, message.sensitivity);
  if (own === 'private') return { text, sensitivity: own };
  const found = stampIn(window, quoted.text);
  if (found !== null || !isOfOthers(message, quoted)) {
    return { text, sensitivity: found ?? 'private' };
  }
  const since = await publicSinceOf(ledger, message.channel);
  return { text, sensitivity: isPublicSince(since, quoted.at) ? 'public' : 'private' };
}

/** In a group people talk to each other, and svc has seen none of that. */
function isOfOthers({ context }: Message, { by }: Quoted): boolean {
  return context?.inGroup === true && by !== 'us';
}

/** Private as soon as one turn with the text is. @returns null: it is in none */
function stampIn(window: readonly TurnRow[], text: string): Sensitivity | null {
  const sought = bare(text);
  if (sought === '') return null;
  const found = window.filter(({ text: said, reply }) => {
    return bare(said).includes(sought) || (reply !== null && bare(reply).includes(sought));
  });
  return found.length === 0 ? null : strictest(...found.map(({ sensitivity }) => sensitivity));
}

/** Without white space and marks of formatting: a platform shows a text without these. */
function bare(text: string): string {
  return text.replace(/[\s*_~`#|\\>•[\]]/gu, '');
}
