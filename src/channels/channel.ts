/**
 * A channel is a two-way connection to one platform.
 *
 * What it promises: it acknowledges to its platform only what `accept` has accepted; it never
 * throws out of `deliver`; it never outlives the signal given to `run`.
 * What it may not do: keep messages of its own, order anything, retry a delivery.
 * Who calls it: `open` once; then `run` once; `deliver` and `working` at any time between `open`
 * and the end, many at the same time, for different conversations.
 */
import type { Address, Inbound, Message } from '../domain/message.ts';
import type { Attempt, DeliveryOutcome, Reply, ReplyPart } from '../domain/reply.ts';
import type { ChannelKey, ConversationId, MessageId } from '../domain/ids.ts';
import type { ChannelState } from '../domain/event.ts';
import type { Failure } from '../domain/failure.ts';
import type { Stop } from '../lib/stop.ts';
import type { Clock, SteadyTime } from '../lib/clock.ts';

export interface Channel {
  /**
   * Binds the listener; never waits for a platform. A problem is a boot error. `unfit`: this
   * channel alone takes no part; it tells its health as `failed` until a person acts.
   */
  open(): Promise<Opened | Unfit | ChannelProblem>;
  /**
   * Takes messages in until the signal aborts. An earlier end means: restart me. A channel that its
   * platform refuses for good (a token that is no token) becomes `failed` and stays until the
   * signal aborts.
   */
  run(receive: Receive, signal: AbortSignal): Promise<void>;
  /** One try to send one reply. */
  deliver(reply: Reply, attempt: Attempt, stop: Stop): Promise<DeliveryOutcome>;
  /**
   * Cuts a rendered text into what the platform takes at once, and takes long code out as files.
   * Pure. Absent: never cut.
   */
  split?(text: string): readonly ReplyPart[];
  /**
   * The characters of a part as people see them there, and as the platform tells them when someone
   * refers to it: without what formats them. Pure. Absent: the part as it is.
   */
  plain?(part: ReplyPart): string;
  /** Shows that an answer is being worked on, until the signal aborts. Never throws. */
  working?(address: Address, signal: AbortSignal): void;
  /**
   * Begins to show a reply that is still being written, as one message that grows. Absent: it
   * cannot, or is not to. Never throws; whatever goes wrong in it costs the reply nothing.
   */
  preview?(shown: Previewed): Preview;
  /**
   * What finds a beginning of which nobody knows whether it was made: `replaces` of the reply. Null
   * or absent: nothing does. Pure.
   */
  begun?(question: Pick<Message, 'id' | 'address'>): string | null;
  /**
   * Reads an attachment of a message of its own, with its own token.
   * @param file as it stands in `Media`
   */
  fetch?(file: string, bytesMax: number, stop: Stop): Promise<Fetched>;
  /** What people may write as commands here, as far as the platform shows them. Never throws. */
  offer?(offered: OfferedCommands): void;
  /**
   * Whether its wire has a field that tells that a session began by itself. Where it has none, the
   * reply's text begins with a line that says so.
   */
  readonly tellsSessions: boolean;
  /** How long after its first try a reply is tried again at most. Absent: the whole schedule. */
  readonly deliverMsMax?: number;
  health(): ChannelHealth;
  /**
   * On channels that hold one connection to one account. True: the other channel, which is open,
   * has the same token and settings. Then a new configuration keeps the other, unless it is
   * `failed`, and disposes this channel unopened. False: where the other has the same key, its run
   * is ended and awaited before the run of this channel begins.
   */
  sameAs?(other: Channel): boolean;
  /**
   * The person's own direct chat: its conversation is that of a message which they write there.
   * Null where the platform gives none. Never throws.
   */
  direct?(
    user: string,
    signal: AbortSignal,
  ): Promise<{ conversation: ConversationId; address: Address } | null>;
  /** Asks the platform whose token this is, before `open` or without it. Never throws. */
  identify?(signal: AbortSignal): Promise<Identity>;
  /** Gives back what `open` took. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** `replaces`: the message that shows it from before this process, or what `begun` says. */
export type Previewed = {
  readonly address: Address;
  readonly question: MessageId;
  readonly replaces: string | null;
  /**
   * Called at once when a message was made, or may have been: `replaces` of the reply. What it is
   * told last counts.
   */
  readonly made: (replaces: string) => void;
};

export interface Preview {
  /** The whole text so far. It is shown as often as the platform's limits allow. */
  show(text: string): void;
  /** Nothing more is shown. Resolves when nothing is on its way any more, a few seconds at most. */
  end(): Promise<void>;
}

/**
 * `own`: every description that svc gives a command. What is described in another way was set by
 * somebody else, and stays.
 */
export type OfferedCommands = {
  readonly commands: readonly CommandNotice[];
  readonly own: ReadonlySet<string>;
};

/** What became of an attachment. */
export type Fetched =
  | { readonly kind: 'fetched'; readonly bytes: Uint8Array }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'failed'; readonly failure: Failure };

/**
 * `word` has no slash; `description` is a sentence of 100 characters at most; `takesText`:
 * something may stand behind the word.
 */
export type CommandNotice = {
  readonly word: string;
  readonly description: string;
  readonly takesText: boolean;
};

