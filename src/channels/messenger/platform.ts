/**
 * What the messenger needs of a chat platform. `messenger.ts` has the algorithm once: open,
 * receive, deliver, show a reply while it grows, clean up, fetch files, publish commands. A
 * platform fills `PlatformKind` with its facts, which are pure, and `Platform` with its calls. No
 * method of a `Platform` throws for an expected cause.
 *
 * `T`, the place of a call, is an address that the platform has parsed. It holds all that a reply
 * needs: the chat, and the message that the reply answers.
 *
 * The ledger stores addresses and the names of messages. So the form of either never changes.
 */
import type { FailureKind } from '../../domain/failure.ts';
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Address, Inbound } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';
import type { HttpFault } from '../../lib/http-client/exchange.ts';
import type { ChannelKind } from '../kind.ts';
import type { FetchResult, HealthState, Identity, Receive, WebhookProbe } from '../channel.ts';
import type { ButtonLimits, Rows } from './choices.ts';
import type { Menu, MenuOutcome } from './command-menu.ts';
import type { RecentQuestions } from './recent-questions.ts';

/** The result of a call. `ok`: `body` is the platform's answer. */
export type CallResult<R extends Refusal = Refusal> =
  | { readonly kind: 'ok'; readonly body: unknown }
  | R
  | CallFault;

/** The platform did not answer. `sent`: the request may have reached it. */
export type CallFault = {
  readonly kind: 'fault';
  readonly fault: HttpFault;
  readonly sent: boolean;
};

/** The platform, or a proxy before it, answered and did not do it. */
export type Refusal = {
  readonly kind: 'refused';
  readonly status: number;
  /**
   * The platform's text, for comparing and for upstream-words.ts: it goes into no log. Empty: a
   * proxy's page, or nothing.
   */
  readonly description: string;
  readonly retryAfterMs: number | null;
  /** svc sent nothing, since it knows that a limit is reached. */
  readonly unasked?: boolean;
};

/** The meaning of a refusal for a reply. `isFinal`: no later try can succeed. */
export type Meaning = {
  readonly kind: FailureKind;
  readonly isFinal: boolean;
  /** Says why in our own words. */
  readonly detail?: string | undefined;
};

/**
 * A message as `wire.ts` reads it. `run` adds the rest of an `Inbound`: the channel, the
 * `dedupeKey`, and the address with this `target`.
 */
export type Incoming = Required<Pick<Inbound, 'setting'>> &
  Pick<Inbound, 'conversation' | 'sender' | 'text' | 'media' | 'further' | 'context'> &
  Pick<Inbound, 'gather' | 'saidAt' | 'apart' | 'edits'> & { readonly target: string };

/** A message to send. A refusal can change it. `T` is the place of the platform. */
export type Outgoing<T> = {
  target: T;
  /** Markdown, or the content of the file. */
  text: string;
  file: NonNullable<Reply['file']> | null;
  /** The Markdown goes as it is, without formatting. */
  isPlain: boolean;
  buttons: Rows;
  /** It refers to the message that it answers. */
  refers: boolean;
  /** The name of the message whose text it replaces; null: it is a new message. */
  edits: string | null;
  /** A platform that recognises repeats knows a new message by it. */
  key: string;
  /** It is the beginning of a reply, which no reply may wait for. */
  readonly isPreview: boolean;
};

