/** Takeovers: an operator answers a conversation instead of its brain. */
import { hourMs } from '../lib/durations.ts';
import type { MessageId } from './ids.ts';
import type { ConversationKey } from './story.ts';

/** A takeover ends after this time without a use. */
export const takeoverMs = hourMs;
/** The most conversations that operators can take over at once. */
export const takeoversMax = 1_000;
/** The most waiting messages of a conversation that svc lists, and that one answer settles. */
export const waitingMax = 100;

/** A takeover of a conversation. Times are milliseconds since 1970. */
export type TakeoverTimes = { readonly since: number; readonly untilAt: number };
export type TakenOverConversation = ConversationKey & TakeoverTimes;

/**
 * The result of an operator's answer.
 * - `answered`: `hold` null: the takeover has ended meanwhile.
 * - `nothing_to_answer`: no message waits.
 * - `answered_already`: the named message does not wait. It is answered, or was never in this
 *   conversation.
 */
export type OperatorAnswer =
  | {
      readonly kind: 'answered';
      readonly messages: readonly MessageId[];
      readonly hold: TakeoverTimes | null;
    }
  | { readonly kind: 'not_held' | 'nothing_to_answer' | 'answered_already' | 'storage_failed' };
