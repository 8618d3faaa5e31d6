/**
 * The contract of a storage. The ledger (`ledger.ts`) decides order, claims, room and the effects
 * of a commit. A storage only writes what happened and reads it back.
 *
 * Writes take effect in the order of the calls. `then` is called at the commit: once, in commit
 * order, and before the promise resolves to true. False means that it is not written and never will
 * be; then `then` is not called. Without storage all of this happens at once. Nothing here throws
 * or rejects unless its comment says so. After `close` the ledger calls nothing more.
 */
import type { Acceptance } from '../../channels/channel.ts';
import type { Attachment } from '../../domain/attachment.ts';
import type { AuditRow } from '../../domain/audit.ts';
import type { EarlierTurns, HistoryBounds, TurnRow } from '../../domain/conversation.ts';
import type { Failure } from '../../domain/failure.ts';
import type { ChannelKey, IdSource, MessageId } from '../../domain/ids.ts';
import type { KeyCheck, Message } from '../../domain/message.ts';
import type { Note, NoteScope, NotesOf } from '../../domain/note.ts';
import type { DeferredGroup, WhichDeferred } from '../../domain/records.ts';
import type { Deferral, Reply } from '../../domain/reply.ts';
import type { ConversationKey, MessageOwner } from '../../domain/story.ts';
import type { TakenOverConversation, TakeoverTimes } from '../../domain/takeover.ts';
import type { BegunCall, CallEnding, ToolUse } from '../../domain/tool-use.ts';
import type { Trace } from '../../domain/trace.ts';
import type { Clock } from '../../lib/clock.ts';
import type {
  Approvals,
  CursorMove,
  DeadLetterMove,
  Effects,
  Gauges,
  KeptPicture,
  LedgerNews,
  Memory,
  Durability,
  StoredFigures,
  SpendBook,
} from '../ledger.ts';
import type { CrashIsolation } from './crash-isolation.ts';
import type {
  InRow,
  MessageProgress,
  OutRow,
  Row,
  WholeInRow,
  WholeOutRow,
  WholeRow,
} from './queue.ts';
import type { WorkingSet } from './working-set.ts';

export interface LedgerStorage {
  readonly durability: Durability;
  /** The most unsettled messages, and the most bytes that they and their replies may hold. */
  readonly limits: Pick<Gauges, 'messagesMax' | 'bytesMax'>;
  /** Whether it can accept more. `roomChanged` reports each change. */
  readonly hasRoom: boolean;
  /**
   * Whether rows may be handed out. It is false while this process may have lost the right to work
   * them. The code that makes it true again notifies the workers.
   */
  readonly mayHandOut: boolean;
  /**
   * Holds back the suspected messages of a start; null: nothing in this storage outlives the
   * process.
   */
  readonly crashIsolation: CrashIsolation | null;
  readonly history: StoredHistory;
  readonly agents: StoredAgents;
  readonly attachments: StoredAttachments;
  readonly deadLetters: StoredDeadLetters;
  readonly forgetting: StoredForgetting;
  readonly figures: StoredFigures;
  /** Approvals are written and settled at the end of turns. */
  readonly approvals: Approvals;
  readonly spend: SpendBook;
  readonly takeovers: StoredTakeovers;
  gauges(): Pick<Gauges, 'tracesDropped' | 'commitsPending'>;
  /** Called once, before everything else. */
  listen(report: StorageReport): void;

  /**
   * Writes messages and moves cursors, all or nothing. At the commit it calls `enter` for each
   * message that is new and that this process is to work, in order. Answers `conflict` if a cursor
   * stands elsewhere than expected. `cursors.ts` finds that out first if it can, else the
   * storage does.
   */
  accept(
    arrivals: readonly Arrival[],
    cursors: readonly CursorMove[],
    enter: Enter,
  ): Promise<Acceptance>;
  /**
   * Whether a row can be handed out at once: its text is in memory, and `history.of` has an answer.
   */
  isReady(row: Row): row is WholeRow;
  /**
   * Makes rows ready by reading the texts of restored rows. All other rows have their text from the
   * beginning. A row may stop being ready when the memory of its conversation changes.
   * @throws or rejects when it cannot be read: the storage has failed
   */
  read(rows: readonly Row[]): Awaitable<void>;
  turnEnded(end: TurnEnd, then: () => void): Promise<boolean>;
  /** May resolve before the commit: only the next reply of the queue waits for it. */
  delivered(end: DeliveryEnd, then: () => void): Promise<boolean>;
  deferred(end: FailedDelivery & DeferredUntil, then: () => void): Promise<boolean>;
  /**
   * Makes deferred replies due at once, for an operator. The attempt that follows does not move
   * them along their schedule. `replayedAfter` of each row counts it already.
   */
  triedNow(rows: readonly OutRow[], at: number, then: () => void): Promise<boolean>;
  /** Left out: the working set holds every deferred reply. */
  readonly deferredReplies?: StoredDeferred;
  /** @param parts later parts of the same reply, which become dead letters with it */
  buried(end: FailedDelivery, parts: readonly OutRow[], then: () => void): Promise<boolean>;
  callBegun(message: Message, call: BegunCall): Promise<boolean>;
  /** Replaces the stored message, because its `preview` was added. */
  previewed(message: Message): Promise<boolean>;
  /** The caller does not wait for this write. */
  callEnded(key: string, ending: CallEnding): void;
  audit(row: AuditRow): Promise<boolean>;
  /**
   * The caller does not wait for this write. @param since milliseconds since 1970; null: it is
   * served
   */
  keepUnroutable(channel: ChannelKey, since: number | null): void;
  /** Resolves once everything asked for before is written. */
  written(): Promise<boolean>;
  /** These channels are served from now on. */
  serve?(channels: readonly ChannelKey[]): void;
  /**
   * The room taken by messages that other processes accepted, or that this process accepted and no
   * process works.
   */
  readonly elsewhere?: { readonly messages: number; readonly bytes: number };
  /**
   * Keeps their messages that wait to enter the working set out of it. Resolves when the messages
   * being read just now have entered.
   */
  unwanted?(theirs: OthersRows): Promise<void>;
  /** Begin no more work: other processes may take what this one does not have in hand. */
  drain?(): void;