/** The pure facts of a platform. */
export type PlatformKind<T> = {
  readonly kind: ChannelKind & Required<Pick<ChannelKind, 'botOf'>>;
  /** The longest text of a message, in UTF-16 units. */
  readonly textUnitsMax: number;
  /** Longer code becomes a file. Infinity: the platform takes no files. */
  readonly codeCharactersMax: number;
  /** How long after its first try svc still sends a reply, in milliseconds; absent: no limit. */
  readonly deliverMsMax?: number;
  readonly buttons: ButtonLimits;
  /** The time between two calls that show "typing…", in milliseconds. */
  readonly typingEveryMs: number;
  /** The channel is degraded if the platform is silent for this long; null: `run` judges itself. */
  readonly silence: { readonly ms: number; readonly reason: (seconds: number) => string } | null;
  /** Why the token cannot be used, in one sentence. */
  malformedToken(tokenEnv: string): string;
  /** Ends that sentence where a start has to be repeated. Absent: the sentence has the remedy. */
  tokenRemedy?(tokenEnv: string): string;
  /** @returns null: svc did not write the address */
  parseTarget(address: Pick<Address, 'target'>): T | null;
  isGroup(target: T): boolean;
  /** Whether svc shows there that it works, and a reply while it grows. */
  showsWork(target: T): boolean;
  /** The key of the edited question that a reply there answers; null: it answers no edit. */
  editedQuestion(target: T): string | null;
  /** Whether the message gets eyes (`react`) when work on it begins: it was said to the bot. */
  isAcknowledged(target: T): boolean;
  readonly names: MessageNames<T>;
  /** Present if the platform recognises a repeated message by its key, for some minutes. */
  readonly repeats?: RecognisedRepeats<T>;
  /** Another program may have set a webhook, which svc has to delete. */
  readonly hasWebhooks?: true;
};

/** How the platform names a message that it has made, as text: by its place and its id there. */
export type MessageNames<T> = {
  /** @returns null: the answer holds no message */
  in(body: unknown, target: T): string | null;
  /** Whether the name is of a message in that place. False for a marked name. */
  isAt(name: string, target: T): boolean;
  /** Marks the name: a late edit may still change that message, since nobody saw the edit end. */
  unsure(name: string): string;
  /** @returns the name without its mark; null: it has none */
  sureOf(name: string): string | null;
};

export type RecognisedRepeats<T> = {
  recognises(key: string): boolean;
  /** Names a message that may exist by its key. @returns null: there can be none in that place */
  unseenName(target: T, key: string): string | null;
  /** @returns null: `unseenName` did not write this name for that place */
  keyIn(name: string, target: T): string | null;
  /** Whether the message that the platform returned shows this one already. */
  isShown(body: unknown, outgoing: Outgoing<T>): boolean;
};

/** What `run` works with. */
export type Intake<T> = {
  readonly key: ChannelKey;
  readonly receive: Receive;
  readonly health: HealthState;
  /** Null: the channel ignores edits, so `run` leaves them out. */
  readonly questions: RecentQuestions | null;
  /** Takes the call that removes the buttons of an answered question. */
  readonly bestEffort: Offers<T>;
};

export type BestEffortKind = 'reaction' | 'typing' | 'buttons';

/** Takes best-effort calls. */
export interface Offers<T> {
  /**
   * Makes the call when there is room that no reply needs. Never rejects.
   * @returns null: the call was dropped
   */
  offer(
    kind: BestEffortKind,
    target: T,
    call: () => Promise<CallResult>,
    signal: AbortSignal,
  ): Promise<CallResult | null>;
}

