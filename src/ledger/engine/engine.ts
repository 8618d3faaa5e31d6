/**
 * The ledger over any storage: it keeps the working set in memory. It makes three entries for each
 * message: accepted, turn done, delivered. Nothing becomes claimable before the commit that made it
 * so. Only this class changes memory after a commit.
 *
 * open → failed (accepts and hands out nothing; `onFault` is called once) or closed
 */
import type { Acceptance, Refused } from '../../channels/channel.ts';
import type { AuditRow } from '../../domain/audit.ts';
import {
  noTurns,
  type EarlierTurns,
  type TurnRow,
  type HistoryBounds,
} from '../../domain/conversation.ts';
import type { Box } from '../../domain/event.ts';
import type { Failure } from '../../domain/failure.ts';
import type { ChannelKey, MessageId, IdSource } from '../../domain/ids.ts';
import type { Inbound } from '../../domain/message.ts';
import type { Note, NoteScope, NotesOf } from '../../domain/note.ts';
import type { Deferral } from '../../domain/reply.ts';
import type { MessageOwner, ConversationKey } from '../../domain/story.ts';
import type { ToolUse } from '../../domain/tool-use.ts';
import { OneAtATime } from '../../lib/one-at-a-time.ts';
import { OpenClaims, Claiming, ToolCalls, KeptPreviews, removeRows } from './claims.ts';
import {
  laterParts,
  isBefore,
  rowIsOf,
  isOf,
  MessageProgress,
  bytesOfMessage,
  type Row,
  type WholeInRow,
  type OutRow,
} from './queue.ts';
import type {
  ChannelBacklog,
  Claim,
  CursorMove,
  DeadLetterMove,
  Durability,
  Effects,
  Gauges,
  InClaim,
  Ledger,
  OutClaim,
  LedgerNews,
  Memory,
  DeferredReplies,
} from '../ledger.ts';
import type { Clock } from '../../lib/clock.ts';
import { Unroutable } from './schedule.ts';
import type { WorkingSet } from './working-set.ts';
import { ClaimedAttachments } from './attachments.ts';
import { OpenApprovals } from './approvals.ts';
import { ActiveTakeovers } from './takeover.ts';
import {
  gaugesOf,
  type LedgerStorage,
  type TurnEnd,
  type Forgotten,
  type OthersRows,
  type Arrival,
} from './storage.ts';
import type { Trace } from '../../domain/trace.ts';
import type { DeferredGroup, RetriedNow, WhichDeferred } from '../../domain/records.ts';

/** Refuses batches for which the ledger has no room, and lets callers wait for room. */
type Room = { readonly messages: number; readonly bytes: number };

const fullRetryMs = 1_000;
const closedRetryMs = 5_000;

class IntakeLimit {
  readonly #room: () => Room;
  readonly #waiting = new Set<() => void>();
  #closed: 'shutting_down' | 'storage_failed' | null = null;

  constructor(room: () => Room) {
    this.#room = room;
  }

  /** Why this batch is refused; null: it can be accepted. */
  refusal(batch: readonly Inbound[]): Refused | null {
    if (this.#closed !== null) return refused(this.#closed, closedRetryMs);
    const room = this.#room();
    let bytes = 0;
    for (const inbound of batch) bytes += bytesOfMessage(inbound);
    return batch.length > room.messages || bytes > room.bytes ? refused('full', fullRetryMs) : null;
  }

  close(reason: 'shutting_down' | 'storage_failed'): void {
    this.#closed ??= reason;
    this.settled();
  }

  /** Call when something is settled: the waiting callers check again. */
  settled(): void {
    for (const check of this.#waiting) check();
  }

  /**
   * Resolves when there is room, when the ledger accepts nothing any more, or when the signal
   * aborts.
   */
  whenRoom(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        const { messages, bytes } = this.#room();
        const over = signal.aborted || this.#closed !== null;
        if (!over && (messages <= 0 || bytes <= 0)) return;
        this.#waiting.delete(check);
        signal.removeEventListener('abort', check);
        resolve();
      };
      this.#waiting.add(check);
      signal.addEventListener('abort', check);
      check();
    });
  }
}

export function refused(reason: Refused['reason'], retryAfterMs: number): Refused {
  return { kind: 'refused', reason, retryAfterMs };
}

