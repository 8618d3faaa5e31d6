import { hourMs } from '../lib/durations.ts';
import type { MessageId } from './ids.ts';
import type { ConversationKey } from './story.ts';

/** How long a hold lasts that nobody touches. */
export const holdMs = hourMs;
/** So many conversations are held at once at most. */
export const holdsMax = 1_000;
/** So many of a conversation's waiting messages are told, and answered at once. */
export const waitingMax = 100;

/** A conversation that an operator answers by hand. Milliseconds since 1970. */
export type Hold = { readonly since: number; readonly untilAt: number };
export type HeldConversation = ConversationKey & Hold;

/**
 * `hold` null: it has ended meanwhile. `nothing_to_answer`: nothing waits. `answered_already`: the
 * named message does not wait, since it is answered, or was never in this conversation.
 */
export type OperatorAnswer =
  | {
      readonly kind: 'answered';
      readonly messages: readonly MessageId[];
      readonly hold: Hold | null;
    }
  | { readonly kind: 'not_held' | 'nothing_to_answer' | 'answered_already' | 'storage_failed' };
