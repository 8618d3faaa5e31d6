/**
 * The ledger: where messages and replies are until settled, and what a conversation remembers.
 *
 * It is the one place that knows order. Within a conversation (channel + conversation id) one
 * message is worked at a time, in the order in which it was accepted; the next is offered only
 * after the commit of the one before. Replies of a conversation go out one at a time in the order
 * they were made, except that a parked one no longer holds up those behind it.
 *
 * A row's life, inbox:  waiting → claimed → done | dead;  claimed → waiting (release).
 * A row's life, outbox: waiting → claimed → delivered | dead;  claimed → deferred → waiting.
 * A dead letter comes back only by a person's word: dead → waiting (replay), or goes (discard).
 *
 * Forms: memory (nothing outlives the process), SQLite and PostgreSQL (what was accepted survives
 * power cuts): one ledger (`engine/engine.ts`) over a storage (`engine/storage.ts`).
 * All are safe to call from anywhere at any time; nothing here throws for an expected cause. After
 * its end a ledger takes in and hands out nothing, no claim holds, what a person asks is
 * `storage_failed` or false, and `cursor`, `forget`, `clearNotes` and reads of approvals reject.
 * A claim ends exactly once, by complete, delivered, defer, release or bury. `false` from one of
 * them means that the claim was already ended or lost, and that nothing was changed. A claim is
 * lost when what it is on, or a piece of it, is taken away, or held: its `stop` is stopped.
 */
import type { Acceptance } from '../channels/channel.ts';
import type { Approval, ApprovalId } from '../domain/approval.ts';
import type { EarlierTurns, HistoryBounds, QuotedBlock } from '../domain/conversation.ts';
import type { Session, SessionMove, TurnRow } from '../domain/conversation.ts';
import type { WindowStart, WindowStarts } from '../domain/conversation.ts';
import type { Box } from '../domain/event.ts';
import type { Failure } from '../domain/failure.ts';
import type { ChannelKey } from '../domain/ids.ts';
import type { Inbound, Message } from '../domain/message.ts';
import type { Note, NoteMove, NoteScope, NotesOf, NoteText } from '../domain/note.ts';
import type { Page, PageAsked } from '../domain/page.ts';
import type { Deferral, Reply } from '../domain/reply.ts';
import type {
  ConversationKey,
  ConversationRow,
  ConversationText,
  DeadLetter,
  DeadLetterReason,
  DeadLetterText,
  Story,
  StoryText,
  TurnText,
  UnsentAnswer,
  Whose,
} from '../domain/story.ts';
import type {
  ToolUseWithResult,
  ToolOutcome,
  ToolUse,
  ToolUseRow,
  ToolUseText,
} from '../domain/tool-use.ts';
import type { Trace } from '../domain/trace.ts';
import type { Stopper } from '../lib/stop.ts';
import type { Approvals, ApprovalsReader } from './approvals.ts';
import type { KeptAttachments } from './attachments.ts';
import type { Takeovers } from './takeover.ts';
import type { CallLog } from './call-log.ts';
import type { FiguresReader, StoredFigures } from './figures.ts';
import type { DeferredReplies } from './deferred.ts';
import type { ChannelBacklog, Gauges } from './gauges.ts';
import type { Previews } from './previews.ts';
import type { AuditTrail, RecordsReader } from './records.ts';
import type { SearchReader } from './search/search.ts';
import type { SpendBook, SpendReader } from './spend.ts';