// Accepts messages: they count from the moment they are let in, and are claimable after the commit.

/** `underWay`: true until the message has entered the working set, or the storage has answered. */
type PendingArrival = Arrival & { readonly bytes: number; isPending: boolean };

const nothing = { messages: 0, bytes: 0 };
const nobodyWaits = MessageProgress.ended();

type ArrivalDeps = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly ids: IdSource;
  readonly rows: WorkingSet;
  readonly storage: LedgerStorage;
};

class Accepting {
  readonly #deps: ArrivalDeps;
  readonly #intakeLimit: IntakeLimit;
  readonly #unwanted = new Set<OthersRows>();
  /** Messages on their way into the storage, and their bytes. */
  messages = 0;
  bytes = 0;

  constructor(deps: ArrivalDeps, intakeLimit: IntakeLimit) {
    this.#deps = deps;
    this.#intakeLimit = intakeLimit;
  }

  async accept(batch: readonly Inbound[], cursors: readonly CursorMove[]): Promise<Acceptance> {
    const refusal = this.#intakeLimit.refusal(batch);
    if (refusal !== null) return refusal;
    const arrivals = batch.map((inbound) => this.#arrive(inbound));
    const acceptance = await this.#deps.storage.accept(arrivals, cursors, this.#enter);
    for (const arrival of arrivals) this.#arrived(arrival);
    return acceptance;
  }

  /** The room left, with the messages on their way into the storage deducted. */
  room(): { readonly messages: number; readonly bytes: number } {
    const { storage, rows } = this.#deps;
    const { hasRoom, limits, elsewhere = nothing } = storage;
    if (!hasRoom) return nothing;
    const { unsettled, bytes } = rows.totals;
    return {
      messages: Math.max(0, limits.messagesMax - unsettled - elsewhere.messages - this.messages),
      bytes: Math.max(0, limits.bytesMax - bytes - elsewhere.bytes - this.bytes),
    };
  }

  /**
   * Keeps out of the working set those of their messages that are still on their way.
   * @returns a function to call when all of them have arrived
   */
  unwanted(theirs: OthersRows): () => void {
    this.#unwanted.add(theirs);
    return () => void this.#unwanted.delete(theirs);
  }

  #arrive(inbound: Inbound): PendingArrival {
    // `gather` holds the time at which the message was sent.
    const { dedupeKey, keyCheck, saidAt: _, edits: __, ...facts } = inbound;
    const { rows, ids, now } = this.#deps;
    const { sensitivity = 'private' } = facts;
    const message = { ...facts, sensitivity, id: ids.message(), acceptedAt: now() };
    const bytes = bytesOfMessage(message);
    this.messages++;
    this.bytes += bytes;
    const key = { dedupeKey, keyCheck: keyCheck ?? null };
    return { message, seq: rows.nextSeq(), ...key, bytes, isPending: true };
  }

  readonly #enter = (arrival: Arrival): MessageProgress => {
    this.#arrived(arrival as PendingArrival);
    const { message, seq } = arrival;
    for (const { whose, beforeId } of this.#unwanted) {
      if (message.id < beforeId && isOf(whose, message, message.sender.id)) return nobodyWaits;
    }
    return this.#deps.rows.addMessage(message, seq).progress;
  };

  #arrived(arrival: PendingArrival): void {
    if (!arrival.isPending) return;
    arrival.isPending = false;
    this.messages--;
    this.bytes -= arrival.bytes;
  }
}

/** Forgets a person or a conversation: first in memory, then in the storage. */
type ForgettingDeps = {
  readonly ids: IdSource;
  readonly rows: WorkingSet;
  readonly open: OpenClaims;
  readonly storage: LedgerStorage;
  readonly accepting: Accepting;
  /** Called when there may be more room. */
  readonly settled: () => void;
  readonly byHand: Pick<ActiveTakeovers, 'end'>;
};

const nobody: ReadonlySet<string> = new Set();

class Forgetting {
  readonly #deps: ForgettingDeps;

  constructor(deps: ForgettingDeps) {
    this.#deps = deps;
  }

