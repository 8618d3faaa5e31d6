/** Part of the reader: finds messages, replies and conversations. */
import type { Page, PageRequest } from '../../domain/page.ts';
import type { FoundRow, FoundTexts } from '../../domain/search.ts';

export interface SearchReader {
  /**
   * Messages, replies and dead letters whose ids begin with this text, newest first. A text shorter
   * than `idPrefixMin` finds nothing.
   */
  foundIds(beginning: string, page: PageRequest): Promise<Page<FoundRow>>;
  /**
   * Finds conversations by the beginning of their ids, and messages by words. Each of the `words`
   * must begin a word in the message, the reply, or the ids of sender and conversation. A text that
   * begins with `/` finds commands by their beginning. Empty without storage.
   *
   * A forgotten text is never found again. A new text is found at once, unless too many new texts
   * wait for the index to be examined one by one.
   */
  foundTexts(words: string, page: PageRequest): Promise<FoundTexts>;
}
