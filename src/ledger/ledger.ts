/**
 * The contract of the ledger. It holds messages and replies until they are settled, and what a
 * conversation remembers.
 *
 * It is the one place that knows order. Within a conversation (channel and conversation id) one
 * message is worked at a time, in the order of acceptance. The next is offered only after the
 * commit of the one before. Replies of a conversation go out one at a time, in the order in which
 * they were made. A parked reply no longer holds up those behind it.
 *
 * The states of a row:
 *
 *     inbox:  waiting → claimed → done or dead;  claimed → waiting (release)
 *     outbox: waiting → claimed → delivered or dead;  claimed → deferred → waiting
 *     dead → waiting (replay) or deleted (discard), only when an operator asks
 *
 * There are three backends. Memory outlives no process. With SQLite and PostgreSQL, what was
 * accepted survives power cuts. All are one ledger (`engine/engine.ts`) over a storage
 * (`engine/storage.ts`).
 *
 * All methods are safe to call at any time, and none throws for an expected cause. A closed ledger
 * accepts and hands out nothing, and no claim is valid. Operator requests then answer
 * `storage_failed` or false. `cursor`, `forget`, `clearNotes` and reads of approvals reject.
 *
 * A claim ends exactly once, by `complete`, `delivered`, `defer`, `release` or `deadLetter`. If one
 * of them resolves to false, the claim had ended or was lost, and nothing was changed. A claim is
 * lost when its message, or one merged into it, is removed or taken over. Then its `stop` is
 * stopped.
 */
import { hourMs } from '../lib/durations.ts';
import type { Acceptance } from '../channels/channel.ts';
import type {
  Approval,
  ApprovalRow,
  ApprovalState,
  ApprovalText,
  Verdict,
} from '../domain/approval.ts';
import type { ApprovalId, ChannelKey } from '../domain/ids.ts';
import type {
  EarlierTurns,
  HistoryBounds,
  QuotedBlock,
  Session,
  SessionMove,
  TurnRow,
  WindowStart,
  WindowStarts,
} from '../domain/conversation.ts';
import type { Box } from '../domain/event.ts';
import type { Failure } from '../domain/failure.ts';
import type { Inbound, Message } from '../domain/message.ts';
import type { Note, NoteMove, NoteScope, NotesOf, NoteText } from '../domain/note.ts';
import type { Page, PageRequest } from '../domain/page.ts';
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
  MessageOwner,
  MessageLine,
  MessageOrigin,
} from '../domain/story.ts';
import type {
  ToolUseWithResult,
  ToolOutcome,
  ToolUse,
  ToolUseRow,
  ToolUseText,
  BegunCall,
  CallEnding,
  EarlierCall,
  LoggedCall,
} from '../domain/tool-use.ts';
import type { Trace } from '../domain/trace.ts';
import type { Stopper } from '../lib/stop.ts';
import type { SearchReader } from './search/search.ts';
import type { Attachment, Picture } from '../domain/attachment.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type {
  DeferredGroup,
  RetriedNow,
  WhichDeferred,
  ConversationCount,
  DeliveryFilter,
  DeliveryRow,
  MessageFilter,
  MessagePage,
  MessageRow,
} from '../domain/records.ts';
import type { FigureRow, FiguresRequest, KeptFigures } from '../telemetry/figures/figures.ts';
import type { Charged, SpendBy, SpendLimit, SpendRow, Tokens, Used } from '../domain/spend.ts';
import type { OperatorAnswer, TakenOverConversation, TakeoverTimes } from '../domain/takeover.ts';
import type { AuditRow } from '../domain/audit.ts';