  /**
   * Writes for the next start that no message ended this process.
   * @param alone the message that runs alone now; null: none does
   */
  noteFailure(alone: InRow | null): void;
  /**
   * Writes everything asked for, and closes. It ends even if the disk does not answer.
   * @throws when a resource stays open
   */
  close(): Promise<void>;
}

export type Awaitable<T> = T | Promise<T>;

/** The memory of conversations, and the cursors of channels. */
interface StoredHistory {
  /** How many bytes it holds in memory. */
  readonly bytes: number;
  /** How much of a session is read: the widest bounds of all brains. */
  readonly bounds: HistoryBounds;
  /** Sets `bounds`. Histories that were read with smaller bounds are read again. */
  remember(bounds: HistoryBounds): void;
  /**
   * The memory for a message whose row is ready. @throws when it cannot be read: the storage has
   * failed
   */
  of(message: Message): Memory;
  /** The last n turns of the newest session that has turns, oldest first. */
  said(message: Message, n: number): Awaitable<readonly TurnRow[]>;
  /** The last n turns of any session whose messages were accepted by `at`, oldest first. */
  earlier(message: Message, at: number, n: number): Awaitable<EarlierTurns>;
  /** The brain of the last unanswered turn whose message was accepted at `at`; null: not known. */
  brainOfTurn(message: Message, at: number): Awaitable<string | null>;
  /** The position of a cursor, with the moves on their way. */
  cursor(channel: ChannelKey, name: string): Awaitable<string | null>;
  /** Milliseconds since 1970; null: the channel is served. */
  unroutableSince(channel: ChannelKey): number | null;
}

interface StoredAgents {
  /** Oldest first. */
  notes(message: Message, scope: NoteScope): Awaitable<readonly Note[]>;
  /** The last n of the conversation, newest first. */
  toolUses(message: Message, n: number): Awaitable<readonly ToolUse[]>;
  /** The calls begun for a message before this process held it, oldest first. */
  callsOf(message: Message): Awaitable<readonly RunningCall[]>;
}

/** A call that a message's turn has begun, in this run or an earlier one. */
export type RunningCall = Pick<BegunCall, 'key' | 'hash' | 'tool' | 'arguments' | 'sensitivity'> & {
  /** How it ended; null: svc did not see its end. */
  readonly ending: CallEnding | null;
};

/** Reads and writes what was read of attachments. Reads reject when the storage has failed. */
export interface StoredAttachments {
  /** Never waits for a storage that cannot write. Keeps nothing for a message that is gone. */
  keep(message: Message, attachments: readonly Attachment[]): Promise<boolean>;
  of(message: Message): Awaitable<readonly Attachment[]>;
  acceptedAt(message: Message, at: number): Awaitable<readonly (readonly Attachment[])[]>;
  picturesSince(message: Message, since: number, n: number): Awaitable<readonly KeptPicture[]>;
}

/** Dead letters. The ledger calls these methods, and those of `StoredForgetting`, one at a time. */
interface StoredDeadLetters {
  readonly count: number;
  replay(id: string): Promise<DeadLetterMove>;
  discard(id: string): Promise<DeadLetterMove>;
}

/** Deferred replies, whichever process holds them. */
export interface StoredDeferred {
  groups(): Promise<readonly DeferredGroup[]>;
  find(which: WhichDeferred, most: number): Promise<readonly string[]>;
  /**
   * Makes them due at once, whichever process holds them, if any. @returns false: the storage has
   * failed
   */
  tryNow(ids: readonly string[]): Promise<boolean>;
}

/** Both resolve to the number of rows deleted, and reject when the storage has failed. */
interface StoredForgetting {
  forget(asked: Forgotten): Promise<number>;
  clearNotes(of: NotesOf): Promise<number>;
}

