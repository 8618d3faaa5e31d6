/**
 * A channel is a two-way connection to one platform.
 *
 * What it promises: it acknowledges to its platform only what `accept` has accepted; it never
 * throws out of `deliver`; it never outlives the signal given to `run`.
 * What it may not do: keep messages of its own, order anything, retry a delivery.
 * Who calls it: `open` once; then `run` once; `deliver` and `working` at any time between `open`
 * and the end, many at the same time, for different conversations.
 */
import type { Address, Inbound } from '../domain/message.ts';
import type { Attempt, DeliveryOutcome, Reply } from '../domain/reply.ts';
import type { ChannelKey, MessageId } from '../domain/ids.ts';
import type { ChannelState } from '../domain/event.ts';

export interface Channel {
  /** Binds the listener or proves the token. A fatal problem is a boot error. */
  open(): Promise<Opened | ChannelProblem>;
  /** Takes messages in until the signal aborts. Ending earlier means: restart me. */
  run(accept: Accept, signal: AbortSignal): Promise<void>;
  /** One try to send one reply. */
  deliver(reply: Reply, attempt: Attempt, signal: AbortSignal): Promise<DeliveryOutcome>;
  /** Cuts a rendered text into what the platform takes at once. Pure. Absent: never cut. */
  split?(text: string): readonly string[];
  /** Shows that an answer is being worked on. Never throws. */
  working?(address: Address, signal: AbortSignal): void;
  /**
   * Its wire has a field that tells that a session began by itself; where it has none, the reply's
   * text begins with a line that says so.
   */
  readonly tellsSessions: boolean;
  health(): ChannelHealth;
  /** Gives back what `open` took. */
  [Symbol.asyncDispose](): Promise<void>;
}

export type Opened = { readonly kind: 'opened'; readonly key: ChannelKey };

/** `code` is stable; `message` says what is wrong and what to do about it. */
export type ChannelProblem = {
  readonly kind: 'problem';
  readonly code: string;
  readonly message: string;
};

export type ChannelHealth = {
  readonly state: ChannelState;
  readonly since: number;
  readonly reason: string | null;
};

/** Hands messages to the ledger; the answer is all that a channel may acknowledge by. */
export interface Accept {
  /** @param cursor where the channel is on its platform; it moves in the same commit, or not */
  (batch: readonly Inbound[], cursor?: Place): Promise<Acceptance>;
  /** How many messages there is room for now: a hint, so that a body need not be read in vain. */
  room(): number;
  /** Resolves when there is room again, or the signal aborts. */
  whenRoom(signal: AbortSignal): Promise<void>;
  /** Where the channel was, as it last said under that name; null: it never did. */
  cursor(name: string): Promise<string | null>;
}

/** `value` is the channel's own; it outlives the process where there is storage. */
export type Place = { readonly name: string; readonly value: string };

export type Acceptance =
  | { readonly kind: 'accepted'; readonly receipts: readonly Receipt[] }
  | {
      readonly kind: 'refused';
      readonly reason: 'full' | 'shutting_down' | 'storage_failed';
      readonly retryAfterMs: number;
    };

/**
 * `safe` resolves when a platform that keeps the message itself may let go of it: at once in a
 * durable ledger, when the message is settled in the memory form.
 */
export type Receipt = {
  readonly id: MessageId;
  readonly duplicate: boolean;
  readonly safe: Promise<void>;
};
