/**
 * The ledger over any storage: it keeps the working set in memory. It makes three entries for each
 * message: accepted, turn done, delivered. Nothing becomes claimable before the commit that made it
 * so. Only this file, and `takeover.ts` for an operator's answer, change memory after a commit.
 *
 * open → failed (accepts and hands out nothing; `onFault` is called once) or closed
 *
 * The states of a message and a reply stand in `working-set.ts`.
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
import type { ChannelKey } from '../../domain/ids.ts';
import type { Inbound } from '../../domain/message.ts';
import type { Note, NoteScope, NotesOf } from '../../domain/note.ts';
import type { DeferredGroup, RetriedNow, WhichDeferred } from '../../domain/records.ts';
import type { Deferral } from '../../domain/reply.ts';
import type { ConversationKey, MessageOwner } from '../../domain/story.ts';
import type { ToolUse } from '../../domain/tool-use.ts';
import { OneAtATime } from '../../lib/one-at-a-time.ts';
import {
  NotOverwritten,
  type ChannelBacklog,
  type Claim,
  type CursorMove,
  type DeadLetterMove,
  type DeferredReplies,
  type Durability,
  type Effects,
  type Gauges,
  type InClaim,
  type Ledger,
  type OutClaim,
} from '../ledger.ts';
import { OpenApprovals } from './approvals.ts';
import { ClaimedAttachments, Claims, KeptPreviews, ToolCalls } from './claims.ts';
import {
  bytesOfMessage,
  isOf,
  laterParts,
  MessageProgress,
  type OutRow,
  type Row,
  type WholeInRow,
} from './queue.ts';
import { Unroutable } from './schedule.ts';
import {
  type Arrival,
  type Forgotten,
  type JoinedEnd,
  type LedgerDeps,
  type LedgerStorage,
  type OthersRows,
} from './storage.ts';
import { ActiveTakeovers } from './takeover.ts';
import type { WorkingSet } from './working-set.ts';

const no = Promise.resolve(false);
const nobody: ReadonlySet<string> = new Set();

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
  readonly #deps: LedgerDeps;
  readonly #rows: WorkingSet;
  readonly #storage: LedgerStorage;
  readonly #claims: Claims;
  readonly #intake: Intake;
  readonly #unroutable: Unroutable;
  /** Runs one request of an operator after the other. */
  readonly #requests = new OneAtATime();
  #failed = false;
  #closing: Promise<void> | null = null;

  constructor(deps: LedgerDeps) {
    const { rows, storage } = deps;
    this.#deps = deps;
    this.#rows = rows;
    this.#storage = storage;
    this.#claims = new Claims(deps, (error) => this.#fail(error));
    this.#intake = new Intake(deps);
    this.durability = storage.durability;
    this.figures = storage.figures;
    this.approvals = new OpenApprovals(storage.approvals, () => this.#closing !== null);
    this.spend = storage.spend;
    this.calls = new ToolCalls(this.#claims, storage);
    this.previews = new KeptPreviews(this.#claims, storage);
    this.attachments = new ClaimedAttachments(this.#claims, storage.attachments);
    this.deferred = new Deferred(deps, (act, closed) => this.#request(act, closed));
    this.#unroutable = new Unroutable({
      ...deps,
      backlog: () => rows.backlog(),
      read: (channel) => storage.history.unroutableSince(channel),
      keep: (channel, since) => storage.keepUnroutable(channel, since),
      take: (box, channel, n) => this.#claims.takeUnserved(box, channel, n),
      deadLetter: (claim, why) => this.deadLetter(claim, why),
    });
    const settled = (): void => this.#intake.settled();
    this.takeovers = new ActiveTakeovers(deps, this.#claims, this.#requests, settled);
    storage.listen({
      failed: (error) => this.#fail(error),
      roomChanged: settled,
      forgetHere: async (theirs, answered) => void (await this.#forgetHere(theirs, answered)),
      tryHere: (replies) => this.deferred.tryHere(replies),
      heldHere: (where, hold) => this.takeovers.heldHere(where, hold),
      answeredHere: (where, messages) => this.#answeredHere(where, messages),
    });
  }

  accept(batch: readonly Inbound[], ...cursors: readonly CursorMove[]): Promise<Acceptance> {
    return this.#intake.accept(batch, cursors);
  }

  room(): { readonly messages: number; readonly bytes: number } {
    return this.#intake.room();
  }

  whenRoom(signal: AbortSignal): Promise<void> {
    return this.#intake.whenRoom(signal);
  }

  claim(box: 'in', channel: ChannelKey, n: number): Promise<readonly InClaim[]>;
  claim(box: 'out', channel: ChannelKey, n: number): Promise<readonly OutClaim[]>;
  claim(box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> {
    return this.#claims.claim(box, channel, n);
  }

  complete(claim: InClaim, effects: Effects): Promise<boolean> {
    return this.#endTurn(claim, null, effects);
  }

  delivered(claim: OutClaim): Promise<boolean> {
    const row = this.#claims.end(claim);
    if (row === null) return no;
    return this.#storage.delivered({ row, at: this.#deps.now() }, () => this.#settle(row));
  }

  defer(claim: OutClaim, at: number, why: Failure, how: Deferral): Promise<boolean> {
    const row = this.#claims.end(claim);
    if (row === null) return no;
    return this.#storage.deferred({ row, at: this.#deps.now(), why, dueAt: at, how }, () => {
      row.attempt++;
      if (how.uncounted === true) row.replayedAfter++;
      row.why = why;
      row.possibleDuplicate = how.possibleDuplicate;
      this.#rows.postpone(row, at, how.park);
    });
  }

  async release(claim: Claim, at?: number): Promise<void> {
    this.#claims.release(claim, at);
  }

  deadLetter(claim: Claim, why: Failure, effects?: Effects): Promise<boolean> {
    if (claim.box === 'in') return this.#endTurn(claim, why, effects ?? null);
    const row = this.#claims.end(claim);
    if (row === null) return no;
    const parts = laterParts(row);
    const end = { row, at: this.#deps.now(), why };
    return this.#storage.buried(end, parts, () => this.#settle(row, parts));
  }

  async cursor(channel: ChannelKey, name: string): Promise<string | null> {
    if (this.#closing !== null) throw new Error('the ledger is closed');
    return this.#storage.history.cursor(channel, name);
  }

  async recall(claim: InClaim, n: number): Promise<readonly TurnRow[]> {
    return this.#claims.has(claim) ? this.#storage.history.said(claim.message, n) : [];
  }

  async earlier(claim: InClaim, at: number, n: number): Promise<EarlierTurns> {
    return this.#claims.has(claim) ? this.#storage.history.earlier(claim.message, at, n) : noTurns;
  }

  async notes(claim: InClaim, scope: NoteScope): Promise<readonly Note[]> {
    return this.#claims.has(claim) ? this.#storage.agents.notes(claim.message, scope) : [];
  }

  async brainOfTurn(claim: InClaim, at: number): Promise<string | null> {
    return this.#claims.has(claim) ? this.#storage.history.brainOfTurn(claim.message, at) : null;
  }

  async toolUses(claim: InClaim, n: number): Promise<readonly ToolUse[]> {
    return this.#claims.has(claim) ? this.#storage.agents.toolUses(claim.message, n) : [];
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
    return this.#request(() => this.#forget(whose));
  }

  clearNotes(of: NotesOf): Promise<number> {
    return this.#request(() => this.#storage.forgetting.clearNotes(of));
  }

  async recordWrite(row: AuditRow): Promise<boolean> {
    return this.#closing === null && this.#storage.audit(row);
  }

  onReady(wake: (box: Box, channel: ChannelKey) => void): () => void {
    return this.#rows.onReady(wake);
  }

  backlog(): readonly ChannelBacklog[] {
    return this.#unroutable.backlog();
  }

  unsettled(most: number): readonly string[] {
    return this.#rows.idsOfUnsettled(most);
  }

  gauges(): Gauges {
    const storage = this.#storage;
    return {
      ...this.#rows.gauges(),
      ...storage.limits,
      ...storage.gauges(),
      deadLetters: storage.deadLetters.count,
      rememberedBytes: storage.history.bytes,
      suspects: storage.crashIsolation?.suspects ?? 0,
      unroutable: this.#unroutable.rows,
      held: this.takeovers.count,
    };
  }

  closeIntake(): void {
    this.#intake.close('shutting_down');
    this.#storage.drain?.();
    if (!this.durability.durable) this.takeovers.endAll();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.closeIntake();
    this.#claims.stop();
    this.#unroutable.close();
    this.takeovers.close();
    for (const claim of this.#claims) this.#claims.release(claim);
    this.#rows.close();
    this.#storage.crashIsolation?.close();
    await this.#storage.close();
  }

  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#claims.stop();
    this.#storage.noteFailure(this.#storage.crashIsolation?.alone ?? null);
    this.#intake.close('storage_failed');
    this.#deps.onFault?.(error);
  }

  /** @param why the reason of a dead letter; null: the message is answered */
  #endTurn(claim: InClaim, why: Failure | null, effects: Effects | null): Promise<boolean> {
    const row = this.#claims.end(claim);
    if (row === null) return no;
    const replies = (effects?.replies ?? []).map((reply) => ({ reply, seq: this.#rows.nextSeq() }));
    const ended = { row, at: this.#deps.now(), memory: claim.memory, why, effects, replies };
    const end = row.merged.length === 0 ? ended : { ...ended, joined: joinedEnds(row, effects) };
    return this.#storage.turnEnded(end, () => {
      if (!row.gone) {
        for (const { reply, seq } of replies) this.#rows.addReply(reply, row.progress, seq);
      }
      this.#settle(row);
    });
  }

  #settle(row: Row, parts: readonly OutRow[] = []): void {
    this.#rows.settle(row, parts);
    if (row.box === 'in') this.#storage.crashIsolation?.ended(row);
    this.#intake.settled();
  }

  async #forget(whose: MessageOwner): Promise<number> {
    const before = this.#rows.nextSeq();
    const theirs = { whose, beforeId: this.#deps.ids.message() };
    const gone = await this.#forgetHere(theirs);
    const forgetting = this.#storage.forgetting.forget({ ...theirs, ...gone, before });
    const deleted = await forgetting.catch((error: unknown) => {
      if (error instanceof NotOverwritten) return error;
      throw error;
    });
    // The stored takeover names the conversation.
    if (whose.kind === 'conversation') await this.takeovers.end(whose);
    this.#storage.crashIsolation?.changed();
    this.#intake.settled();
    if (typeof deleted !== 'number') throw deleted;
    return deleted;
  }

  /**
   * Removes their rows from memory, also those on their way into or from the storage. Rejects when
   * the storage has failed.
   * @param answered ids of messages; replies to them are removed too
   */
  async #forgetHere(
    theirs: OthersRows,
    answered = nobody,
  ): Promise<Pick<Forgotten, 'removed' | 'remove'>> {
    const { whose, beforeId } = theirs;
    const arrived = this.#intake.unwanted(theirs);
    const conversation = whose.kind === 'conversation' ? whose.conversation : null;
    const remove = (matches: (row: Row) => boolean): number =>
      this.#claims.remove(whose.channel, conversation, matches);
    const isTheirs = (row: Row): boolean => {
      const message = row.box === 'in' ? row.head.id : row.head.inReplyTo;
      if (isOf(whose, row.queue, row.progress.sender) && message < beforeId) return true;
      return row.box === 'out' && answered.has(message);
    };
    let removed = remove(isTheirs);
    const written = await this.#storage.written();
    arrived();
    if (!written) throw new Error('the storage has failed');
    await this.#storage.unwanted?.(theirs);
    removed += remove(isTheirs);
    this.#storage.crashIsolation?.changed();
    return { removed, remove };
  }

  /** Removes messages that another process has answered. Work on them stops. */
  #answeredHere({ channel, conversation }: ConversationKey, ids: ReadonlySet<string>): void {
    const isOne = ({ box, head }: Row): boolean => box === 'in' && ids.has(head.id);
    this.#claims.remove(channel, conversation, isOne);
    this.#storage.crashIsolation?.changed();
    this.#intake.settled();
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
 * The ends of the messages merged into this one. Each trace names the message that the message was
 * answered with, and has no other steps.
 */
function joinedEnds({ merged, head }: WholeInRow, effects: Effects | null): readonly JoinedEnd[] {
  const trace = effects?.trace ?? null;
  return merged.map((row) => {
    if (trace === null) return { row, trace };
    const { acceptedAt } = row.head;
    const steps = [{ kind: 'joined', answeredWith: head.id } as const];
    return { row, trace: { ...trace, acceptedAt, attempt: row.attempt, steps } };
  });
}

/** A message on its way. `isPending`: it has not entered the working set, nor been turned away. */
type PendingArrival = Arrival & { readonly bytes: number; isPending: boolean };

const nothing = { messages: 0, bytes: 0 };
const nobodyWaits = MessageProgress.ended();
const fullRetryMs = 1_000;
const closedRetryMs = 5_000;

/**
 * Lets messages in while there is room, and lets callers wait for room. A message counts from the
 * moment it is let in, and is claimable after the commit.
 */
class Intake {
  readonly #deps: LedgerDeps;
  readonly #unwanted = new Set<OthersRows>();
  readonly #waiting = new Set<() => void>();
  #closed: 'shutting_down' | 'storage_failed' | null = null;
  /** Messages on their way into the storage, and their bytes. */
  #messages = 0;
  #bytes = 0;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
  }

  async accept(batch: readonly Inbound[], cursors: readonly CursorMove[]): Promise<Acceptance> {
    const refusal = this.#refusal(batch);
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
      messages: Math.max(0, limits.messagesMax - unsettled - elsewhere.messages - this.#messages),
      bytes: Math.max(0, limits.bytesMax - bytes - elsewhere.bytes - this.#bytes),
    };
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
        const { messages, bytes } = this.room();
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

  /**
   * Keeps out of the working set those of their messages that are still on their way.
   * @returns a function to call when all of them have arrived
   */
  unwanted(theirs: OthersRows): () => void {
    this.#unwanted.add(theirs);
    return () => void this.#unwanted.delete(theirs);
  }

  /** Why this batch is refused; null: it can be accepted. */
  #refusal(batch: readonly Inbound[]): Refused | null {
    if (this.#closed !== null) return refused(this.#closed, closedRetryMs);
    const room = this.room();
    let bytes = 0;
    for (const inbound of batch) bytes += bytesOfMessage(inbound);
    return batch.length > room.messages || bytes > room.bytes ? refused('full', fullRetryMs) : null;
  }

  #arrive(inbound: Inbound): PendingArrival {
    // `gather` holds the time at which the message was sent.
    const { dedupeKey, keyCheck, saidAt: _, edits: __, ...facts } = inbound;
    const { rows, ids, now } = this.#deps;
    const { sensitivity = 'private' } = facts;
    const message = { ...facts, sensitivity, id: ids.message(), acceptedAt: now() };
    const bytes = bytesOfMessage(message);
    this.#messages++;
    this.#bytes += bytes;
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
    this.#messages--;
    this.#bytes -= arrival.bytes;
  }
}

export function refused(reason: Refused['reason'], retryAfterMs: number): Refused {
  return { kind: 'refused', reason, retryAfterMs };
}

const groupsMax = 100;
/** While this many replies of a channel are ready, no more are added. */
const readyMax = 500;

const deferredFailed: RetriedNow = { kind: 'storage_failed' };

/** Runs one operator request after the other. After the end of the ledger it returns `closed`. */
type AskOperator = <T>(act: () => Promise<T>, closed: T) => Promise<T>;

/**
 * Tries deferred replies at once, for an operator. With several processes on one storage, each
 * process holds some of the replies. Then the storage knows all of them, and notifies the other
 * processes.
 */
class Deferred implements DeferredReplies {
  readonly #deps: LedgerDeps;
  readonly #ask: AskOperator;

  constructor(deps: LedgerDeps, ask: AskOperator) {
    this.#deps = deps;
    this.#ask = ask;
  }

  async groups(): Promise<readonly DeferredGroup[]> {
    const { rows, storage } = this.#deps;
    const groups = (await storage.deferredReplies?.groups()) ?? rows.schedule.groups();
    return groups.toSorted((a, b) => b.count - a.count).slice(0, groupsMax);
  }

  tryNow(which: WhichDeferred, most: number): Promise<RetriedNow> {
    return this.#ask(async () => {
      const room = which.kind === 'one' ? 1 : Math.min(most, this.#room(which.filter.channel));
      if (room <= 0) return { kind: 'moved', moved: 0, more: true };
      const shared = this.#deps.storage.deferredReplies;
      const ids = (await shared?.find(which, room + 1)) ?? this.#find(which, room + 1);
      const moving = ids.slice(0, room);
      const own = this.#own(moving);
      const known = new Set<string>(own.map(({ head }) => head.id));
      const theirs = moving.filter((id) => !known.has(id));
      if (!(await this.#makeDue(own))) return deferredFailed;
      if (theirs.length > 0 && !(await shared?.tryNow(theirs))) return deferredFailed;
      return { kind: 'moved', moved: moving.length, more: ids.length > moving.length };
    }, deferredFailed);
  }

  /** Makes due the replies that this process holds, for another process. */
  async tryHere(ids: readonly string[]): Promise<void> {
    await this.#makeDue(this.#own(ids));
  }

  /** Ids of the waiting replies of this process. */
  #find(which: WhichDeferred, most: number): readonly string[] {
    const { schedule } = this.#deps.rows;
    if (which.kind === 'one') return schedule.find(which.id) === null ? [] : [which.id];
    return schedule.matching(which.filter, which.before, most).map(({ head }) => head.id);
  }

  /** Those of the replies that wait in this process. */
  #own(ids: readonly string[]): readonly OutRow[] {
    return ids.flatMap((id) => this.#deps.rows.schedule.find(id) ?? []);
  }

  /**
   * Makes replies due. No timer offers them any more; they can be handed out once that is written.
   * @returns false: it cannot be written
   */
  async #makeDue(replies: readonly OutRow[]): Promise<boolean> {
    const { now, rows, storage } = this.#deps;
    if (replies.length === 0) return true;
    for (const row of replies) {
      rows.schedule.stop(row);
      row.replayedAfter++;
    }
    return storage.triedNow(replies, now(), () => {
      for (const row of replies) if (!row.gone) rows.schedule.offer(row);
    });
  }

  #room(channel: string | null): number {
    return readyMax - this.#deps.rows.repliesReady(channel);
  }
}
