/**
 * What the ledger is made on. The ledger (`ledger.ts`) holds order, claims, room, and what follows
 * a commit; a storage writes down what happened and reads it back, and decides nothing of these.
 *
 * Writes take effect in the order in which they are asked for. `then` is called at the commit:
 * once, in the order of the commits, and before the promise resolves to true. False: it is not
 * written, and never will be; `then` is not called. Without storage all of this happens at once.
 * Nothing here throws or rejects unless its comment says so; after `close` nothing more is asked.
 */
import type { Acceptance } from '../../channels/channel.ts';
import type { AuditRow } from '../../domain/audit.ts';
import type { EarlierTurns, HistoryBounds, TurnRow } from '../../domain/conversation.ts';
import type { Failure } from '../../domain/failure.ts';
import type { ChannelKey, MessageId } from '../../domain/ids.ts';
import type { DeferredGroup, WhichDeferred } from '../../domain/records.ts';
import type { KeyCheck, Message } from '../../domain/message.ts';
import type { Note, NoteScope, NotesOf } from '../../domain/note.ts';
import type { Deferral, Reply } from '../../domain/reply.ts';
import type { ConversationKey, Whose } from '../../domain/story.ts';
import type { BegunCall, CallEnding, ToolUse } from '../../domain/tool-use.ts';
import type { Trace } from '../../domain/trace.ts';
import type { HeldConversation, Hold } from '../../domain/takeover.ts';
import type { StoredAttachments } from './attachments.ts';
import type { RunningCall } from './begun-calls.ts';
import type {
  Approvals,
  CursorMove,
  DeadLetterMove,
  Effects,
  Gauges,
  Memory,
  Durability,
  StoredFigures,
  SpendBook,
} from '../ledger.ts';
import type { InRow, MessageProgress, OutRow, Row } from './order/rows.ts';
import type { WholeInRow, WholeOutRow, WholeRow } from './order/rows.ts';
import type { CrashIsolation } from './order/crash-isolation.ts';

export interface LedgerStorage {
  readonly durability: Durability;
  /** Messages accepted and not settled, and the bytes that they and their replies hold. */
  readonly limits: Pick<Gauges, 'messagesMax' | 'bytesMax'>;
  /** Whether it can take in more. Each change is told. */
  readonly hasRoom: boolean;
  /**
   * Whether rows may be handed out. False while this process may have lost the right to work them:
   * whoever makes it true again rings for what waits.
   */
  readonly mayHandOut: boolean;
  /** Holds back what a start found suspect; null: this storage outlives no process. */
  readonly crashIsolation: CrashIsolation | null;
  readonly history: StoredHistory;
  readonly agents: StoredAgents;
  readonly attachments: StoredAttachments;
  readonly deadLetters: StoredDeadLetters;
  readonly forgetting: StoredForgetting;
  readonly figures: StoredFigures;
  /** Asked and settled by the ends of turns. */
  readonly approvals: Approvals;
  readonly spend: SpendBook;
  readonly byHand: StoredTakeovers;
  gauges(): Pick<Gauges, 'tracesDropped' | 'commitsPending'>;
  /** Called once, before all else. */
  listen(told: StorageReport): void;