export type Opened = { readonly kind: 'opened'; readonly key: ChannelKey };

/** `message` names the variable or field, and says what is wrong and what to do about it. */
export type Unfit = { readonly kind: 'unfit'; readonly message: string };

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
  /**
   * When the platform was last heard of, milliseconds since 1970: a completed poll, an answered
   * heartbeat. Null: not yet, or the channel has no such sign.
   */
  readonly lastSeenAt: number | null;
};

/** `message` says what is wrong; upstream text and the token are no part of it. */
export type Identity =
  | { readonly kind: 'known'; readonly id: string; readonly name: string }
  | { readonly kind: 'refused' | 'unreached'; readonly message: string };

/** Hands messages to the gate and the ledger; a channel acknowledges by the answer alone. */
export interface Receive {
  /** @param cursor where the channel is on its platform; it moves in the same commit, or not */
  (batch: readonly Inbound[], cursor?: Cursor): Promise<Handled>;
  /** How many messages there is room for now: a hint, so that a body need not be read in vain. */
  room(): number;
  /** Resolves when there is room again, or the signal aborts. */
  whenRoom(signal: AbortSignal): Promise<void>;
  /** Where the channel was, as it last said under that name; null: it never did. */
  cursor(name: string): Promise<string | null>;
}

/** `value` is the channel's own; it outlives the process where there is storage. */
export type Cursor = { readonly name: string; readonly value: string };

/** A receipt for each message of the batch; null: the gate kept it away, so it is handled. */
export type Handled =
  | { readonly kind: 'accepted'; readonly receipts: readonly (Receipt | null)[] }
  | Refused;

export type Acceptance = Accepted | Refused | Conflict;

export type Accepted = { readonly kind: 'accepted'; readonly receipts: readonly Receipt[] };

export type Refused = {
  readonly kind: 'refused';
  readonly reason: 'full' | 'shutting_down' | 'storage_failed';
  readonly retryAfterMs: number;
};

/** A cursor stood elsewhere than the batch expects. Whoever expects reads it again; no channel. */
export type Conflict = {
  readonly kind: 'refused';
  readonly reason: 'conflict';
  readonly retryAfterMs: 0;
};

/**
 * `safe` resolves when a platform that keeps the message itself may let go of it: at once in a
 * durable ledger, when the message is settled in the memory form.
 */
export type Receipt = {
  /** Of the message that came first with this key. */
  readonly id: MessageId;
  /** It came before with this key, and is not taken again. */
  readonly duplicate: boolean;
  /** Another message came before with this key: this one is not taken. No `duplicate` then. */
  readonly keyReused: boolean;
  readonly safe: Promise<void>;
};

/** A channel whose platform tells whose token it is. */
export interface Messenger extends Channel {
  identify(signal: AbortSignal): Promise<Identity>;
  /**
   * Where the platform has been told to bring this bot's messages to, instead of to svc. Absent: it
   * knows no such thing. Never throws.
   * @param deleting it is taken away, where there is one; what waits for the bot goes on waiting.
   *   `set` then: that failed
   */
  webhook?(signal: AbortSignal, deleting: boolean): Promise<WebhookSeen>;
}

/** `host` of its URL alone, since the rest may hold a secret. `unknown`: it could not be asked. */
export type WebhookSeen =
  | { readonly kind: 'none' | 'unknown' }
  | { readonly kind: 'set' | 'deleted'; readonly host: string };

/** How a channel stands, and since when: it begins as `starting`. */
export class HealthState {
  readonly #clock: Clock;
  readonly #changed: (state: ChannelState, reason: string | null) => void;
  readonly #heard: () => void;
  #health: ChannelHealth;
  /** When the platform was last heard of; before that, when the state began. */
  #heardAt: SteadyTime;

  /**
   * @param changed told of each change of the state or of its reason
   * @param heard told each time that the platform is heard of
   */
  constructor(
    clock: Clock,
    changed: (state: ChannelState, reason: string | null) => void = () => {},
    heard = (): void => {},
  ) {
    this.#clock = clock;
    this.#changed = changed;
    this.#heard = heard;
    this.#health = { state: 'starting', since: clock.now(), reason: null, lastSeenAt: null };
    this.#heardAt = clock.steady();
  }

  get health(): ChannelHealth {
    return this.#health;
  }

  /** For how many milliseconds the platform was not heard of. */
  get silentMs(): number {
    return this.#clock.steady() - this.#heardAt;
  }

  /**
   * `since` moves with the state alone: a new reason is the same trouble.
   * @param begunMs how long ago it began, where that was found out only now
   */
  become(state: ChannelState, reason: string | null = null, begunMs = 0): void {
    const before = this.#health;
    if (before.state === state && before.reason === reason) return;
    const since = before.state === state ? before.since : this.#clock.now() - Math.round(begunMs);
    if (before.state !== state && before.lastSeenAt === null) this.#heardAt = this.#clock.steady();
    this.#health = { ...before, state, since, reason };
    this.#changed(state, reason);
  }

  /** The platform was heard of. */
  seen(): void {
    this.#health = { ...this.#health, lastSeenAt: this.#clock.now() };
    this.#heardAt = this.#clock.steady();
    this.#heard();
  }
}
