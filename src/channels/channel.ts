/**
 * A channel is a two-way connection to one platform.
 *
 * - It acknowledges to its platform only the messages that `receive` has accepted.
 * - `deliver` never throws. `run` never outlives its signal.
 * - A channel keeps no messages of its own, orders nothing and retries no delivery.
 * - The runtime calls `open` once and then `run` once. It calls `deliver` and `showWorking` at any
 *   time between `open` and the end, many at the same time, for different conversations.
 */
import type { Address, Inbound, Message } from '../domain/message.ts';
import type { Attempt, DeliveryOutcome, Reply, ReplyPart } from '../domain/reply.ts';
import type { CompletionEnd, CompletionRequest } from '../domain/completion.ts';
import type { ChannelKey, ConversationId, MessageId } from '../domain/ids.ts';
import type { ChannelState } from '../domain/event.ts';
import type { Failure } from '../domain/failure.ts';
import type { Stop } from '../lib/stop.ts';
import type { Clock, SteadyTime } from '../lib/clock.ts';

export interface Channel {
  /**
   * Binds the listener; never waits for a platform. A problem is a boot error. `unfit`: this
   * channel alone takes no part, and its health is `failed` until a person acts.
   */
  open(): Promise<Opened | Unfit | ChannelProblem>;
  /**
   * Takes messages in until the signal aborts. If it ends earlier, the caller runs it again. A
   * channel that its platform refuses for good (a malformed token) becomes `failed` and stays until
   * the signal aborts.
   */
  run(receive: Receive, signal: AbortSignal): Promise<void>;
  /** Tries once to send one reply. */
  deliver(reply: Reply, attempt: Attempt, stop: Stop): Promise<DeliveryOutcome>;
  /**
   * Cuts a rendered text into parts that the platform takes in one message, and turns long code
   * into files. Pure. Absent: the text is never cut.
   */
  split?(text: string): readonly ReplyPart[];
  /**
   * The characters of a part as people see them, without formatting. The platform reports a part in
   * this form when someone refers to it. Pure. Absent: people see the part as it is.
   */
  plain?(part: ReplyPart): string;
  /** Shows that svc is working on an answer, until the signal aborts. Never throws. */
  showWorking?(address: Address, signal: AbortSignal): void;
  /**
   * Begins to show a reply as one growing message while the brain still writes it. Absent: the
   * channel cannot do so, or the configuration turns it off. Never throws; a failed preview does
   * not affect the reply.
   */
  preview?(shown: PreviewRequest): Preview;
  /**
   * The `replaces` value that finds the beginning of a reply, even if nobody saw whether the
   * platform made it. Null or absent: there is no such value. Pure.
   */
  begun?(question: Pick<Message, 'id' | 'address'>): string | null;
  /**
   * Reads an attachment of one of its own messages, with its own token.
   * @param file the `file` field of `Media`
   */
  fetch?(file: string, bytesMax: number, stop: Stop): Promise<FetchResult>;
  /**
   * For a channel whose client waits for the answer on its own connection: the open request of this
   * message. `deliver` sends the answer there. Null: nobody waits any more. Absent: the channel has
   * no such clients.
   */
  openRequest?(message: Pick<Message, 'conversation'>): OpenRequest | null;
  /** Sets the commands that the platform shows to people, if it shows any. Never throws. */
  publishCommands?(offered: OfferedCommands): void;
  /**
   * Whether its wire format has a field for a session that began by itself. Without one, the
   * reply's text begins with a line that reports the new session.
   */
  readonly reportsSessions: boolean;
  /**
   * How long after its first try a reply may still be tried again, in milliseconds. Absent: as long
   * as the delivery schedule lasts.
   */
  readonly deliverMsMax?: number;
  health(): ChannelHealth;
  /**
   * For channels that hold one connection to one account.
   * @returns true: the other channel, which is open, has the same token and settings. Then a new
   *   configuration keeps the other one, unless it is `failed`, and disposes this channel unopened.
   *   False: if the other one has the same account, the runtime ends its run and awaits that end
   *   before it runs this channel.
   */
  sameAs?(other: Channel): boolean;
  /**
   * The direct chat with a person: the conversation of the messages that they write there. Null:
   * the platform gives none. Never throws.
   */
  direct?(
    user: string,
    signal: AbortSignal,
  ): Promise<{ conversation: ConversationId; address: Address } | null>;
  /**
   * Asks the platform which account the token belongs to; `open` need not come first. Never throws.
   */
  identify?(signal: AbortSignal): Promise<Identity>;
  /** Releases the resources that `open` took. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A request whose client waits for the answer. No method throws. */
export interface OpenRequest {
  readonly request: CompletionRequest;
  /** Stops when the client has hung up. */
  readonly gone: Stop;
  /** The client wants to see the text grow. */
  readonly isStream: boolean;
  /** Takes the whole text so far, and sends what is new of it. */
  show(whole: string): void;
  /** Keeps the end of the turn. `deliver` sends it when its reply is committed. */
  end(end: CompletionEnd): void;
  /** Ends the request without a reply: svc stops, or the message was deleted meanwhile. */
  fail(reason: 'stopped' | 'deleted'): void;
}

/** `replaces`: the message that a former process showed for this reply, or the value of `begun`. */
export type PreviewRequest = {
  readonly address: Address;
  readonly question: MessageId;
  readonly replaces: string | null;
  /**
   * Called at once when the platform made a message, or may have made one. The argument becomes
   * `replaces` of the reply; the last call counts.
   */
  readonly made: (replaces: string) => void;
};

export interface Preview {
  /** Takes the whole text so far. The channel shows it as often as the platform's limits allow. */
  show(text: string): void;
  /** Stops showing. Resolves when no call is under way, after a few seconds at most. */
  end(): Promise<void>;
}

/**
 * `own`: every description that svc itself gives to a command. The commands of routes have
 * descriptions of the operator, and the channel keeps them. Any other command was set by somebody
 * else, and stays.
 */
export type OfferedCommands = {
  readonly commands: readonly CommandNotice[];
  readonly own: ReadonlySet<string>;
};

/** The result of reading an attachment. */
export type FetchResult =
  | { readonly kind: 'fetched'; readonly bytes: Uint8Array }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'failed'; readonly failure: Failure };