  /**
   * Writes down messages and moves cursors, all or nothing. At the commit each message that has
   * not come before, and is to be worked by this process, is entered, in order. Refused with
   * `conflict` where a cursor stands elsewhere than expected: before anything is asked where
   * `order/cursors.ts` knows it, else by the storage.
   */
  accept(
    arrivals: readonly Arrival[],
    cursors: readonly CursorMove[],
    enter: Enter,
  ): Promise<Acceptance>;
  /** Whether a row can be handed out at once: its text is here, and `history.of` has an answer. */
  isReady(row: Row): row is WholeRow;
  /**
   * Makes rows ready: rows that were restored get what they say, which all others have from the
   * beginning. A change of what their conversation remembers may undo it.
   * @throws or rejects when it cannot be read: the storage has failed
   */
  read(rows: readonly Row[]): Awaitable<void>;
  turnEnded(end: TurnEnd, then: () => void): Promise<boolean>;
  /** May resolve before the commit: nothing but the next reply of the lane waits for it. */
  delivered(end: DeliveryEnd, then: () => void): Promise<boolean>;
  deferred(end: FailedDelivery & DeferredUntil, then: () => void): Promise<boolean>;
  /**
   * Replies that waited for another try are due at once, by a person's word: the try that follows
   * does not move them along their schedule, which `replayedAfter` of each has in it already.
   */
  triedNow(rows: readonly OutRow[], at: number, then: () => void): Promise<boolean>;
  /** Left out: every reply that waits for another try stands in the working set. */
  readonly deferredReplies?: StoredDeferred;
  /** @param parts later parts of the same reply, which die with it */
  buried(end: FailedDelivery, parts: readonly OutRow[], then: () => void): Promise<boolean>;
  callBegun(message: Message, call: BegunCall): Promise<boolean>;
  /** Keeps what a message is now in the place of what it was: its `preview` has come. */
  previewed(message: Message): Promise<boolean>;
  /** Nobody waits for this write. */
  callEnded(key: string, ending: CallEnding): void;
  audit(row: AuditRow): Promise<boolean>;
  /** Nobody waits for this write. @param since milliseconds since 1970; null: it is served */
  keepUnroutable(channel: ChannelKey, since: number | null): void;
  /** Resolves once all that was asked for before is written. */
  written(): Promise<boolean>;
  /** These channels are served from now on. */
  serve?(channels: readonly ChannelKey[]): void;
  /** What was accepted by others, or by this process and is worked by none: it takes up room. */
  readonly elsewhere?: { readonly messages: number; readonly bytes: number };
  /**
   * Messages of theirs that wait to be entered are not to be. Resolves when what was being read
   * just now has been entered.
   */
  unwanted?(theirs: Theirs): Promise<void>;
  /** Nothing more is to be begun: what is not in hand may be left to others. */
  drain?(): void;

  /**
   * Keeps for the next start that no message ended this process.
   * @param alone the message that ran alone just then; null: none did
   */
  noteFailure(alone: InRow | null): void;
  /**
   * Writes what was asked for, and closes. Ends also where the disk does not answer.
   * @throws where something of it stays open
   */
  close(): Promise<void>;
}

export type Awaitable<T> = T | Promise<T>;

/** What conversations remember, and the cursors of channels. */
interface StoredHistory {
  /** What it holds in memory. */
  readonly bytes: number;
  /** How much of a session is read: the widest of all brains. */
  readonly bounds: HistoryBounds;
  /** Sets it; what was read with less is read again. */
  remember(bounds: HistoryBounds): void;
  /** Of a message whose row is ready. @throws when it cannot be read: the storage has failed */
  of(message: Message): Memory;
  /** The last n turns of the newest session that has any, oldest first. */
  said(message: Message, n: number): Awaitable<readonly TurnRow[]>;
  /** The last n turns of whatever session that were accepted by then, oldest first. */
  earlier(message: Message, at: number, n: number): Awaitable<EarlierTurns>;
  /** With the moves that are on their way. */
  cursor(channel: ChannelKey, name: string): Awaitable<string | null>;
  /** Milliseconds since 1970; null: the channel is served. */
  unroutableSince(channel: ChannelKey): number | null;
}

interface StoredAgents {
  /** Oldest first. */
  notes(message: Message, scope: NoteScope): Awaitable<readonly Note[]>;
  /** The last n of the conversation, newest first. */
  toolUses(message: Message, n: number): Awaitable<readonly ToolUse[]>;
  /** What was begun for a message before this process held it, oldest first. */
  callsOf(message: Message): Awaitable<readonly RunningCall[]>;
}

/** The ledger asks these one at a time, together with those of `StoredForgetting`. */
interface StoredDeadLetters {
  readonly count: number;
  replay(id: string): Promise<DeadLetterMove>;
  discard(id: string): Promise<DeadLetterMove>;
}

/** Replies that wait for another try, whoever has them in hand. */
export interface StoredDeferred {
  groups(): Promise<readonly DeferredGroup[]>;
  find(which: WhichDeferred, most: number): Promise<readonly string[]>;
  /** They are due at once, whoever has them, or nobody. @returns false: the storage has failed */
  tryNow(ids: readonly string[]): Promise<boolean>;
}

/** Both return how many went, and reject when the storage has failed. */
interface StoredForgetting {
  forget(asked: Forgotten): Promise<number>;
  clearNotes(of: NotesOf): Promise<number>;
}

