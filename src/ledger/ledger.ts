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
import { hourMs } from '../lib/durations.ts';
import type { Acceptance } from '../channels/channel.ts';
import type {
  Approval,
  ApprovalId,
  ApprovalRow,
  ApprovalState,
  ApprovalText,
  Verdict,
} from '../domain/approval.ts';
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
  TriedNow,
  WhichDeferred,
  ConversationCount,
  DeliveryFilter,
  DeliveryRow,
  MessageFilter,
  MessageRow,
} from '../domain/records.ts';
import type { FigureRow, FiguresAsked, KeptFigures } from '../telemetry/figures/figures.ts';
import type { Charged, SpendBy, SpendLimit, SpendRow, Tokens, Used } from '../domain/spend.ts';
import type { OperatorAnswer, HeldConversation, Hold } from '../domain/takeover.ts';
import type { AuditRow } from '../domain/audit.ts';

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
  readonly calls: CallLog;
  readonly previews: Previews;
  readonly attachments: KeptAttachments;
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
export const retryAfterMsMax = hourMs;

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

/** What a ledger has in hand, in numbers. */
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

/** `message` is a sentence for a person. `busy`: so many reads wait that this one may not. */
export class ReadFailed extends Error {
  override readonly name = 'ReadFailed';
  readonly reason: 'busy' | 'too_slow' | 'storage' | 'closed';