/**
 * `word` has no slash; `description` is a sentence of at most 100 characters; `takesText`: a text
 * may follow the word.
 */
export type CommandNotice = {
  readonly word: string;
  readonly description: string;
  readonly takesText: boolean;
};

export type Opened = { readonly kind: 'opened'; readonly key: ChannelKey };

/** `message` names the variable or field, the fault and the remedy. */
export type Unfit = { readonly kind: 'unfit'; readonly message: string };

/**
 * `code` is stable; `message` names the fault and the remedy; `channel` is the registered name of
 * the channel that could not open.
 */
export type ChannelProblem = {
  readonly kind: 'problem';
  readonly code: string;
  readonly message: string;
  readonly channel?: string;
};

export type ChannelHealth = {
  readonly state: ChannelState;
  readonly since: number;
  readonly reason: string | null;
  /**
   * When the platform last answered, in milliseconds since 1970: a completed poll, an answered
   * heartbeat. Null: not yet, or the channel has no such sign.
   */
  readonly lastSeenAt: number | null;
};

/**
 * `message` names the fault; it holds neither upstream text nor the token. `note` is a setting of
 * the platform that keeps messages from the bot.
 */
export type Identity =
  | { readonly kind: 'known'; readonly id: string; readonly name: string; readonly note?: string }
  | { readonly kind: 'refused' | 'unreached'; readonly message: string };

/**
 * Hands messages to the gate and the ledger. A channel acknowledges a message by this answer alone.
 */
export interface Receive {
  /**
   * @param cursor the channel's position on its platform; it moves in the same commit or not at all
   */
  (batch: readonly Inbound[], cursor?: Cursor): Promise<ReceiveResult>;
  /** How many messages there is room for now. It is a hint, which saves reading a body in vain. */
  room(): number;
  /** Resolves when there is room again, or when the signal aborts. */
  whenRoom(signal: AbortSignal): Promise<void>;
  /** Whether a route of the channel names chats now, so that it needs all ids of a chat. */
  asksForChats(): boolean;
  /** The last cursor that the channel gave under that name; null: none. */
  cursor(name: string): Promise<string | null>;
}