export interface Ledger extends AuditTrail {
  /** What the ledger promises to its callers. */
  readonly durability: Durability;
  readonly figures: StoredFigures;
  /** Tool calls that wait for a person's approval. */
  readonly approvals: Approvals;
  readonly spend: SpendBook;
  /**
   * Accepts a batch and moves the cursors in one commit, all or nothing. It recognises resends by
   * channel, key and key check. `conflict`: a cursor stands elsewhere than its move expects, moves
   * on their way included.
   */
  accept(batch: readonly Inbound[], ...cursors: readonly CursorMove[]): Promise<Acceptance>;
  /** Room left before `accept` refuses. A hint: `accept` decides. */
  room(): { readonly messages: number; readonly bytes: number };
  /** Resolves when there is room again, or when the signal aborts. */
  whenRoom(signal: AbortSignal): Promise<void>;
  /**
   * Claims up to n rows of that channel that can start now, oldest first. Each is the head of an
   * idle conversation. Ask only for rows that can start at once.
   */
  claim(box: 'in', channel: ChannelKey, n: number): Promise<readonly InClaim[]>;
  claim(box: 'out', channel: ChannelKey, n: number): Promise<readonly OutClaim[]>;
  /** Ends a turn: writes everything that it changes in one commit. */
  complete(claim: InClaim, effects: Effects): Promise<boolean>;
  delivered(claim: OutClaim): Promise<boolean>;
  /**
   * Ends a failed attempt: the reply is tried again at `at` (milliseconds since 1970).
   * @param how `park`: from now on no other reply waits for it, and it is marked late;
   *   `possibleDuplicate`: the attempt may have arrived
   */
  defer(claim: OutClaim, at: number, why: Failure, how: Deferral): Promise<boolean>;
  /**
   * Gives a row back to the head of its queue (drain, reload). It counts no attempt and writes
   * nothing.
   * @param at a reply is not handed out again before this time (milliseconds since 1970)
   */
  release(claim: Claim, at?: number): Promise<void>;
  /** Makes a dead letter. The `effects` of a message may hold the apology to its sender. */
  deadLetter(claim: Claim, why: Failure, effects?: Effects): Promise<boolean>;
  /** The position of a cursor once everything accepted so far is written. A move may expect it. */
  cursor(channel: ChannelKey, name: string): Promise<string | null>;
  /**
   * The last n turns of the newest session that has turns, oldest first. Turns that were recalled
   * into a session do not count. Only while the claim is open.
   */
  recall(claim: InClaim, n: number): Promise<readonly TurnRow[]>;
  /** The last n turns of any session whose messages were accepted by `at`, oldest first. */
  earlier(claim: InClaim, at: number, n: number): Promise<EarlierTurns>;
  /**
   * The brain of the conversation's last unanswered turn whose message was accepted at `at`. Null:
   * not known, because the turn or its message is deleted, or no storage keeps them.
   */
  brainOfTurn(claim: InClaim, at: number): Promise<string | null>;
  /** The notes of that scope, oldest first. Only while the claim is open; none without storage. */
  notes(claim: InClaim, scope: NoteScope): Promise<readonly Note[]>;
  /** The last n tool uses of the conversation, newest first. */
  toolUses(claim: InClaim, n: number): Promise<readonly ToolUse[]>;
  /** The log of tool calls with effects elsewhere, which no run repeats silently. */
  readonly calls: CallLog;
  readonly previews: Previews;
  readonly attachments: KeptAttachments;
  readonly deferred: DeferredReplies;
  readonly takeovers: Takeovers;
  /**
   * Sets the served channels. Rows of other channels are unroutable: they wait, are counted, and
   * become dead letters after seven days.
   */
  serve(channels: readonly ChannelKey[]): void;
  /** Sets how much a claim's memory holds: the widest history bounds of all brains. */
  remember(bounds: HistoryBounds): void;
  /**
   * Puts a dead letter back at the end of its queue, with its id. A reply is marked late, and its
   * schedule starts again. A message counts as new. The parts of a reply come back together.
   */
  replay(id: string): Promise<DeadLetterMove>;
  /** Deletes a dead letter with its text. */
  discard(id: string): Promise<DeadLetterMove>;
  /**
   * Deletes the messages of a person or a conversation and the replies to them, everywhere. That
   * includes waiting rows and work in progress, whose claims are lost. Texts are overwritten on the
   * disk before it resolves. It rejects when the storage has failed, so that nobody believes the
   * texts are gone. Messages that arrive after the call stay.
   * @returns how many messages, replies and turns it deleted
   */
  forget(whose: MessageOwner): Promise<number>;
  /** Deletes the notes of that scope in the same way. @returns how many it deleted */
  clearNotes(of: NotesOf): Promise<number>;
  /**
   * Calls `wake` when rows of a box and channel may be claimable. @returns a function that ends
   * this
   */
  onReady(wake: (box: Box, channel: ChannelKey) => void): () => void;
  /** The channels with unsettled rows. A channel that is not configured is shown as unroutable. */
  backlog(): readonly ChannelBacklog[];
  /** Ids of unsettled messages and replies, at most so many, for a log line. */
  unsettled(most: number): readonly string[];
  gauges(): Gauges;
  /** Makes `accept` refuse with `shutting_down` from now on. */
  closeIntake(): void;
  /** Releases every open claim, writes everything pending, and closes. `backlog` still answers. */
  [Symbol.asyncDispose](): Promise<void>;
}