  /**
   * @returns how many messages, replies and turns were deleted. Rejects when the storage has failed
   */
  async forget(whose: MessageOwner): Promise<number> {
    const { ids, rows, storage, settled, byHand } = this.#deps;
    const before = rows.nextSeq();
    const theirs = { whose, beforeId: ids.message() };
    const gone = await this.forgetHere(theirs);
    const deleted = await storage.forgetting.forget({ ...theirs, ...gone, before });
    // The stored takeover names the conversation.
    if (whose.kind === 'conversation') await byHand.end(whose);
    storage.crashIsolation?.changed();
    settled();
    return deleted;
  }

  /** Removes messages that another process has answered. Work on them stops. */
  answeredHere(where: ConversationKey, ids: ReadonlySet<string>): void {
    const { rows, open, storage, settled } = this.#deps;
    const isOne = ({ box, head }: Row): boolean => box === 'in' && ids.has(head.id);
    removeRows(rows, open, { kind: 'conversation', ...where }, isOne);
    storage.crashIsolation?.changed();
    settled();
  }

  /**
   * Removes their rows from memory, also those on their way into or from the storage. Rejects when
   * the storage has failed.
   * @param answered ids of messages; replies to them are removed too
   */
  async forgetHere(
    theirs: OthersRows,
    answered: ReadonlySet<string> = nobody,
  ): Promise<Pick<Forgotten, 'removed' | 'remove'>> {
    const { rows, open, storage, accepting } = this.#deps;
    const { whose, beforeId } = theirs;
    const arrived = accepting.unwanted(theirs);
    const remove = (matches: (row: Row) => boolean): number =>
      removeRows(rows, open, whose, matches);
    const removeTheirs = (): number =>
      remove(
        (row) =>
          (rowIsOf(whose, row) && isBefore(row, beforeId)) ||
          (row.box === 'out' && answered.has(row.head.inReplyTo)),
      );
    let removed = removeTheirs();
    const written = await storage.written();
    arrived();
    if (!written) throw new Error('the storage has failed');
    await storage.unwanted?.(theirs);
    removed += removeTheirs();
    storage.crashIsolation?.changed();
    return { removed, remove };
  }
}

/**
 * Tries deferred replies at once, for an operator. With several processes on one storage, each
 * process holds some of the replies. Then the storage knows all of them, and notifies the other
 * processes.
 */
const groupsMax = 100;
/** While this many replies of a channel are ready, no more are added. */
const readyMax = 500;

type DeferredDeps = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly rows: WorkingSet;
  readonly storage: LedgerStorage;
  /** Runs one operator request after the other. After the end of the ledger it returns `closed`. */
  readonly ask: <T>(act: () => Promise<T>, closed: T) => Promise<T>;
};

const deferredFailed: RetriedNow = { kind: 'storage_failed' };

class Deferred implements DeferredReplies {
  readonly #deps: DeferredDeps;

  constructor(deps: DeferredDeps) {
    this.#deps = deps;
  }

  async groups(): Promise<readonly DeferredGroup[]> {
    const { rows, storage } = this.#deps;
    const groups = (await storage.deferredReplies?.groups()) ?? rows.delayed.deferred.groups();
    return groups.toSorted((a, b) => b.count - a.count).slice(0, groupsMax);
  }

  tryNow(which: WhichDeferred, most: number): Promise<RetriedNow> {
    return this.#deps.ask(async () => {
      const { storage } = this.#deps;
      const room = which.kind === 'one' ? 1 : Math.min(most, this.#room(which.filter.channel));
      if (room <= 0) return { kind: 'moved', moved: 0, more: true };
      const shared = storage.deferredReplies;
      if (shared === undefined) return this.#moveOwn(this.#find(which, room + 1), room);
      const ids = await shared.find(which, room + 1);
      const moving = ids.slice(0, room);
      const own = moving.flatMap((id) => this.#ownRow(id) ?? []);
      const known = new Set<string>(own.map(({ head }) => head.id));
      const theirs = moving.filter((id) => !known.has(id));
      if ((await this.#moveOwn(own, room)).kind !== 'moved') return deferredFailed;
      if (theirs.length > 0 && !(await shared.tryNow(theirs))) return deferredFailed;
      return { kind: 'moved', moved: moving.length, more: ids.length > moving.length };
    }, deferredFailed);
  }

  /** Makes due the replies that this process holds, for another process. */
  async tryHere(ids: readonly string[]): Promise<void> {
    await this.#moveOwn(
      ids.flatMap((id) => this.#ownRow(id) ?? []),
      ids.length,
    );
  }

  #ownRow(id: string): OutRow | null {
    return this.#deps.rows.delayed.deferred.find(id);
  }

  #find(which: WhichDeferred, most: number): readonly OutRow[] {
    const { deferred } = this.#deps.rows.delayed;
    if (which.kind === 'all') return deferred.matching(which.filter, which.before, most);
    const row = deferred.find(which.id);
    return row === null ? [] : [row];
  }

