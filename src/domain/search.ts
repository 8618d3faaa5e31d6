/** Finding a message again: by an id, or by words in it. */
import type { ChannelKey, ConversationId } from './ids.ts';
import type { Page } from './page.ts';
import type { TurnOutcome } from './trace.ts';

/** The shortest prefix of an id that finds it. */
export const idPrefixMin = 6;
/** The most characters of a search. */
export const searchCharactersMax = 200;
/** The most characters of an excerpt around a hit. */
export const excerptCharactersMax = 160;

export const foundKinds = ['message', 'reply', 'dead_letter', 'conversation'] as const;
export const foundStates = ['waiting', 'answered', 'delivered', 'dead'] as const;

/** A result without any text, and without anybody's id. */
export type FoundRow = {
  readonly kind: (typeof foundKinds)[number];
  /** Null: the result is a conversation. */
  readonly id: string | null;
  /** The message itself, or the message that the reply answers; null: no longer known. */
  readonly messageId: string | null;
  readonly channel: ChannelKey;
  /** When it was accepted or made, or the time of the last turn; milliseconds since 1970. */
  readonly at: number;
  readonly brain: string | null;
  /** Null: the result is a conversation. */
  readonly state: (typeof foundStates)[number] | null;
  readonly outcome: TurnOutcome | null;
};

/** A stretch of an excerpt: from this character to before that one. */
export type Hit = { readonly from: number; readonly to: number };
/** A part of a message or of a reply. */
export type Excerpt = { readonly text: string; readonly hits: readonly Hit[] };

export type FoundText = FoundRow & {
  readonly conversation: ConversationId;
  /** Null: the result is a conversation, or nobody wrote it. */
  readonly sender: string | null;
  /** Null: the search was for a sender or a conversation. */
  readonly excerpt: Excerpt | null;
};

/** Newest first. If few texts match, a page may hold fewer rows than the limit, even none. */
export type FoundTexts = Page<FoundText> & {
  /** The search has read every stored text, or the next pages will. */
  readonly complete: boolean;
  /** While the index is being built: texts since this time are in it. Null: all are, or none. */
  readonly indexedSince: number | null;
};