export interface Ledger extends AuditTrail {
  /** What the ledger promises to those who hand it messages. */
  readonly durability: Durability;
  readonly figures: StoredFigures;
  /** Calls of tools that wait for a person's yes. */
  readonly approvals: Approvals;
  readonly spend: SpendBook;
  /**
   * Dedupes by channel, key and key check. The cursors move in the same commit. All or nothing.
   * `conflict`: a cursor stands elsewhere than its move expects it, moves on their way included.
   */
  accept(batch: readonly Inbound[], ...cursors: readonly CursorMove[]): Promise<Acceptance>;
  /** Room left before `accept` refuses. A hint: accept has the last word. */
  room(): { readonly messages: number; readonly bytes: number };
  /** Resolves when there is room again, or the signal aborts. */
  whenRoom(signal: AbortSignal): Promise<void>;
  /**
   * Takes up to n heads of idle conversations of that channel that can start now, oldest first.
   * Ask only for what can start at once.
   */
  claim(box: 'in', channel: ChannelKey, n: number): Promise<readonly InClaim[]>;
  claim(box: 'out', channel: ChannelKey, n: number): Promise<readonly OutClaim[]>;
  /** Everything a finished turn changes, in one commit. */
  complete(claim: InClaim, effects: Effects): Promise<boolean>;
  delivered(claim: OutClaim): Promise<boolean>;
  /**
   * To be tried again at `at` (milliseconds since 1970); counts as an attempt.
   * @param how `park`: from now on it holds up nothing behind it and is marked late;
   *   `possibleDuplicate`: the try may have arrived
   */
  defer(claim: OutClaim, at: number, why: Failure, how: Deferral): Promise<boolean>;
  /**
   * Given back untouched (drain, reload): not an attempt, and first in its lane again. Nothing is
   * written down.
   * @param at before which a reply is not handed out again (milliseconds since 1970)
   */
  release(claim: Claim, at?: number): Promise<void>;
  /** Makes a dead letter. For a message, `effects` may hold the sentence its sender gets. */
  bury(claim: Claim, why: Failure, effects?: Effects): Promise<boolean>;
  /** Where it will stand once what was accepted so far is written: what a move may expect. */
  cursor(channel: ChannelKey, name: string): Promise<string | null>;
  /**
   * The last n turns of the newest session that has any, oldest first; what was recalled into a
   * session is no turn of it. Only while the claim holds.
   */
  recall(claim: InClaim, n: number): Promise<readonly TurnRow[]>;
  /** The last n turns, of whatever session, whose messages were accepted by then; oldest first. */
  earlier(claim: InClaim, at: number, n: number): Promise<EarlierTurns>;
  /** The notes of that scope, oldest first. Only while the claim holds; none without storage. */
  notes(claim: InClaim, scope: NoteScope): Promise<readonly Note[]>;
  /** The last of the conversation, newest first. */
  toolUses(claim: InClaim, n: number): Promise<readonly ToolUse[]>;
  /** Calls of tools that change something elsewhere, which are not repeated silently. */
  readonly calls: CallLog<InClaim>;
  readonly previews: Previews<InClaim>;
  readonly attachments: KeptAttachments<InClaim>;
  readonly deferred: DeferredReplies;
  readonly byHand: Takeovers;
  /**
   * The channels that are served from now on. What waits for any other is unroutable: it waits,
   * is counted, and becomes a dead letter once that has lasted seven days.
   */
  serve(channels: readonly ChannelKey[]): void;
  /** From now on a claim's memory holds so much, if it was said: the widest of all brains. */
  remember(bounds: HistoryBounds): void;
  /**
   * A dead letter again at the end of its lane, with its id: a reply marked late, on a schedule
   * that begins anew; a message as of now. A reply's parts come back together.
   */
  replay(id: string): Promise<DeadLetterMove>;
  /** A dead letter is deleted, text and all. */
  discard(id: string): Promise<DeadLetterMove>;
  /**
   * Deletes what was said, and what was answered to it, from everywhere: also what waits, and what
   * is at work (its claim is lost). Texts are overwritten on the disk before it resolves; it
   * rejects when the storage has failed, so that nobody believes that they are gone. What comes
   * in after it was asked for stays.
   * @returns how many messages, replies and turns went
   */
  forget(whose: Whose): Promise<number>;
  /** Deletes the notes of that scope in the same way. @returns how many went */
  clearNotes(of: NotesOf): Promise<number>;
  /** Calls `wake` when something of that box and channel may be claimable. Returns how to stop. */
  onReady(wake: (box: Box, channel: ChannelKey) => void): () => void;
  /** Channels with unsettled rows; one that is not configured shows here as unroutable. */
  backlog(): readonly ChannelBacklog[];
  /** Ids of unsettled messages and replies, up to so many, for a log line. */
  unsettled(most: number): readonly string[];
  gauges(): Gauges;
  /** From now on `accept` refuses with `shutting_down`. */
  closeIntake(): void;
  /** Releases every open claim, writes what is owed, and closes; `backlog` counts on. */
  [Symbol.asyncDispose](): Promise<void>;
}

export type Durability = {
  readonly durable: boolean;
  /** Pauses between delivery attempts, before jitter. After the last one comes the dead letter. */
  readonly deliveryGapsMs: readonly number[];
  /** How many of the gaps hold up the conversation's later replies; then a reply is parked. */
  readonly hotGaps: number;
  readonly jitter: number;
  /** How long a drain may take, and whether what waits unclaimed is to be worked off in it. */
  readonly drainMs: number;
  readonly drainsBacklog: boolean;
};

/** A receiver that asks for a longer pause than this is asked again after this one. */
export const retryAfterMsMax = 3_600_000;

export type CursorMove = {
  readonly channel: ChannelKey;
  readonly name: string;
  readonly value: string;
  /**
   * Where it must stand before this batch, as `cursor` told; null: nowhere yet. Left out: wherever
   * it stands.
   */
  readonly expected?: string | null;
};

/** As it is at the claim; nobody else writes this conversation while the claim holds. */
export type Memory = {
  readonly session: Session;
  /**
   * The active session's newest turns, oldest first, as far as any brain's window shows them
   * (`remember`). Empty without storage.
   */
  readonly turns: readonly TurnRow[];
  readonly windows: WindowStarts;
  /**
   * When the conversation's message before this one was accepted; where the clock was set back
   * among those before, the latest of these times. Null for its first.
   */
  readonly previousAt: number | null;
  /** The active session holds no turn yet, not even one too long for the window. */
  readonly empty: boolean;
};