  /**
   * Makes replies due. No timer offers them any more; they can be handed out once that is written.
   */
  async #moveOwn(replies: readonly OutRow[], most: number): Promise<RetriedNow> {
    const { now, rows, storage } = this.#deps;
    const moving = replies.slice(0, most);
    const moved: RetriedNow = {
      kind: 'moved',
      moved: moving.length,
      more: replies.length > moving.length,
    };
    if (moving.length === 0) return moved;
    for (const row of moving) {
      rows.delayed.stop(row);
      row.replayedAfter++;
    }
    const written = await storage.triedNow(moving, now(), () => {
      for (const row of moving) if (!row.gone) rows.delayed.offer(row);
    });
    return written ? moved : deferredFailed;
  }

  #room(channel: string | null): number {
    return readyMax - this.#deps.rows.ready.repliesReady(channel);
  }
}

/** The ledger owns its storage and closes it. `rows`: the rows that the start found in it. */
export type LedgerDeps = ArrivalDeps &
  Clock & {
    readonly news: LedgerNews;
    /**
     * Called once when the storage has failed for good; the ledger refuses everything afterwards.
     */
    readonly onFault?: (error: unknown) => void;
  };

const no = Promise.resolve(false);

export class QueueLedger implements Ledger {
  readonly durability: Durability;
  readonly figures: Ledger['figures'];
  readonly approvals: Ledger['approvals'];
  readonly spend: Ledger['spend'];
  readonly calls: ToolCalls;
  readonly previews: KeptPreviews;
  readonly attachments: ClaimedAttachments;
  readonly deferred: Deferred;
  readonly takeovers: ActiveTakeovers;
  readonly #now: () => number;
  readonly #rows: WorkingSet;
  readonly #storage: LedgerStorage;
  readonly #open = new OpenClaims();
  readonly #intakeLimit: IntakeLimit;
  readonly #accepting: Accepting;
  readonly #claiming: Claiming;
  readonly #unroutable: Unroutable;
  readonly #forgetting: Forgetting;
  /** Runs one request of an operator after the other. */
  readonly #requests = new OneAtATime();
  readonly #onFault: (error: unknown) => void;
  #failed = false;
  #closing: Promise<void> | null = null;

