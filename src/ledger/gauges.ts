/** What a ledger has in hand, in numbers. */
import type { ChannelKey } from '../domain/ids.ts';

export type ChannelBacklog = {
  readonly channel: ChannelKey;
  /** Unsettled rows, claimed ones included. */
  readonly inbox: number;
  readonly outbox: number;
  /** When the first of them was accepted or made, milliseconds since 1970. */
  readonly oldestAt: number;
  /** When the first reply was made; null: none waits. */
  readonly oldestReplyAt: number | null;
  /** Since when its rows wait in vain (milliseconds since 1970); null: it is served. */
  readonly unroutableSince: number | null;
};

export type Gauges = {
  readonly inboxWaiting: number;
  readonly inboxClaimed: number;
  readonly outboxWaiting: number;
  readonly outboxClaimed: number;
  readonly outboxDeferred: number;
  /** Kept, to be seen by a person; without storage all since the start. A split reply is one. */
  readonly deadLetters: number;
  /** Unsettled rows of channels that are not served. */
  readonly unroutable: number;
  /** Messages that were under way when the process died, and run alone before all others. */
  readonly suspects: number;
  /** Conversations that an operator answers by hand. */
  readonly held: number;
  /** Since the start: traces left out because the storage was behind. */
  readonly tracesDropped: number;
  readonly bytesHeld: number;
  readonly bytesMax: number;
  readonly messagesMax: number;
  readonly conversationsAtWork: number;
  readonly rememberedBytes: number;
  /** Commits asked for and not yet on disk; always 0 in the memory form. */
  readonly commitsPending: number;
};