export type Durability = {
  readonly durable: boolean;
  /**
   * Pauses between delivery attempts, before jitter. After the last one, the reply becomes a dead
   * letter.
   */
  readonly deliveryGapsMs: readonly number[];
  /** For this many gaps, later replies of the conversation wait. Then the reply is parked. */
  readonly hotGaps: number;
  readonly jitter: number;
  /** How long a drain may take, and whether it works off waiting rows too. */
  readonly drainMs: number;
  readonly drainsBacklog: boolean;
};

/** A receiver that asks for a longer pause gets this pause. */
export const retryAfterMsMax = hourMs;

export type CursorMove = {
  readonly channel: ChannelKey;
  readonly name: string;
  readonly value: string;
  /**
   * The position before this batch, as `cursor` gave it; null: never set. Left out: any position.
   */
  readonly expected?: string | null;
};

/** The memory of a conversation at the claim. Nobody else writes it while the claim is open. */
export type Memory = {
  readonly session: Session;
  /**
   * The newest turns of the active session, oldest first, as far as the window of any brain shows
   * them (`remember`). Empty without storage.
   */
  readonly turns: readonly TurnRow[];
  readonly windows: WindowStarts;
  /**
   * When the previous message of the conversation was accepted, or the latest such time if the
   * clock was set back. Null for the first message.
   */
  readonly previousAt: number | null;
  /** The active session has no turn yet, not even one too long for the window. */
  readonly empty: boolean;
};

export type InClaim = {
  readonly box: 'in';
  /** The merged message, if there are several. Its messages end, wait or are lost together. */
  readonly message: Message;
  /** Counts from 1. */
  readonly attempt: number;
  /**
   * The process ended twice while this message ran alone: make it a dead letter instead of working
   * on it.
   */
  readonly poison: boolean;
  readonly memory: Memory;
  /**
   * Ends the work. The ledger stops it when the claim is lost; the runner of the work stops it when
   * time is up.
   */
  readonly stop: Stopper;
};

export type OutClaim = {
  readonly box: 'out';
  readonly reply: Reply;
  /** Counts from 1, replays included. */
  readonly attempt: number;
  /**
   * The attempt in the schedule: counts since the last replay, without attempts during which a
   * process died.
   */
  readonly attemptOfSchedule: number;
  readonly possibleDuplicate: boolean;
  readonly late: boolean;
  /** As for a message. */
  readonly stop: Stopper;
};

export type Claim = InClaim | OutClaim;