  constructor(deps: LedgerDeps) {
    const { now, steady, ids, rows, storage, news, onFault = () => {} } = deps;
    this.#now = now;
    this.#rows = rows;
    this.#storage = storage;
    this.#onFault = onFault;
    this.durability = storage.durability;
    this.figures = storage.figures;
    this.approvals = new OpenApprovals(storage.approvals, () => this.#closing !== null);
    this.spend = storage.spend;
    this.calls = new ToolCalls(this.#open, storage);
    this.previews = new KeptPreviews(this.#open, storage);
    this.attachments = new ClaimedAttachments(this.#open, storage.attachments);
    this.#intakeLimit = new IntakeLimit(() => this.room());
    this.#accepting = new Accepting(deps, this.#intakeLimit);
    const failed = (error: unknown): void => this.#fail(error);
    this.#claiming = new Claiming({ ...deps, open: this.#open, failed });
    this.deferred = new Deferred({
      now,
      rows,
      storage,
      ask: (act, end) => this.#request(act, end),
    });
    this.#unroutable = new Unroutable({
      now,
      steady,
      backlog: () => rows.backlog(),
      news,
      read: (channel) => storage.history.unroutableSince(channel),
      keep: (channel, since) => storage.keepUnroutable(channel, since),
      take: (box, channel, n) => this.#claiming.takeUnserved(box, channel, n),
      bury: (claim, why) => this.deadLetter(claim, why),
    });
    const settled = (): void => this.#intakeLimit.settled();
    const open = this.#open;
    const accepting = this.#accepting;
    const requests = this.#requests;
    const takeoverDeps = { requests, claiming: this.#claiming, settled };
    const byHand = new ActiveTakeovers({ now, steady, rows, storage, news, ...takeoverDeps });
    this.takeovers = byHand;
    const forgetting = new Forgetting({ ids, rows, open, storage, accepting, settled, byHand });
    this.#forgetting = forgetting;
    storage.listen({
      failed,
      roomChanged: settled,
      forgetHere: async (theirs, answered) => void (await forgetting.forgetHere(theirs, answered)),
      tryHere: (replies) => this.deferred.tryHere(replies),
      heldHere: (where, hold) => byHand.heldHere(where, hold),
      answeredHere: (where, messages) => forgetting.answeredHere(where, messages),
    });
  }

  accept(batch: readonly Inbound[], ...cursors: readonly CursorMove[]): Promise<Acceptance> {
    return this.#accepting.accept(batch, cursors);
  }

  room(): { readonly messages: number; readonly bytes: number } {
    return this.#accepting.room();
  }

  whenRoom(signal: AbortSignal): Promise<void> {
    return this.#intakeLimit.whenRoom(signal);
  }

  claim(box: 'in', channel: ChannelKey, n: number): Promise<readonly InClaim[]>;
  claim(box: 'out', channel: ChannelKey, n: number): Promise<readonly OutClaim[]>;
  claim(box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> {
    return this.#claiming.claim(box, channel, n);
  }

  complete(claim: InClaim, effects: Effects): Promise<boolean> {
    return this.#endTurn(claim, null, effects);
  }

  delivered(claim: OutClaim): Promise<boolean> {
    const row = this.#open.endOut(claim);
    if (row === null) return no;
    return this.#storage.delivered({ row, at: this.#now() }, () => this.#settle(row));
  }

  defer(claim: OutClaim, at: number, why: Failure, how: Deferral): Promise<boolean> {
    const row = this.#open.endOut(claim);
    if (row === null) return no;
    return this.#storage.deferred({ row, at: this.#now(), why, dueAt: at, how }, () => {
      row.attempt++;
      if (how.uncounted === true) row.replayedAfter++;
      row.why = why;
      row.possibleDuplicate = how.possibleDuplicate;
      this.#rows.postpone(row, at, how.park);
    });
  }

  async release(claim: Claim, at?: number): Promise<void> {
    this.#claiming.release(claim, at);
  }

  deadLetter(claim: Claim, why: Failure, effects?: Effects): Promise<boolean> {
    if (claim.box === 'in') return this.#endTurn(claim, why, effects ?? null);
    const row = this.#open.endOut(claim);
    if (row === null) return no;
    const parts = laterParts(row);
    const end = { row, at: this.#now(), why };
    return this.#storage.buried(end, parts, () => this.#settle(row, parts));
  }

  async cursor(channel: ChannelKey, name: string): Promise<string | null> {
    if (this.#closing !== null) throw new Error('the ledger is closed');
    return this.#storage.history.cursor(channel, name);
  }

  async recall(claim: InClaim, n: number): Promise<readonly TurnRow[]> {
    return this.#open.has(claim) ? this.#storage.history.said(claim.message, n) : [];
  }

  async earlier(claim: InClaim, at: number, n: number): Promise<EarlierTurns> {
    return this.#open.has(claim) ? this.#storage.history.earlier(claim.message, at, n) : noTurns;
  }

  async notes(claim: InClaim, scope: NoteScope): Promise<readonly Note[]> {
    return this.#open.has(claim) ? this.#storage.agents.notes(claim.message, scope) : [];
  }

  async toolUses(claim: InClaim, n: number): Promise<readonly ToolUse[]> {
    return this.#open.has(claim) ? this.#storage.agents.toolUses(claim.message, n) : [];
  }

  remember(bounds: HistoryBounds): void {
    this.#storage.history.remember(bounds);
  }

  serve(channels: readonly ChannelKey[]): void {
    if (this.#closing !== null) return;
    this.#storage.serve?.(channels);
    this.#storage.crashIsolation?.serve(channels);
    this.#unroutable.serve(channels);
  }

  replay(id: string): Promise<DeadLetterMove> {
    return this.#request(() => this.#storage.deadLetters.replay(id), 'storage_failed');
  }

  discard(id: string): Promise<DeadLetterMove> {
    return this.#request(() => this.#storage.deadLetters.discard(id), 'storage_failed');
  }

  forget(whose: MessageOwner): Promise<number> {
    return this.#request(() => this.#forgetting.forget(whose));
  }

  clearNotes(of: NotesOf): Promise<number> {
    return this.#request(() => this.#storage.forgetting.clearNotes(of));
  }

  async recordWrite(row: AuditRow): Promise<boolean> {
    return this.#closing === null && this.#storage.audit(row);
  }

  onReady(wake: (box: Box, channel: ChannelKey) => void): () => void {
    return this.#rows.ready.onReady(wake);
  }

  backlog(): readonly ChannelBacklog[] {
    return this.#unroutable.backlog();
  }

  unsettled(most: number): readonly string[] {
    return this.#rows.idsOfUnsettled(most);
  }

  gauges(): Gauges {
    const own = { unroutable: this.#unroutable.rows, held: this.takeovers.count };
    return { ...this.#rows.gauges(), ...gaugesOf(this.#storage), ...own };
  }

  closeIntake(): void {
    this.#intakeLimit.close('shutting_down');
    this.#storage.drain?.();
    if (!this.durability.durable) this.takeovers.endAll();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.closeIntake();
    this.#claiming.stop();
    this.#unroutable.close();
    this.takeovers.close();
    for (const claim of this.#open) this.#claiming.release(claim);
    this.#rows.close();
    this.#storage.crashIsolation?.close();
    await this.#storage.close();
  }

  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#claiming.stop();
    this.#storage.noteFailure(this.#storage.crashIsolation?.alone ?? null);
    this.#intakeLimit.close('storage_failed');
    this.#onFault(error);
  }

  /** @param why the reason of a dead letter; null: the message is answered */
  #endTurn(claim: InClaim, why: Failure | null, effects: Effects | null): Promise<boolean> {
    const row = this.#open.endIn(claim);
    if (row === null) return no;
    const rows = this.#rows;
    const ended = { row, at: this.#now(), memory: claim.memory, why, effects };
    const end = turnEndOf(ended, () => rows.nextSeq());
    return this.#storage.turnEnded(end, () => {
      if (!row.gone) {
        for (const { reply, seq } of end.replies) rows.addReply(reply, row.progress, seq);
      }
      this.#settle(row);
    });
  }

  #settle(row: Row, parts: Parameters<WorkingSet['settle']>[1] = []): void {
    this.#rows.settle(row, parts);
    if (row.box === 'in') this.#storage.crashIsolation?.ended(row);
    this.#intakeLimit.settled();
  }

  /** @param closed the result after the end of the ledger; without it the promise rejects */
  #request<T>(act: () => Promise<T>, closed?: T): Promise<T> {
    return this.#requests.do(async () => {
      if (this.#closing === null) return act();
      if (closed === undefined) throw new Error('the ledger is closed');
      return closed;
    });
  }
}

/**
 * Makes the end of a turn for the storage, with the ends of the messages merged into its message.
 */
type EndedTurn = {
  readonly row: WholeInRow;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly memory: Memory;
  /** The reason of a dead letter; null: it is answered. */
  readonly why: Failure | null;
  readonly effects: Effects | null;
};

function turnEndOf(ended: EndedTurn, nextSeq: () => number): TurnEnd {
  const { row, effects } = ended;
  const replies = (effects?.replies ?? []).map((reply) => ({ reply, seq: nextSeq() }));
  if (row.merged.length === 0) return { ...ended, replies };
  const joined = row.merged.map((other) => {
    return { row: other, trace: mergedTrace(effects?.trace ?? null, other, row.head.id) };
  });
  return { ...ended, replies, joined };
}

/**
 * The trace of a merged message. It names the message that it was answered with, and has no other
 * steps.
 */
function mergedTrace(
  trace: Trace | null,
  { head: { acceptedAt }, attempt }: WholeInRow,
  answeredWith: MessageId,
): Trace | null {
  if (trace === null) return null;
  return { ...trace, acceptedAt, attempt, steps: [{ kind: 'joined', answeredWith }] };
}