/** Taken-over conversations. The ledger makes one call at a time. */
export interface StoredTakeovers {
  /** The takeovers that a start found. The working set knows them already. */
  readonly found: readonly TakenOverConversation[];
  /**
   * Writes a takeover, or its end (null). Resolves when every process that may work the
   * conversation knows it. False: it is not written, or that is not known.
   */
  keep(where: ConversationKey, hold: TakeoverTimes | null): Promise<boolean>;
  /**
   * Takeovers that end by `now` are over, and need not be kept. The caller does not wait for this
   * write.
   */
  expired(now: number): void;
  /** The first n waiting messages; left out: they are in the working set. */
  waiting?(where: ConversationKey, n: number): Promise<readonly WholeInRow[]>;
  /**
   * Ends unclaimed messages of one conversation in one commit. Never waits for a storage that
   * cannot write.
   * @param then changes the working set, if these messages are in it
   */
  answered(
    ends: readonly TurnEnd[],
    then: () => void,
  ): Promise<'answered' | 'answered_already' | 'storage_failed'>;
}

/** The ledger owns its storage and closes it. `rows`: the rows that the start found in it. */
export type LedgerDeps = Clock & {
  readonly ids: IdSource;
  readonly rows: WorkingSet;
  readonly storage: LedgerStorage;
  readonly news: LedgerNews;
  /**
   * Called once when the storage has failed for good; the ledger refuses everything afterwards.
   */
  readonly onFault?: (error: unknown) => void;
};

/** The reports that a storage makes, at any time. */
export type StorageReport = {
  /** Nothing can be written or read any more. */
  readonly failed: (error: unknown) => void;
  /** There may be more room, also because other processes settled messages. */
  readonly roomChanged: () => void;
  /**
   * A process forgets somebody: removes their rows from this memory. Rejects when that fails.
   * @param answered ids of messages; replies to them are removed too
   */
  readonly forgetHere: (theirs: OthersRows, answered: ReadonlySet<string>) => Promise<void>;
  /**
   * An operator asked another process to try these replies. The replies that are here are due at
   * once.
   */
  readonly tryHere: (ids: readonly string[]) => Promise<void>;
  /** A process has written a takeover, or its end. */
  readonly heldHere: (where: ConversationKey, hold: TakeoverTimes | null) => Promise<void>;
  /** An operator answered these messages through another process: they leave the working set. */
  readonly answeredHere: (where: ConversationKey, ids: ReadonlySet<string>) => void;
};

/**
 * The messages of a person or a conversation with smaller ids than this one, and the replies to
 * them.
 */
export type OthersRows = { readonly whose: MessageOwner; readonly beforeId: MessageId };

/** A message on its way into the storage. `seq` numbers all rows that come to this process. */
export type Arrival = {
  readonly message: Message;
  readonly seq: number;
  /** Recognises a resend on the same channel; null: nothing does. */
  readonly dedupeKey: string | null;
  /** What else a resend must have in common; null: nothing. */
  readonly keyCheck: KeyCheck | null;
};

/**
 * Puts a message into the working set. A message that was forgotten on its way is not put in, and
 * counts as settled.
 */
export type Enter = (arrival: Arrival) => MessageProgress;

export type TurnEnd = {
  readonly row: WholeInRow;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The memory at the claim. */
  readonly memory: Memory;
  /** The reason of a dead letter; null: the message is answered. */
  readonly why: Failure | null;
  readonly effects: Effects | null;
  /** The replies of the effects, numbered in their order. */
  readonly replies: readonly { readonly reply: Reply; readonly seq: number }[];
  /**
   * The ends of the messages merged into this one. They take effect with it or not at all; absent:
   * none.
   */
  readonly joined?: readonly JoinedEnd[];
};

/** The ids of the messages that it ends. */
export function idsOf({ row, joined = [] }: TurnEnd): readonly MessageId[] {
  return [row.head.id, ...joined.map((other) => other.row.head.id)];
}

/** The end of a message that was merged into another. It changes only its own row. */
export type JoinedEnd = { readonly row: WholeInRow; readonly trace: Trace | null };

/** `at`: milliseconds since 1970. */
export type DeliveryEnd = { readonly row: WholeOutRow; readonly at: number };
export type FailedDelivery = DeliveryEnd & { readonly why: Failure };
export type DeferredUntil = { readonly dueAt: number; readonly how: Deferral };

export type Forgotten = {
  readonly whose: MessageOwner;
  /** Rows with this number or a higher one came after the request, and stay. */
  readonly before: number;
  /** The same for messages that came to this process: this id and higher ones stay. */
  readonly beforeId: MessageId;
  /** How many of their rows the working set has removed. */
  readonly removed: number;
  /** Removes more of their rows, in any state. A claim on such a row is lost. */
  readonly remove: (matches: (row: Row) => boolean) => void;
};