export interface Platform<T, R extends Refusal = Refusal> {
  /**
   * Takes messages in until the signal aborts. To do for each batch:
   *
   * - Before it asks for one, it awaits `receive.whenRoom`.
   * - It gives a press the text of its button, if `isPressable` (choices.ts) allows it.
   * - It leaves out each message that `questions.admits` refuses, and gives each receipt to
   *   `questions.noteReceipt`. A press is no question, so it does neither.
   * - If `receive` refuses the batch, it waits for `retryAfterMs` and gives the batch again.
   * - It lets the platform forget a message once `safe` of its receipt has resolved.
   *
   * It sets the health: `up` after each answer, with `health.seen`; `degraded` while it tries
   * again; `failed` if the platform refuses the token. Then it stays until the signal aborts.
   */
  run(intake: Intake<T>, signal: AbortSignal): Promise<void>;
  /** A `ChatRoom` (rate-limits.ts) if each chat of the platform has a limit of its own. */
  readonly room: Room<T>;
  /** Sends a new message. */
  send(outgoing: Outgoing<T>, signal: AbortSignal): Promise<CallResult<R>>;
  /** Edits the message `name`. */
  edit(name: string, outgoing: Outgoing<T>, signal: AbortSignal): Promise<CallResult<R>>;
  remove(name: string, signal: AbortSignal): Promise<CallResult<R>>;
  /** Whether the refusal is about the file: then its content goes as text. Absent: it never is. */
  refusesFile?(refusal: R): boolean;
  /**
   * Takes out what the platform refused. Absent: there is no such refusal.
   * @returns whether another try may help
   */
  repair?(outgoing: Outgoing<T>, refusal: R): boolean;
  /** Null or absent: the usual meaning of its status. */
  meaningOf?(refusal: R): Meaning | null;
  /**
   * Completes an answer that the platform waits for with the reply.
   * @returns null: the reply goes as a message
   */
  complete?(outgoing: Outgoing<T>, signal: AbortSignal): Promise<CallResult<R> | null>;
  /** Shows the beginning of a reply as a draft. @returns null: that place has no drafts */
  draft?(target: T, question: string): DraftPreview | null;
  showTyping(target: T, signal: AbortSignal): Promise<CallResult>;
  /** Puts eyes on the acknowledged message. */
  react(target: T, signal: AbortSignal): Promise<CallResult>;
  /** The text as people see it. Absent: as it is. */
  plain?(text: string): string;
  /**
   * Where an attachment is now. Absent: no message of the platform has a `file`.
   * @param file the `file` field of `Media`
   */
  locate?(file: string, bytesMax: number, signal: AbortSignal): Promise<URL | FetchResult>;
  publishCommands(menu: Menu, signal: AbortSignal): Promise<MenuOutcome>;
  /** The direct chat with a person. Null or absent: there is none. */
  direct?(user: string, signal: AbortSignal): Promise<DirectChat | null>;
  identify(signal: AbortSignal): Promise<Identity>;
  /** Present if the kind `hasWebhooks`: see `Messenger`. */
  webhook?(signal: AbortSignal, deleting: boolean): Promise<WebhookProbe>;
  close?(): void;
}

export type DirectChat = { readonly conversation: ConversationId; readonly target: string };

/** A draft that grows. It is gone when the reply arrives, or by itself. */
export type DraftPreview = {
  readonly everyMs: number;
  /** After this time without a call the platform drops the draft. */
  readonly repeatMs: number;
  put(text: string, signal: AbortSignal): Promise<CallResult>;
};

/** `later`: `ms` milliseconds must pass first. */
export type Admission =
  | { readonly kind: 'go' | 'stopped' }
  | { readonly kind: 'later'; readonly ms: number };

/**
 * The kinds of best-effort calls. `notice`: "typing…" or eyes, which count as no message of their
 * chat. `draft`: counts as no message at all.
 */
export type Spare = 'message' | 'notice' | 'draft';

/** The room under the rate limits of a platform. `T` is the place of a call. */
export interface Room<T> {
  /**
   * Set if a 429 limits the place of its call alone. Absent: it limits its kind of call everywhere.
   */
  readonly isOfPlaces?: true;
  /**
   * Resolves with `go` when one message may be sent there.
   * @param waitMsMax the longest wait for the place, in milliseconds; absent: moments
   */
  admit(target: T, signal: AbortSignal, waitMsMax?: number): Promise<Admission>;
  /**
   * Takes room that no reply needs, for a best-effort call. Calls go in the order of asking, as far
   * as their places have room. One place stays free for a reply, and every waiting reply goes
   * first.
   * @param kind absent: a message
   * @param isFirst whether this is the first preview of a reply, which goes before all other
   *   best-effort calls
   * @returns false: the signal aborted first
   */
  spare(target: T, signal: AbortSignal, kind?: Spare, isFirst?: boolean): Promise<boolean>;
  /** The platform asked for a pause; svc sends nothing during it. */
  pauseFor(ms: number): void;
}