export type Effects = {
  /** The replies, one row each, sent in this order. */
  readonly replies: readonly Reply[];
  /** What later turns remember of this one; null: nothing. */
  readonly turn: TurnRow | null;
  /** Ends the active session before `turn` is written; null: it goes on. */
  readonly session: SessionMove | null;
  /** The new start of the brain's window, before this turn; absent: unchanged. */
  readonly window?: { readonly brain: string; readonly start: WindowStart };
  /** A quoted block with which the (empty) session begins, in the place of a turn; null: none. */
  readonly imported: QuotedBlock | null;
  /** Unanswered turns of the claim's memory that later turns do not see. */
  readonly leftOut: readonly TurnRow[];
  /** Unanswered turns of the claim's memory that are marked `doubted` from now on. */
  readonly doubted: readonly TurnRow[];
  /** Applied in this order. */
  readonly notes: readonly NoteMove[];
  /** The audit rows of the tool calls that the model asked for. */
  readonly toolUses: readonly ToolUseWithResult[];
  /** Answers of models that were not sent. They are kept as long as the message. */
  readonly unsent: readonly UnsentAnswer[];
  /** Tool calls that wait for approval from now on; absent: none. */
  readonly asked?: readonly Approval[];
  /** The approval that this turn followed, and the outcome of its call; absent: none. */
  readonly settled?: { readonly id: ApprovalId; readonly outcome: ToolOutcome | null };
  readonly trace: Trace | null;
  /**
   * No other message comes in this conversation, so nothing is kept of it beyond the message.
   * Absent: others may come.
   */
  readonly isOnly?: true;
};

/** `not_found`: no dead letter has this id. `not_kept`: this backend keeps none. */
export type DeadLetterMove = 'done' | 'not_found' | 'not_kept' | 'storage_failed';

/**
 * Reads for operators: lists, traces, dead letters, conversations, exports. It writes nothing,
 * holds up no message, and sees what was committed. Every list is bounded. `after` is the `next` of
 * the previous page. Ids and codes are safe to show; types with `Text` in their name hold people's
 * texts. A read without an answer rejects with ReadFailed: the storage cannot be read, or too many
 * reads wait.
 */
export interface LedgerReader
  extends
    RecordsReader,
    FiguresReader,
    SearchReader,
    SpendReader,
    ApprovalsReader,
    AsyncDisposable {
  /** Everything that happened to one message; null: not known, or deleted. */
  story(messageId: string): Promise<Story | null>;
  /** What was said and answered; null without storage, and after it was deleted. */
  storyText(messageId: string): Promise<StoryText | null>;
  /** Newest first. */
  deadLetters(page: PageRequest): Promise<Page<DeadLetter>>;
  /** How many dead letters there are of each reason, most frequent first. */
  deadLetterReasons(): Promise<readonly DeadLetterReason[]>;
  /** A dead letter with its text, if that is kept. */
  deadLetter(id: string): Promise<DeadLetterText | null>;
  /** In the order of their keys. Empty without storage. */
  conversations(page: PageRequest): Promise<Page<ConversationRow>>;
  conversation(where: ConversationKey): Promise<ConversationText | null>;
  /** Finds a conversation by the `id` of its row; null: no such conversation is kept. */
  conversationById(id: string): Promise<ConversationKey | null>;
  /** The channels of that name with stored data. A messenger has one for each bot. */
  channelKeys(name: string): Promise<readonly ChannelKey[]>;
  /**
   * How many conversations on channels of that name hold private turns, notes, or waiting messages.
   * 1,000 stands for more.
   */
  privateConversations(name: string): Promise<number>;
  /** Every turn of a conversation, or every turn that answers one sender, oldest first. */
  turns(whose: MessageOwner, page: PageRequest): Promise<Page<TurnText>>;
  /** Oldest first. */
  notes(of: NotesOf): Promise<readonly NoteText[]>;
  /** The audit of tools, newest first; without storage the last thousand uses. */
  toolUses(page: PageRequest): Promise<Page<ToolUseRow>>;
  toolUse(key: string): Promise<ToolUseText | null>;
}

