/** Finding again what went through the ledger: a part of its reader. */
import type { Page, PageAsked } from '../../domain/page.ts';
import type { FoundRow, FoundTexts } from '../../domain/search.ts';

export interface SearchReader {
  /**
   * Messages, replies and dead letters whose ids begin so, newest first. With fewer characters
   * than `idPrefixMin` none does.
   */
  foundIds(beginning: string, page: PageAsked): Promise<Page<FoundRow>>;
  /**
   * Conversations whose ids begin so, and messages in which each word of `words` begins a word: of
   * what was said, of what was answered, or of the ids of sender and conversation. Words that begin
   * with `/` find the commands that begin so. Empty without storage.
   *
   * A text that is forgotten is not found from then on. A new one is found at once, as long as no
   * more come than can be looked at one by one.
   */
  foundTexts(words: string, page: PageAsked): Promise<FoundTexts>;
}