export type InClaim = {
  readonly box: 'in';
  /** Where it was gathered: all pieces as one, which end, wait or are lost together. */
  readonly message: Message;
  /** Counts from 1. */
  readonly attempt: number;
  /** The process ended twice while this message ran alone: it is to be buried, not worked on. */
  readonly poison: boolean;
  readonly memory: Memory;
  /**
   * Ends the work on it. The ledger stops it when the claim is lost, whoever runs the work when
   * there is no more time for it.
   */
  readonly stop: Stopper;
};

export type OutClaim = {
  readonly box: 'out';
  readonly reply: Reply;
  /** Counts from 1, over replays too. */
  readonly attempt: number;
  /** Where the schedule is: since the last replay, without those that a process died under. */
  readonly attemptOfSchedule: number;
  readonly possibleDuplicate: boolean;
  readonly late: boolean;
  /** As for a message. */
  readonly stop: Stopper;
};

export type Claim = InClaim | OutClaim;

export type Effects = {
  /** One row each, sent in this order. */
  readonly replies: readonly Reply[];
  /** What later turns will remember of this one; null: nothing. */
  readonly turn: TurnRow | null;
  /** Ends the active session before `turn` is kept; null: no cut. */
  readonly session: SessionMove | null;
  /** The brain's window was cut before this turn; absent: it begins where it did. */
  readonly window?: { readonly brain: string; readonly start: WindowStart };
  /** A quoted block that the (empty) session begins with, in the place of a turn; null: none. */
  readonly imported: QuotedBlock | null;
  /** Unanswered turns of the claim's memory that no later turn is to see. */
  readonly leftOut: readonly TurnRow[];
  /** Unanswered turns of it that are to be `doubted` from now on. */
  readonly doubted: readonly TurnRow[];
  /** In this order. */
  readonly notes: readonly NoteMove[];
  /** The audit of the tools that were asked for. */
  readonly toolUses: readonly ToolUseWithResult[];
  /** What models answered beside the reply; kept with the message, and no longer. */
  readonly unsent: readonly UnsentAnswer[];
  /** Calls that wait for a yes from now on; absent: none. */
  readonly asked?: readonly Approval[];
  /** The approval that this turn followed, and what became of its call; absent: none. */
  readonly settled?: { readonly id: ApprovalId; readonly outcome: ToolOutcome | null };
  readonly trace: Trace | null;
};

/** `not_found`: no dead letter has this id. `not_kept`: this form keeps none. */
export type DeadLetterMove = 'done' | 'not_found' | 'not_kept' | 'storage_failed';

/**
 * Reads for people: lists, traces, dead letters, conversations, exports. It never writes, holds up
 * no message, and sees what was committed. Every list is bounded; `after` is the `next` of the page
 * before. Ids and codes are free to show; what bears `Text` in its type holds what people wrote.
 * A read that has no answer (the storage cannot be read, too many wait) rejects with ReadFailed.
 */
export interface LedgerReader
  extends
    RecordsReader,
    FiguresReader,
    SearchReader,
    SpendReader,
    ApprovalsReader,
    AsyncDisposable {
  /** Everything that happened to one message; null: it is not known, or not any more. */
  story(messageId: string): Promise<Story | null>;
  /** What was said and answered; null without storage, and where it has been deleted. */
  storyText(messageId: string): Promise<StoryText | null>;
  /** Newest first. */
  deadLetters(page: PageAsked): Promise<Page<DeadLetter>>;
  /** How many there are of each reason, most frequent first. */
  deadLetterReasons(): Promise<readonly DeadLetterReason[]>;
  /** With its text, if it is kept. */
  deadLetter(id: string): Promise<DeadLetterText | null>;
  /** In the order of their keys. Empty without storage. */
  conversations(page: PageAsked): Promise<Page<ConversationRow>>;
  conversation(where: ConversationKey): Promise<ConversationText | null>;
  /** By the `id` of its row; null: no such conversation is kept. */
  conversationById(id: string): Promise<ConversationKey | null>;
  /** The channels of that type of which something is kept: on a messenger one for each bot. */
  channelKeys(type: string): Promise<readonly ChannelKey[]>;
  /**
   * How many conversations on channels of that type hold private turns, notes, or messages that
   * wait; 1,000 stands for more.
   */
  privateConversations(type: string): Promise<number>;
  /** Every turn of a conversation, or every turn that answers one sender, oldest first. */
  turns(whose: Whose, page: PageAsked): Promise<Page<TurnText>>;
  /** Oldest first. */
  notes(of: NotesOf): Promise<readonly NoteText[]>;
  /** The audit of tools, newest first; without storage the last thousand uses. */
  toolUses(page: PageAsked): Promise<Page<ToolUseRow>>;
  toolUse(key: string): Promise<ToolUseText | null>;
}

export { ReadFailed } from './read-failed.ts';
export type { LimitSum, SpendBook } from './spend.ts';
export type { ChannelBacklog, Gauges } from './gauges.ts';
export type { Takeovers, TakeoverMessage } from './takeover.ts';
