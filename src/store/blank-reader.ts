import type { LedgerReader } from './store.ts';

/** A reader that knows nothing, until the ledger's forms have readers of their own. */
export function createBlankReader(): LedgerReader {
  const nothing = async () => null;
  const noPage = async () => ({ rows: [], next: null });
  return {
    story: nothing,
    storyText: nothing,
    deadLetters: noPage,
    deadLetterReasons: async () => [],
    deadLetter: nothing,
    conversations: noPage,
    conversation: nothing,
    turns: noPage,
    async [Symbol.asyncDispose]() {},
  };
}