/** Only the channel can read `value`. It outlives the process if the ledger has storage. */
export type Cursor = { readonly name: string; readonly value: string };

/**
 * A receipt for each message of the batch. Null: the gate turned the message away, so it is done.
 */
export type ReceiveResult =
  | { readonly kind: 'accepted'; readonly receipts: readonly (Receipt | null)[] }
  | Refused;

export type Acceptance = Accepted | Refused | Conflict;

export type Accepted = { readonly kind: 'accepted'; readonly receipts: readonly Receipt[] };

export type Refused = {
  readonly kind: 'refused';
  readonly reason: 'full' | 'shutting_down' | 'storage_failed';
  readonly retryAfterMs: number;
};

/**
 * A cursor in the ledger differs from the one that the batch expects. The writer that expects one
 * reads it again; no channel does.
 */
export type Conflict = {
  readonly kind: 'refused';
  readonly reason: 'conflict';
  readonly retryAfterMs: 0;
};

/**
 * `safe` resolves when a platform that keeps messages itself may delete this one. With storage that
 * is at once; in memory it is when the message is settled.
 */
export type Receipt = {
  /** The id of the first message with this key. */
  readonly id: MessageId;
  /** An earlier message has this key, so the ledger did not take this one again. */
  readonly duplicate: boolean;
  /**
   * A different message has this key, so the ledger did not take this one. Then `duplicate` is
   * false.
   */
  readonly keyReused: boolean;
  readonly safe: Promise<void>;
};

/** A channel whose platform can name the account of a token. */
export interface Messenger extends Channel {
  identify(signal: AbortSignal): Promise<Identity>;
  /**
   * The webhook to which the platform sends this bot's messages, instead of to svc. Absent: the
   * platform has no webhooks. Never throws.
   * @param deleting deletes the webhook if there is one; messages that wait for the bot stay. The
   *   result `set` then means that the deletion failed
   */
  webhook?(signal: AbortSignal, deleting: boolean): Promise<WebhookProbe>;
}

/**
 * `host`: the host of the webhook's URL alone, since the rest may hold a secret. `unknown`: the
 * platform did not answer.
 */
export type WebhookProbe =
  | { readonly kind: 'none' | 'unknown' }
  | { readonly kind: 'set' | 'deleted'; readonly host: string };

/** The health of a channel and the time since when it lasts. It begins as `starting`. */
export class HealthState {
  readonly #clock: Clock;
  readonly #changed: (state: ChannelState, reason: string | null) => void;
  readonly #answered: () => void;
  #health: ChannelHealth;
  /** When the platform last answered; before its first answer, when the state began. */
  #answeredAt: SteadyTime;

  /**
   * @param changed called at each change of the state or of its reason
   * @param answered called each time that the platform answers
   */
  constructor(
    clock: Clock,
    changed: (state: ChannelState, reason: string | null) => void = () => {},
    answered = (): void => {},
  ) {
    this.#clock = clock;
    this.#changed = changed;
    this.#answered = answered;
    this.#health = { state: 'starting', since: clock.now(), reason: null, lastSeenAt: null };
    this.#answeredAt = clock.steady();
  }

  get health(): ChannelHealth {
    return this.#health;
  }

  /** Milliseconds since the platform last answered. */
  get silentMs(): number {
    return this.#clock.steady() - this.#answeredAt;
  }

  /**
   * `since` moves with the state alone: a new reason is the same trouble.
   * @param begunMs how long ago the state began, if the channel noticed it only now
   */
  become(state: ChannelState, reason: string | null = null, begunMs = 0): void {
    const before = this.#health;
    if (before.state === state && before.reason === reason) return;
    const since = before.state === state ? before.since : this.#clock.now() - Math.round(begunMs);
    if (before.state !== state && before.lastSeenAt === null)
      this.#answeredAt = this.#clock.steady();
    this.#health = { ...before, state, since, reason };
    this.#changed(state, reason);
  }

  /** The platform answered. */
  seen(): void {
    this.#health = { ...this.#health, lastSeenAt: this.#clock.now() };
    this.#answeredAt = this.#clock.steady();
    this.#answered();
  }
}