/** The unsettled rows of a channel, in numbers. */
export type ChannelBacklog = {
  readonly channel: ChannelKey;
  /** Unsettled rows, claimed ones included. */
  readonly inbox: number;
  readonly outbox: number;
  /** When the oldest of them was accepted or made, in milliseconds since 1970. */
  readonly oldestAt: number;
  /** When the oldest reply was made; null: no reply waits. */
  readonly oldestReplyAt: number | null;
  /** Since when the channel is not served (milliseconds since 1970); null: it is served. */
  readonly unroutableSince: number | null;
};

export type Gauges = {
  readonly inboxWaiting: number;
  readonly inboxClaimed: number;
  readonly outboxWaiting: number;
  readonly outboxClaimed: number;
  readonly outboxDeferred: number;
  /**
   * Dead letters that are kept for operators; without storage all since the start. A split reply
   * counts as one.
   */
  readonly deadLetters: number;
  /** Unsettled rows of channels that are not served. */
  readonly unroutable: number;
  /**
   * Suspected messages: they were under way when the process died, and run alone before all others.
   */
  readonly suspects: number;
  /** Conversations that an operator has taken over. */
  readonly held: number;
  /** Traces dropped since the start because the storage was behind. */
  readonly tracesDropped: number;
  readonly bytesHeld: number;
  readonly bytesMax: number;
  readonly messagesMax: number;
  readonly conversationsAtWork: number;
  readonly rememberedBytes: number;
  /** Commits asked for and not yet on the disk; always 0 in the memory backend. */
  readonly commitsPending: number;
};

/** A read failed. `message` is a sentence for a person. `busy`: too many reads wait already. */
export class ReadFailed extends Error {
  override readonly name = 'ReadFailed';
  readonly reason: 'busy' | 'too_slow' | 'storage' | 'closed';

