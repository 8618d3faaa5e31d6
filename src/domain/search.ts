/** Finding a message again: by an id, or by what was said in it. */
import type { ChannelKey, ConversationId } from './ids.ts';
import type { Page } from './page.ts';
import type { TurnOutcome } from './trace.ts';

/** An id is found by so many of its first characters, or more. */
export const idPrefixMin = 6;
/** As long as what is looked for may be. */
export const searchCharactersMax = 200;
/** As long as what is shown around a hit. */
export const excerptCharactersMax = 160;

export const foundKinds = ['message', 'reply', 'dead_letter', 'conversation'] as const;
export const foundStates = ['waiting', 'answered', 'delivered', 'dead'] as const;

/** Without any text, and nobody's id. */
export type FoundRow = {
  readonly kind: (typeof foundKinds)[number];
  /** Null: of a conversation. */
  readonly id: string | null;
  /** The message itself, or the one that the reply answers; null: it is not known any more. */
  readonly messageId: string | null;
  readonly channel: ChannelKey;
  /** When it was accepted, made, or said last; milliseconds since 1970. */
  readonly at: number;
  readonly brain: string | null;
  /** Null: of a conversation. */
  readonly state: (typeof foundStates)[number] | null;
  readonly outcome: TurnOutcome | null;
};

/** A stretch of an excerpt: from this character to before that one. */
export type Hit = { readonly from: number; readonly to: number };
/** Of what was said, or of what was answered. */
export type Excerpt = { readonly text: string; readonly hits: readonly Hit[] };

export type FoundText = FoundRow & {
  readonly conversation: ConversationId;
  /** Null: of a conversation, and of what nobody said. */
  readonly sender: string | null;
  /** Null: who said it, or where, was looked for. */
  readonly excerpt: Excerpt | null;
};

/** Newest first. Where few match, a page may hold fewer rows than asked for, even none. */
export type FoundTexts = Page<FoundText> & {
  /** Every text that is kept has been looked at, or is by the next pages. */
  readonly complete: boolean;
  /** While texts are still put into the index: those since then are. Null: all are, or none. */
  readonly indexedSince: number | null;
};