  constructor(reason: ReadFailed['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

// Calls of tools that wait for a person's yes, kept in the ledger. They are written with the turn
// that asked (`Effects.asked`) and end with the turn that follows (`Effects.settled`): each of
// these is one commit. Of all who decide at the same time, on whatever instance, one succeeds.

/** `at`: milliseconds since 1970. `by`: as in `Approval`. */
export type Decided = {
  readonly verdict: Verdict;
  readonly by: string | null;
  readonly at: number;
};

export interface Approvals {
  /** By its id or its code; null: there is none. Rejects when it cannot be read. */
  find(idOrCode: string): Promise<Approval | null>;
  /**
   * Decides one that waits. Resolves once it is written as safely as an accepted message.
   * `not_waiting`: somebody else was first, or it does not exist any more.
   */
  decide(id: ApprovalId, decided: Decided): Promise<'decided' | 'not_waiting' | 'storage_failed'>;
  /**
   * What somebody has to go on with, oldest first, at most 2,000, which is more than can be open:
   * those that wait, though their time is over by `now`, and those that are decided and not
   * settled. Rejects when it cannot be read.
   */
  owed(now: number): Promise<readonly Approval[]>;
  /** All that wait, oldest first, at most 1,000. Rejects when they cannot be read. */
  waiting(): Promise<readonly Approval[]>;
}

/** Part of the reader. What is settled is kept as long as other texts. */
export interface ApprovalsReader {
  /** Newest first. @param state null: whatever its state */
  approvals(state: ApprovalState | null, page: PageAsked): Promise<Page<ApprovalRow>>;
  /** With what was asked for; null: it is not kept. */
  approval(id: string): Promise<ApprovalText | null>;
}

/** The part of the ledger that keeps what was read of what came with messages. */
export interface KeptAttachments {
  /**
   * Keeps them with the claim's message, as private as it, in place of what an earlier run of it
   * kept: they go when it goes. False: the claim is over, or nothing can be written now.
   */
  keep(claim: InClaim, attachments: readonly Attachment[]): Promise<boolean>;
  /** What an earlier run of the message kept; null: nothing, or it cannot be read. */
  of(claim: InClaim): Promise<readonly Attachment[] | null>;
  /**
   * What was kept of the settled messages of the conversation that were accepted at that time, each
   * apart. None without storage, or where it cannot be read.
   */
  acceptedAt(claim: InClaim, at: number): Promise<readonly (readonly Attachment[])[]>;
  /**
   * The newest n pictures of settled messages of the conversation that were accepted at `since`
   * or later, newest first. None without storage, or where they cannot be read.
   */
  picturesSince(claim: InClaim, since: number, n: number): Promise<readonly KeptPicture[]>;
}

/** `at`: when its message was accepted, milliseconds since 1970. */
export type KeptPicture = {
  readonly at: number;
  readonly sensitivity: Sensitivity;
  readonly picture: Picture;
};

/** The part of the ledger that knows which calls of a message were begun, over all its runs. */
export interface CallLog {
  /**
   * To be called before a tool runs that changes something elsewhere; resolves when the call is
   * safely written. `run`: it may run, and is in the audit from now on. A call that an earlier run
   * of the message began, with the same hash, is not made again, wherever the model asks for it:
   * each earlier call answers one call of this run. `unwritten`: the claim is over, the key was
   * used before, or nothing can be written.
   */
  logCall(claim: InClaim, call: BegunCall): Promise<LoggedCall>;
  /** How a journalled call ended. */
  logCallEnd(claim: InClaim, key: string, ending: CallEnding): void;
  /** Calls that earlier runs of the message began and this run has not asked for, oldest first. */
  earlierCalls(claim: InClaim): Promise<readonly EarlierCall[]>;
}

/** Replies of which a try failed, and that wait for the next one: a part of the ledger. */
export interface DeferredReplies {
  /**
   * How many there are of each channel and reason, most frequent first; of very many groups the
   * largest hundred. It reads no list that grows with them.
   */
  groups(): Promise<readonly DeferredGroup[]>;
  /**
   * The next try of such a reply is now. It keeps its place in its conversation and its number of
   * attempts; where the try fails, the pause that it waited in begins anew, so that no such try
   * brings it nearer to its end. One that is being tried, or can be, is left as it is.
   * @param most how many are moved at once; fewer where many wait to be handed out already
   */
  tryNow(which: WhichDeferred, most: number): Promise<TriedNow>;
}

// Figures over time (`src/telemetry/figures/`): a part of the ledger, and of its reader.

/** Without storage they are kept in memory, and every form bounds them by age and number. */
export interface StoredFigures {
  /**
   * Keeps rows, all or nothing, each in the place of one of the same length, time and run. No
   * message waits for it.
   * @returns false: they could not be kept, and may be given again
   */
  keep(rows: readonly FigureRow[]): Promise<boolean>;
}

export interface FiguresReader {
  /** All of it is of one moment. */
  figures(asked: FiguresAsked): Promise<KeptFigures>;
}

/** Messages on platforms that show replies which are still being written. */
export interface Previews {
  /**
   * Whether the reply comes next in its conversation. Else one before it is still to be delivered,
   * and would come behind what is shown of this one.
   */
  isNext(claim: Claim): boolean;
  /**
   * From now on the message has that `preview`, whoever works on it next. False: it is not written,
   * or the claim is over.
   */
  keep(claim: Claim, preview: string): Promise<boolean>;
  /** What its message has now: a claim is as it was when it was made. Null: nothing. */
  of(claim: Claim): string | null;
}

// What was spent, kept in the ledger by day, brain, model, price and sender. Before a call to a
// model that costs, the most that it may use is reserved; after it, what it used takes that place.
// A process that dies leaves what it had reserved: it counts until the day is over. All who work on
// one ledger share its sums, so that a budget holds over all instances, plans and restarts.

/** `over`: it does not fit under that limit, and nothing was written. */
export type Reserving =
  | { readonly kind: 'reserved'; readonly sums: readonly LimitSum[] }
  | { readonly kind: 'over'; readonly limit: SpendLimit }
  | { readonly kind: 'unwritten' };

/** What stood under a limit before this reservation: used and reserved, as `most` is written. */
export type LimitSum = { readonly limit: SpendLimit; readonly before: number | string };

export interface SpendBook {
  /**
   * Reserves the most that a call may use, if with it every limit holds. Resolves once that is
   * written as safely as an accepted message. Never rejects.
   * @param limits count the models that cost alone: of the day and the brain, or of these and the
   *   sender
   */
  reserve(charged: Charged, most: Tokens, limits: readonly SpendLimit[]): Promise<Reserving>;
  /**
   * A call is over. Nobody waits for this write, and it lands no later than what is asked of the
   * ledger after it; of a model that is free a second later.
   * @param reserved what `reserve` wrote for it; null: nothing, since the model is free
   * @param used null: nothing, since it was not sent; then no call is counted
   */
  settle(charged: Charged, reserved: Tokens | null, used: Used | null): void;
}

/** Part of the reader. */
export interface SpendReader {
  /**
   * Largest cost first, then most tokens; at most 1,000 rows. Of what is older than 400 days, and
   * of senders than the storage keeps texts, nothing is kept.
   * @param since a local day, `YYYY-MM-DD`
   */
  spent(by: SpendBy, since: string): Promise<readonly SpendRow[]>;
}

// Conversations that an operator answers by hand. While one is held no message of it is handed
// out: what is at work loses its claim, and waits first in its lane; what comes waits behind it, in
// order, commands too. Replies go out as ever. A hold ends by `giveBack`, or an hour after it was
// last touched (held, renewed or answered); then what waits is handed out as it stands.
//
// To one message comes one answer: that of the turn where its commit was first, else that of the
// operator. A form that outlives the process keeps holds, too. Without storage a drain ends them,
// so that what was accepted is worked off.

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

// Lists of what went through the ledger and of what operators did: a part of its reader.

/**
 * A page looks through a bounded number of rows. Where few match, it may hold fewer than it was
 * asked for, even none, and have a `next` all the same.
 */
export interface RecordsReader {
  /** The newest first, by their acceptance. */
  messages(filter: MessageFilter, page: PageAsked): Promise<Page<MessageRow>>;
  /** Whose some messages are, of those that are kept; the first `originsMax` are looked for. */
  origins(messageIds: readonly string[]): Promise<readonly MessageOrigin[]>;
  /** Replies, the newest first: a replayed reply is as new as its replay. */
  deliveries(filter: DeliveryFilter, page: PageAsked): Promise<Page<DeliveryRow>>;
  /** In the order of their channels. Empty without storage. */
  conversationCounts(): Promise<readonly ConversationCount[]>;
  /** What operators did, newest first; without storage the last thousand. */
  audit(page: PageAsked): Promise<Page<AuditRow>>;
}

interface AuditTrail {
  /**
   * Writes down what an operator did.
   * @returns false: it could not be kept; otherwise it is as safe as this form can make it
   */
  recordWrite(row: AuditRow): Promise<boolean>;
}

/**
 * Unless it is `ok`, nothing is accepted. `low`: less is free than there must be; what was accepted
 * is worked on. `full`: a commit found no room; what is finished waits, and is tried every second.
 * `locked`: another program writes the database file, and is waited for in the same way.
 * `away`: the database server does not answer; what is finished waits for it.
 */
export type StorageRoom =
  | { readonly kind: 'ok' }
  | { readonly kind: 'full' }
  /** `holder`: the process of that program; null: not known. */
  | { readonly kind: 'locked'; readonly holder: number | null }
  | { readonly kind: 'away' }
  | { readonly kind: 'low'; readonly freeBytes: number; readonly freeBytesMin: number };

/** What a ledger tells of itself, at any time; whoever listens returns at once. */
export type LedgerNews = {
  /** Rows of a channel that is not served wait; at `untilAt` they become dead letters. */
  readonly unroutable?: (e: {
    readonly channel: ChannelKey;
    readonly rows: number;
    readonly since: number;
    readonly untilAt: number;
  }) => void;
  /** Whether there is room on the disk, each time that this changes. */
  readonly storageRoom?: (room: StorageRoom) => void;
  /** A database of an older svc is brought up to date before it is used; it may take minutes. */
  readonly storageUpgrading?: (e: { readonly from: number; readonly to: number }) => void;
  /** Another process had the storage, and may be alive: it is waited for, so long at most. */
  readonly storageWaits?: (e: { readonly ms: number }) => void;
  /**
   * The clock that svc goes by was ahead when the next tries of so many replies were planned. They
   * lay up to `aheadMs` further ahead than their schedule allows, and are sooner now.
   */
  readonly clockWasAhead?: (e: { readonly replies: number; readonly aheadMs: number }) => void;
  /** A dead letter that no claim made. */
  readonly buried?: (e: {
    readonly box: Box;
    readonly channel: ChannelKey;
    readonly id: string;
    readonly failure: Failure;
  }) => void;
  /** A hold has ended by itself: the conversation's brain goes on. */
  readonly holdOver?: (e: { readonly channel: ChannelKey }) => void;
  /** A bug, by which nothing more is lost than what it was in; the ledger goes on. */
  readonly faulted?: (error: unknown) => void;
};

/** Why a storage cannot be used. */
export type StoreProblem = {
  readonly kind: 'problem';
  readonly code: string;
  /** What is wrong, and what a person can do about it. */
  readonly message: string;
  /** Whether the next start may find it gone; of the others only a person can rid us. */
  readonly isPassing: boolean;
};