  constructor(reason: ReadFailed['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Rows are deleted, but the disk still holds their bytes. `message` says what to do. */
export class NotOverwritten extends Error {
  override readonly name = 'NotOverwritten';

  constructor() {
    super(
      'The rows are deleted. Another program reads the database all the time, so their bytes ' +
        "stay in the database's -wal file. Stop that program (a backup such as Litestream), and " +
        'delete once more.',
    );
  }
}

// Tool calls that wait for a person's approval. They are written with the turn that asked
// (`Effects.asked`), and end with the turn that follows (`Effects.settled`). Each of these is one
// commit. If several people decide at the same time, in any process, one of them succeeds.

/** `at`: milliseconds since 1970. `by`: as in `Approval`. */
export type Decided = {
  readonly verdict: Verdict;
  readonly by: string | null;
  readonly at: number;
};

export interface Approvals {
  /** Finds an approval by its id or code; null: there is none. Rejects when it cannot be read. */
  find(idOrCode: string): Promise<Approval | null>;
  /**
   * Decides a waiting approval. Resolves once that is written as safely as an accepted message.
   * `not_waiting`: it was decided already, or does not exist any more.
   */
  decide(id: ApprovalId, decided: Decided): Promise<'decided' | 'not_waiting' | 'storage_failed'>;
  /**
   * The approvals to act on, oldest first, at most 2,000, which is more than can be open. They are
   * waiting ones that have expired by `now`, and decided ones that are not settled. Rejects when
   * they cannot be read.
   */
  owed(now: number): Promise<readonly Approval[]>;
  /** All waiting approvals, oldest first, at most 1,000. Rejects when they cannot be read. */
  waiting(): Promise<readonly Approval[]>;
}

/** Part of the reader. Settled approvals are kept as long as other texts. */
export interface ApprovalsReader {
  /** Newest first. @param state null: any state */
  approvals(state: ApprovalState | null, page: PageRequest): Promise<Page<ApprovalRow>>;
  /** An approval with its arguments; null: not kept. */
  approval(id: string): Promise<ApprovalText | null>;
}

/** Part of the ledger: keeps what was read of the attachments of messages. */
export interface KeptAttachments {
  /**
   * Keeps attachments with the message of the claim, as private as it. They replace what an earlier
   * run kept, and are deleted with the message. False: the claim has ended, or nothing can be
   * written now.
   */
  keep(claim: InClaim, attachments: readonly Attachment[]): Promise<boolean>;
  /** What an earlier run of the message kept; null: nothing, or it cannot be read. */
  of(claim: InClaim): Promise<readonly Attachment[] | null>;
  /**
   * The attachments of settled messages of the conversation that were accepted at that time, one
   * list for each message. Empty without storage, or when they cannot be read.
   */
  acceptedAt(claim: InClaim, at: number): Promise<readonly (readonly Attachment[])[]>;
  /**
   * The newest n pictures of settled messages of the conversation, accepted at `since` or later,
   * newest first. Empty without storage, or when they cannot be read.
   */
  picturesSince(claim: InClaim, since: number, n: number): Promise<readonly KeptPicture[]>;
}

/** `at`: when its message was accepted, in milliseconds since 1970. */
export type KeptPicture = {
  readonly at: number;
  readonly sensitivity: Sensitivity;
  readonly picture: Picture;
};

/** Part of the ledger: logs which tool calls a message has begun, over all its runs. */
export interface CallLog {
  /**
   * Call before a tool runs that changes something elsewhere. Resolves when the call is safely
   * written.
   * - `run`: the call may run, and is in the audit from now on.
   * - `done` or `unknown`: an earlier run began a call with the same hash, which is not made again.
   *   Each earlier call answers one call of this run, wherever the model asks for it.
   * - `unwritten`: the claim has ended, the key was used before, or nothing can be written.
   */
  logCall(claim: InClaim, call: BegunCall): Promise<LoggedCall>;
  /** Logs the end of a logged call. */
  logCallEnd(claim: InClaim, key: string, ending: CallEnding): void;
  /** Calls that earlier runs of the message began and this run has not asked for, oldest first. */
  earlierCalls(claim: InClaim): Promise<readonly EarlierCall[]>;
}

/** Part of the ledger: replies that wait for their next attempt after a failed one. */
export interface DeferredReplies {
  /**
   * How many there are for each channel and reason, most frequent first, at most the hundred
   * largest groups. Its cost does not grow with the number of replies.
   */
  groups(): Promise<readonly DeferredGroup[]>;
  /**
   * Tries replies now. A reply keeps its place in its conversation and its number of attempts. If
   * this attempt fails, the pause begins again, so the reply comes no closer to its last attempt. A
   * reply that is being tried or can be taken is left as it is.
   * @param most moves at most this many; fewer if many replies are ready already
   */
  tryNow(which: WhichDeferred, most: number): Promise<RetriedNow>;
}

// Figures over time (`src/telemetry/figures/`): a part of the ledger, and of its reader.

/** Keeps figures; without storage in memory. Every backend limits their age and number. */
export interface StoredFigures {
  /**
   * Keeps rows, all or nothing. A row replaces one of the same length, time and run. No message
   * waits for it.
   * @returns false: they could not be kept, and may be given again
   */
  keep(rows: readonly FigureRow[]): Promise<boolean>;
}

export interface FiguresReader {
  /** All of it is of one moment. */
  figures(asked: FiguresRequest): Promise<KeptFigures>;
}

/** Previews: messages that show a reply while it is being written. */
export interface Previews {
  /**
   * Whether the reply comes next in its conversation. If an earlier reply is still to be delivered,
   * it would arrive below the preview.
   */
  isNext(claim: Claim): boolean;
  /**
   * Sets the `preview` of the message for all later work on it. False: it is not written, or the
   * claim has ended.
   */
  keep(claim: Claim, preview: string): Promise<boolean>;
  /** The current preview of its message (the claim holds an older state); null: none. */
  of(claim: Claim): string | null;
}

// Spending, by day, brain, model, price and sender. Before a call to a model with a cost, svc
// reserves the most that the call may use. After the call, the actual use replaces it. A process
// that dies leaves its reservations: they count until the day is over. All processes on one ledger
// share its sums, so a budget holds over all of them, all configurations and restarts.

/** `over`: it exceeds that limit, and nothing was written. */
export type Reserving =
  | { readonly kind: 'reserved'; readonly sums: readonly LimitSum[] }
  | { readonly kind: 'over'; readonly limit: SpendLimit }
  | { readonly kind: 'unwritten' };

/**
 * The amount under a limit before this reservation, used and reserved, in the form of the limit's
 * `most`.
 */
export type LimitSum = { readonly limit: SpendLimit; readonly before: number | string };

export interface SpendBook {
  /**
   * Reserves the most that a call may use, if every limit still holds with it. Resolves once that
   * is written as safely as an accepted message. Never rejects.
   * @param limits each counts only models with a cost: of the day and the brain, or of these and
   *   the sender
   */
  reserve(charged: Charged, most: Tokens, limits: readonly SpendLimit[]): Promise<Reserving>;
  /**
   * Ends a call. The caller does not wait for this write. It is written before anything asked of
   * the ledger later, or within a second for a free model.
   * @param reserved what `reserve` wrote for it; null: nothing, since the model is free
   * @param used null: the call was not sent, and is not counted
   */
  settle(charged: Charged, reserved: Tokens | null, used: Used | null): void;
}

/** Part of the reader. */
export interface SpendReader {
  /**
   * The largest cost first, then most tokens; at most 1,000 rows. Rows older than 400 days are
   * deleted. Rows of senders are deleted earlier if the storage keeps texts for fewer days.
   * @param since a local day, `YYYY-MM-DD`
   */
  spent(by: SpendBy, since: string): Promise<readonly SpendRow[]>;
}

// Takeover: an operator answers a conversation instead of its brain. While it lasts, no message of
// the conversation is handed out. A message at work loses its claim, and waits first in its queue.
// New messages wait behind it in order, commands too. Replies go out as usual. A takeover ends by
// `giveBack`, or an hour after it was last begun, renewed or answered. Then the waiting messages
// are handed out as they are.
//
// Each message gets one answer: that of the turn if its commit was first, else that of the
// operator. A backend that outlives the process keeps takeovers, too. Without storage a drain ends
// them, so that accepted messages are worked off.

/** A message that an operator answers, with the fields of a claim. */
export type TakeoverMessage = Pick<InClaim, 'message' | 'memory' | 'attempt' | 'poison'>;

export interface Takeovers {
  /** Begins or renews a takeover. Resolves when no turn of the conversation runs any more. */
  hold(where: ConversationKey): Promise<TakeoverTimes | 'too_many' | 'storage_failed'>;
  /**
   * Ends the waiting messages up to the named one in one commit; null: only the oldest.
   * @param effectsOf the effects of each message, called in order; the named one is the last
   */
  answer(
    where: ConversationKey,
    upTo: string | null,
    effectsOf: (one: TakeoverMessage, isLast: boolean) => Effects,
  ): Promise<OperatorAnswer>;
  giveBack(where: ConversationKey): Promise<'done' | 'not_held' | 'storage_failed'>;
  /** The takeover of a conversation; null: there is none. */
  of(where: ConversationKey): TakeoverTimes | null;
  /** All takeovers, the oldest first. */
  held(): readonly TakenOverConversation[];
  /** The waiting messages, the oldest first. Rejects when they cannot be read. */
  waiting(where: ConversationKey): Promise<readonly Message[]>;
}

// Lists of messages, replies and operator actions: a part of the reader.

/**
 * A page examines a bounded number of rows. If few of them match, it may hold fewer rows than asked
 * for, even none, and still have a `next`.
 */
export interface RecordsReader {
  /** The newest first, by the time of acceptance. */
  messages(filter: MessageFilter, page: MessagePage): Promise<Page<MessageRow>>;
  /**
   * The senders and conversations of messages, as far as they are kept, for the first `originsMax`
   * ids.
   */
  origins(messageIds: readonly string[]): Promise<readonly MessageOrigin[]>;
  /**
   * The beginnings of messages' texts, as far as they are kept, for the first `originsMax` ids.
   * Empty without storage.
   */
  lines(messageIds: readonly string[]): Promise<readonly MessageLine[]>;
  /** Replies, the newest first. A replayed reply is as new as its replay. */
  deliveries(filter: DeliveryFilter, page: PageRequest): Promise<Page<DeliveryRow>>;
  /** In the order of their channels. Empty without storage. */
  conversationCounts(): Promise<readonly ConversationCount[]>;
  /** Operator actions, newest first; without storage the last thousand. */
  audit(page: PageRequest): Promise<Page<AuditRow>>;
}

interface AuditTrail {
  /**
   * Records an operator action.
   * @returns false: it could not be recorded; true: it is as safe as this backend can make it
   */
  recordWrite(row: AuditRow): Promise<boolean>;
}

/**
 * The room of the storage. Unless it is `ok`, nothing is accepted.
 * - `low`: less is free than required. Accepted messages are worked on.
 * - `full`: a commit found no room. Finished work waits, and is tried every second.
 * - `locked`: another program writes the database file. Finished work waits in the same way.
 * - `away`: the database server does not answer. Finished work waits for it.
 */
export type StorageRoom =
  | { readonly kind: 'ok' }
  | { readonly kind: 'full' }
  /** `holder`: the process id of that program; null: not known. */
  | { readonly kind: 'locked'; readonly holder: number | null }
  | { readonly kind: 'away' }
  | { readonly kind: 'low'; readonly freeBytes: number; readonly freeBytesMin: number };

/** The reports that a ledger makes, at any time. A listener returns at once. */
export type LedgerNews = {
  /** Rows of a channel that is not served wait; at `untilAt` they become dead letters. */
  readonly unroutable?: (e: {
    readonly channel: ChannelKey;
    readonly rows: number;
    readonly since: number;
    readonly untilAt: number;
  }) => void;
  /** The room on the disk has changed. */
  readonly storageRoom?: (room: StorageRoom) => void;
  /** The database of an older release is upgraded before its use, which may take minutes. */
  readonly storageUpgrading?: (e: { readonly from: number; readonly to: number }) => void;
  /**
   * Another process used the storage and may be alive; svc waits at most `ms` milliseconds for it.
   */
  readonly storageWaits?: (e: { readonly ms: number }) => void;
  /**
   * The clock was ahead when the next attempts of this many replies were planned. They were up to
   * `aheadMs` later than their schedule allows, and are due sooner now.
   */
  readonly clockWasAhead?: (e: { readonly replies: number; readonly aheadMs: number }) => void;
  /** A dead letter that the ledger itself made. */
  readonly buried?: (e: {
    readonly box: Box;
    readonly channel: ChannelKey;
    readonly id: string;
    readonly failure: Failure;
  }) => void;
  /** A takeover has expired: the brain of the conversation goes on. */
  readonly holdOver?: (e: { readonly channel: ChannelKey }) => void;
  /** A bug that lost only the work in which it happened; the ledger goes on. */
  readonly faulted?: (error: unknown) => void;
};

/** Why a storage cannot be used. */
export type StoreProblem = {
  readonly kind: 'problem';
  readonly code: string;
  /** What is wrong, and what an operator can do about it. */
  readonly message: string;
  /** Whether the problem may be gone at the next start; if not, a person has to solve it. */
  readonly isPassing: boolean;
};
