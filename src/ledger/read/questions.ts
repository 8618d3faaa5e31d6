/** The questions of a ledger reader by name, and a reader that gets its answers from elsewhere. */
import type { LedgerReader } from '../ledger.ts';
import type { ChannelKey } from '../../domain/ids.ts';

export type ReadName = Exclude<keyof LedgerReader, symbol>;
export type ReadArguments<Q extends ReadName> = Parameters<LedgerReader[Q]>;
export type ReadResult<Q extends ReadName> = Answers[Q];
type Answers = { readonly [Q in ReadName]: Awaited<ReturnType<LedgerReader[Q]>> };

/**
 * A reader that gets its answers from elsewhere, such as another thread.
 * @param ask rejects when there is no answer
 */
export function readerOver(
  ask: <Q extends ReadName>(question: Q, asked: ReadArguments<Q>) => Promise<ReadResult<Q>>,
  close: () => Promise<void>,
): LedgerReader {
  return {
    story: (...asked) => ask('story', asked),
    storyText: (...asked) => ask('storyText', asked),
    deadLetters: (...asked) => ask('deadLetters', asked),
    deadLetterReasons: (...asked) => ask('deadLetterReasons', asked),
    deadLetter: (...asked) => ask('deadLetter', asked),
    conversations: (...asked) => ask('conversations', asked),
    conversation: (...asked) => ask('conversation', asked),
    conversationById: (...asked) => ask('conversationById', asked),
    origins: (...asked) => ask('origins', asked),
    lines: (...asked) => ask('lines', asked),
    channelKeys: (...asked) => ask('channelKeys', asked),
    privateConversations: (...asked) => ask('privateConversations', asked),
    turns: (...asked) => ask('turns', asked),
    notes: (...asked) => ask('notes', asked),
    toolUses: (...asked) => ask('toolUses', asked),
    toolUse: (...asked) => ask('toolUse', asked),
    messages: (...asked) => ask('messages', asked),
    deliveries: (...asked) => ask('deliveries', asked),
    conversationCounts: (...asked) => ask('conversationCounts', asked),
    audit: (...asked) => ask('audit', asked),
    figures: (...asked) => ask('figures', asked),
    approvals: (...asked) => ask('approvals', asked),
    approval: (...asked) => ask('approval', asked),
    foundIds: (...asked) => ask('foundIds', asked),
    foundTexts: (...asked) => ask('foundTexts', asked),
    spent: (...asked) => ask('spent', asked),
    [Symbol.asyncDispose]: close,
  };
}

/** Reads the notes of channels (cursors) while a service goes on writing them. */
export type CursorReader = Disposable & {
  cursor(channel: ChannelKey, name: string): Promise<string | null>;
};
