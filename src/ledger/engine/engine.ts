/**
 * The ledger over any storage: it keeps the working set in memory. It makes three entries for each
 * message: accepted, turn done, delivered. Nothing becomes claimable before the commit that made it
 * so. Only this class changes memory after a commit.
 *
 * open → failed (accepts and hands out nothing; `onFault` is called once) or closed
 */
import type { Acceptance } from '../../channels/channel.ts';
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
import type { Deferral } from '../../domain/reply.ts';
import type { MessageOwner } from '../../domain/story.ts';
import type { ToolUse } from '../../domain/tool-use.ts';
import { OneAtATime } from '../../lib/one-at-a-time.ts';
import { OpenClaims } from './open-claims.ts';
import { IntakeLimit } from './intake-limit.ts';
import { laterParts, type Row } from './queue.ts';
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
} from '../ledger.ts';
import type { Clock } from '../../lib/clock.ts';
import { Unroutable } from './unroutable.ts';
import type { WorkingSet } from './working-set.ts';
import { Accepting, type ArrivalDeps } from './accepting.ts';
import { ClaimedAttachments } from './attachments.ts';
import { OpenApprovals } from './approvals.ts';
import { Claiming } from './claims.ts';
import { Deferred } from './deferred.ts';
import { Forgetting } from './forgetting.ts';
import { ActiveTakeovers } from './takeover.ts';
import { gaugesOf, type LedgerStorage } from './storage.ts';
import { KeptPreviews } from './kept-previews.ts';
import { ToolCalls } from './tool-calls.ts';
import { turnEndOf } from './turn-ends.ts';

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
