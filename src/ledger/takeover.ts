/**
 * Conversations that an operator answers by hand. While one is held no message of it is handed
 * out: what is at work loses its claim, and waits first in its lane; what comes waits behind it, in
 * order, commands too. Replies go out as ever. A hold ends by `giveBack`, or an hour after it was
 * last touched (held, renewed or answered); then what waits is handed out as it stands.
 *
 * To one message comes one answer: that of the turn where its commit was first, else that of the
 * operator. A form that outlives the process keeps holds, too. Without storage a drain ends them,
 * so that what was accepted is worked off.
 */
import type { OperatorAnswer, HeldConversation, Hold } from '../domain/takeover.ts';
import type { Message } from '../domain/message.ts';
import type { ConversationKey } from '../domain/story.ts';
import type { Effects, InClaim } from './ledger.ts';

/** A message that is answered by hand, as a claim would bear it. */
export type TakeoverMessage = Pick<InClaim, 'message' | 'memory' | 'attempt' | 'poison'>;

export interface Takeovers {
  /** Holds it, or renews its hold. Resolves when no turn of it goes on any more. */
  hold(where: ConversationKey): Promise<Hold | 'too_many' | 'storage_failed'>;
  /**
   * Ends the waiting messages up to the named one, in one commit; null: the oldest alone.
   * @param effectsOf what each of them changes, in order; the named one is the last
   */
  answer(
    where: ConversationKey,
    upTo: string | null,
    effectsOf: (one: TakeoverMessage, isLast: boolean) => Effects,
  ): Promise<OperatorAnswer>;
  giveBack(where: ConversationKey): Promise<'done' | 'not_held' | 'storage_failed'>;
  /** Null: it is not held. */
  of(where: ConversationKey): Hold | null;
  /** The oldest first. */
  held(): readonly HeldConversation[];
  /** What waits in it, the oldest first. Rejects when it cannot be read. */
  waiting(where: ConversationKey): Promise<readonly Message[]>;
}