/** Conversations that an operator answers by hand. The ledger asks for one thing at a time. */
export interface StoredTakeovers {
  /** What a start found; they are by hand in the working set already. */
  readonly found: readonly HeldConversation[];
  /**
   * Writes a hold down, or its end (null). Resolves when every other process that may work the
   * conversation knows it. False: it is not written, or not known to be.
   */
  keep(where: ConversationKey, hold: Hold | null): Promise<boolean>;
  /** What ends by now is over, and need not be kept. Nobody waits for this write. */
  expired(now: number): void;
  /** The first n messages that wait; left out: they stand in the working set. */
  waiting?(where: ConversationKey, n: number): Promise<readonly WholeInRow[]>;
  /**
   * Ends messages of one conversation that nobody has claimed, in one commit. Does not wait while
   * nothing can be written.
   * @param then what follows in the working set, where they stand in this one
   */
  answered(
    ends: readonly TurnEnd[],
    then: () => void,
  ): Promise<'answered' | 'answered_already' | 'storage_failed'>;
}

/** What a storage adds to the gauges of its ledger. */
export function gaugesOf(storage: LedgerStorage) {
  return {
    ...storage.limits,
    ...storage.gauges(),
    deadLetters: storage.deadLetters.count,
    rememberedBytes: storage.history.bytes,
    suspects: storage.crashIsolation?.suspects ?? 0,
  };
}

/** What a storage tells, at any time. */
export type StorageReport = {
  /** Nothing can be written or read any more. */
  readonly failed: (error: unknown) => void;
  /** There may be more room than before, also by what others have settled. */
  readonly roomChanged: () => void;
  /**
   * An instance forgets: what of theirs is here goes from memory. Rejects when that fails.
   * @param answered ids of messages: replies to them are theirs
   */
  readonly forgetHere: (theirs: Theirs, answered: ReadonlySet<string>) => Promise<void>;
  /** A person asked elsewhere for another try of these: those that are here are due at once. */
  readonly tryHere: (ids: readonly string[]) => Promise<void>;
  /** An instance has written down a hold, or its end. */
  readonly heldHere: (where: ConversationKey, hold: Hold | null) => Promise<void>;
  /** An instance has answered these messages by hand: they leave the working set. */
  readonly answeredHere: (where: ConversationKey, ids: ReadonlySet<string>) => void;
};

/** What somebody said, or was said in a conversation, in messages with ids before this one. */
export type Theirs = { readonly whose: Whose; readonly beforeId: MessageId };

/** A message on its way into the storage. `seq` numbers all that comes to this process. */
export type Arrival = {
  readonly message: Message;
  readonly seq: number;
  /** Recognises a resend on the same channel; null: nothing does. */
  readonly dedupeKey: string | null;
  /** What else a resend must have in common; null: nothing. */
  readonly keyCheck: KeyCheck | null;
};

/** Puts a message into the working set, unless it was forgotten on its way: then it is settled. */
export type Enter = (arrival: Arrival) => MessageProgress;

export type TurnEnd = {
  readonly row: WholeInRow;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** As it was at the claim. */
  readonly memory: Memory;
  /** The message is a dead letter; null: it is answered. */
  readonly why: Failure | null;
  readonly effects: Effects | null;
  /** The replies of the effects, numbered in their order. */
  readonly replies: readonly { readonly reply: Reply; readonly seq: number }[];
  /** Those that were one message with it, and end with it, or not at all; absent: none were. */
  readonly joined?: readonly JoinedEnd[];
};

/** Whose messages it ends. */
export function idsOf({ row, joined = [] }: TurnEnd): readonly MessageId[] {
  return [row.head.id, ...joined.map((piece) => piece.row.head.id)];
}

/** The end of a message that another one's turn answered: beside its own row it changes nothing. */
export type JoinedEnd = { readonly row: WholeInRow; readonly trace: Trace | null };

/** `at`: milliseconds since 1970. */
export type DeliveryEnd = { readonly row: WholeOutRow; readonly at: number };
export type FailedDelivery = DeliveryEnd & { readonly why: Failure };
export type DeferredUntil = { readonly dueAt: number; readonly how: Deferral };

export type Forgotten = {
  readonly whose: Whose;
  /** Rows numbered from `before` on came after the request, and stay. */
  readonly before: number;
  /** The same said of messages that came to this process: ids from this one on. */
  readonly beforeId: MessageId;
  /** How many rows of theirs have gone from the working set. */
  readonly removed: number;
  /** Takes more rows of theirs away, wherever they are; a claim on such a row is lost. */
  readonly remove: (matches: (row: Row) => boolean) => void;
};
