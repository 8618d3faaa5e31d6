/**
 * The ledger on SQLite: the working set in memory, and a journal of grouped, fsynced commits under
 * it. Three entries a message: accepted, turn done, delivered. Nothing becomes claimable before
 * the commit that made it so.
 */
import type { Acceptance, Receipt } from '../../channel/channel.ts';
import type { TurnRow } from '../../domain/conversation.ts';
import type { Note } from '../../domain/note.ts';
import type { Journaled, ToolUse } from '../../domain/tool-use.ts';
import type { Box } from '../../domain/event.ts';
import type { Failure } from '../../domain/failure.ts';
import type { ChannelKey, MessageId } from '../../domain/ids.ts';
import type { Inbound, Message } from '../../domain/message.ts';
import { OpenClaims, upTo } from '../claims.ts';
import { Doorway, refused } from '../doorway.ts';
import { laterParts, type InRow, type OutRow } from '../rows.ts';
import type {
  ChannelBacklog,
  Claim,
  CursorMove,
  DeadLetterMove,
  Effects,
  Gauges,
  InClaim,
  Ledger,
  OutClaim,
} from '../store.ts';
import { Unroutable } from '../unroutable.ts';
import type { WorkingSet } from '../working-set.ts';
import { acceptWrite, replyWrite, traceWrite } from './bodies.ts';
import { DiskWatch } from './disk-watch.ts';
import type { Journal, Known } from './journal.ts';
import type { DurableParts } from './parts.ts';
import { Quarantine } from './quarantine.ts';
import { Recollection, unroutableCursor } from './recollection.ts';
import { deadLettersIn } from './recovery.ts';
import type { Write } from './statements.ts';
import { memoryAfter, turnWrites } from './turn.ts';
import { dedupeMs, terms, tracesPendingMax } from './terms.ts';

type Arrival = { readonly message: Message; readonly seq: number; readonly place: number };

const safe = Promise.resolve();

export class DurableLedger implements Ledger {
  readonly terms = terms;
  readonly #parts: DurableParts;
  readonly #rows: WorkingSet;
  readonly #journal: Journal;
  readonly #door: Doorway;
  readonly #recollection: Recollection;
  readonly #quarantine: Quarantine;
  readonly #unroutable: Unroutable;
  readonly #disk: DiskWatch;
  readonly #open = new OpenClaims();
  /** Messages on their way to the disk. */
  #arriving = 0;
  #deadLetters: number;
  #tracesDropped = 0;
  #failed = false;
  #closing: Promise<void> | null = null;

  constructor(parts: DurableParts) {
    this.#parts = parts;
    this.#rows = parts.rows;
    this.#journal = parts.journal;
    this.#door = new Doorway(() => this.room());
    this.#recollection = new Recollection(parts.reader);
    this.#quarantine = new Quarantine(parts.suspects, {
      ...parts,
      write: (write) => {
        this.#journal.add(write);
        return this.#written(() => {});
      },
    });
    this.#unroutable = new Unroutable({
      ...parts,
      read: (channel) => this.#recollection.unroutableSince(channel),
      keep: (channel, since) => {
        const value = since === null ? '' : String(since);
        this.#journal.add(['cursor', channel, unroutableCursor, value]);
        this.#journal.flush(() => {});
      },
      take: (box, channel) =>
        box === 'in' ? this.#claimUnserved(channel) : this.#claimOut(channel),
      bury: (claim, why) => this.bury(claim, why),
    });
    this.#deadLetters = deadLettersIn(parts.reader);
    this.#disk = new DiskWatch(parts.limits.freeBytesMin, (room) => parts.news.storageRoom?.(room));
    const look = (): void => {
      this.#disk.look(parts.journal.freeBytes, parts.journal.full);
      this.#door.settled();
    };
    parts.journal.onDisk(look);
    look();
    parts.journal.onBroken((message) => this.#fail(new Error(message)));
  }

  async accept(batch: readonly Inbound[], cursor?: CursorMove): Promise<Acceptance> {
    const refusal = this.#door.refusal(batch);
    if (refusal !== null) return refusal;
    const arrivals = batch.map((inbound) => this.#arrive(inbound));
    if (cursor !== undefined) {
      this.#journal.add(['cursor', cursor.channel, cursor.name, cursor.value]);
    }
    this.#arriving += arrivals.length;
    return new Promise((resolve) => {
      const written = (known: Known | null): void => {
        this.#arriving -= arrivals.length;
        if (known === null) return resolve(refused('storage_failed', storageRetryMs));
        const receipts = arrivals.map((arrival) => this.#receive(arrival, known));
        resolve({ kind: 'accepted', receipts });
      };
      const noRoom = (): void => {
        this.#arriving -= arrivals.length;
        // To the sender it is as any full inbox: it goes on by itself.
        resolve(refused('full', storageRetryMs));
      };
      this.#journal.flush(written, noRoom);
    });
  }

  room(): { readonly messages: number; readonly bytes: number } {
    const { messagesMax, bytesMax } = this.#parts.limits;
    if (!this.#disk.hasRoom) return { messages: 0, bytes: 0 };
    return {
      messages: Math.max(0, messagesMax - this.#rows.unsettled - this.#arriving),
      bytes: Math.max(0, bytesMax - this.#rows.bytes),
    };
  }

  whenRoom(signal: AbortSignal): Promise<void> {
    return this.#door.whenRoom(signal);
  }

  claim(box: 'in', channel: ChannelKey, n: number): Promise<readonly InClaim[]>;
  claim(box: 'out', channel: ChannelKey, n: number): Promise<readonly OutClaim[]>;
  async claim(box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> {
    // A failed one gives no work: its end could not be written down.
    if (this.#failed) return [];
    if (this.#quarantine.suspects > 0) return this.#claimBeside(box, channel, n);
    return this.#claimOthers(box, channel, n);
  }

  complete(claim: InClaim, effects: Effects): Promise<boolean> {
    return this.#finish(claim, effects, (seq, now) => ['inboxSettled', now, seq]);
  }

  async delivered(claim: OutClaim): Promise<boolean> {
    const row = this.#open.endOut(claim);
    if (row === null) return false;
    this.#journal.add(['outboxSettled', this.#parts.now(), row.seq]);
    const settle = (known: Known | null): void => {
      if (known !== null) this.#settle(row);
    };
    // Only the lane's next reply waits for this commit.
    if (row.lane.outbox.length > 1) this.#journal.flush(settle);
    else this.#journal.flushSoon(settle);
    return !this.#journal.broken;
  }

  defer(
    claim: OutClaim,
    at: number,
    why: Failure,
    how: { readonly park: boolean; readonly possibleDuplicate: boolean },
  ): Promise<boolean> {
    const row = this.#open.endOut(claim);
    if (row === null) return Promise.resolve(false);
    const late = how.park || row.late ? 1 : 0;
    const duplicate = how.possibleDuplicate ? 1 : 0;
    const due = Math.round(at);
    const reason = JSON.stringify(why);
    this.#journal.add(['outboxDeferred', row.attempt, due, late, duplicate, reason, row.seq]);
    return this.#written(() => {
      row.attempt++;
      row.possibleDuplicate = how.possibleDuplicate;
      this.#rows.postpone(row, at, how.park);
    });
  }

  async release(claim: Claim): Promise<void> {
    const row = claim.box === 'in' ? this.#open.endIn(claim) : this.#open.endOut(claim);
    if (row === null || (row.box === 'in' && this.#quarantine.released(row))) return;
    this.#rows.giveBack(row);
  }

  bury(claim: Claim, why: Failure, effects?: Effects): Promise<boolean> {
    const reason = JSON.stringify(why);
    if (claim.box === 'in') {
      return this.#finish(claim, effects, (seq, now) => {
        this.#deadLetters++;
        return ['inboxDead', now, reason, seq];
      });
    }
    const row = this.#open.endOut(claim);
    if (row === null) return Promise.resolve(false);
    const parts = laterParts(row);
    const now = this.#parts.now();
    this.#journal.add(['outboxDead', now, reason, row.seq]);
    for (const { seq } of parts) this.#journal.add(['outboxDead', now, reason, seq]);
    this.#deadLetters++;
    return this.#written(() => this.#settle(row, parts));
  }

  async cursor(channel: ChannelKey, name: string): Promise<string | null> {
    return this.#recollection.cursor(channel, name);
  }

  recall(): Promise<readonly TurnRow[]> {
    return Promise.resolve([]);
  }

  notes(): Promise<readonly Note[]> {
    return Promise.resolve([]);
  }

  toolUses(): Promise<readonly ToolUse[]> {
    return Promise.resolve([]);
  }

  journal(): Promise<Journaled> {
    return Promise.resolve({ kind: 'run' });
  }

  journalEnd(): void {}

  serve(channels: readonly ChannelKey[]): void {
    this.#quarantine.serve(channels);
    this.#unroutable.serve(channels);
  }

  replay(): Promise<DeadLetterMove> {
    return Promise.resolve('not_kept');
  }

  discard(): Promise<DeadLetterMove> {
    return Promise.resolve('not_kept');
  }

  forget(): Promise<number> {
    return Promise.resolve(0);
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
    return {
      ...this.#rows.gauges(),
      deadLetters: this.#deadLetters,
      unroutable: this.#unroutable.rows,
      suspects: this.#quarantine.suspects,
      tracesDropped: this.#tracesDropped,
      bytesMax: this.#parts.limits.bytesMax,
      messagesMax: this.#parts.limits.messagesMax,
      rememberedBytes: this.#recollection.bytes,
      commitsPending: this.#journal.pending,
    };
  }

  closeIntake(): void {
    this.#door.close('shutting_down');
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.closeIntake();
    this.#unroutable.close();
    for (const claim of this.#open) await this.release(claim);
    this.#rows.close();
    this.#quarantine.close();
    // Whoever is the last to close folds the log into the database, and syncs it. The writer is to
    // do that, but not once a sync has failed: the next start finds what is on the disk.
    const { reader } = this.#parts;
    if (!this.#journal.broken) reader.close();
    await this.#journal.close();
    if (reader.isOpen) reader.close();
    this.#parts.lock.release();
  }

  #arrive({ dedupeKey, ...facts }: Inbound): Arrival {
    const acceptedAt = this.#parts.now();
    const message: Message = { ...facts, id: this.#parts.ids.message(), acceptedAt };
    const seq = this.#rows.nextSeq();
    const write = acceptWrite(seq, message);
    if (dedupeKey === null) return { message, seq, place: this.#journal.add(write) };
    const expiresAt = acceptedAt + dedupeMs(message.channel);
    return { message, seq, place: this.#journal.add({ key: dedupeKey, expiresAt, write }) };
  }

  #receive({ message, seq, place }: Arrival, known: Known): Receipt {
    const first = known.get(place);
    if (first !== undefined) return { id: first as MessageId, duplicate: true, safe };
    this.#rows.addMessage(message, seq);
    return { id: message.id, duplicate: false, safe };
  }

  /** For good: nothing is accepted any more, and whoever runs this is told, once. */
  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#parts.noteFailure({ alone: this.#quarantine.alone });
    this.#door.close('storage_failed');
    this.#parts.onFault?.(error);
  }

  /** The next suspect, if it is of this channel, and what need not wait for it. */
  async #claimBeside(box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> {
    const row = box === 'in' ? await this.#quarantine.next(channel) : null;
    const first = row === null ? null : this.#claimOf(row);
    if (this.#quarantine.holdsOthers()) return first === null ? [] : [first];
    if (first === null) return this.#claimOthers(box, channel, n);
    return [first, ...this.#claimOthers(box, channel, n - 1)];
  }

  #claimOthers(box: Box, channel: ChannelKey, n: number): readonly Claim[] {
    return upTo<Claim>(n, () => (box === 'in' ? this.#claimIn(channel) : this.#claimOut(channel)));
  }

  #claimIn(channel: ChannelKey): InClaim | null {
    const row = this.#rows.take('in', channel);
    return row === undefined ? null : this.#claimOf(row);
  }

  #claimUnserved(channel: ChannelKey): InClaim | null {
    const held = this.#quarantine.takeUnserved(channel);
    return held === null ? this.#claimIn(channel) : this.#claimOf(held);
  }

  #claimOf(row: InRow): InClaim | null {
    try {
      return this.#open.claimIn(row, this.#recollection.of(row.message));
    } catch (error) {
      this.#rows.giveBack(row);
      this.#fail(error);
      return null;
    }
  }

  #claimOut(channel: ChannelKey): OutClaim | null {
    const row = this.#rows.take('out', channel);
    return row === undefined ? null : this.#open.claimOut(row);
  }

  #finish(
    claim: InClaim,
    effects: Effects | undefined,
    ending: (seq: number, now: number) => Write,
  ): Promise<boolean> {
    const row = this.#open.endIn(claim);
    if (row === null) return Promise.resolve(false);
    const { message } = row;
    this.#journal.add(ending(row.seq, this.#parts.now()));
    const memory = memoryAfter(message, claim.memory, effects);
    for (const write of turnWrites(message, row.seq, memory, effects)) this.#journal.add(write);
    const replies = (effects?.replies ?? []).map((reply) => {
      const seq = this.#rows.nextSeq();
      this.#journal.add(replyWrite(seq, reply));
      return { reply, seq };
    });
    const trace = effects?.trace ?? null;
    if (trace !== null && this.#journal.pending >= tracesPendingMax) this.#tracesDropped++;
    else if (trace !== null) this.#journal.add(traceWrite(message.id, trace));
    return this.#written(() => {
      for (const { reply, seq } of replies) this.#rows.addReply(reply, row.settlement, seq);
      this.#recollection.put(message, memory);
      this.#settle(row);
    });
  }

  /** Resolves once all that was added is on disk and `then` was done; false when it cannot be. */
  #written(then: () => void): Promise<boolean> {
    return new Promise((resolve) => {
      this.#journal.flush((known) => {
        if (known !== null) then();
        resolve(known !== null);
      });
    });
  }

  #settle(row: InRow | OutRow, parts?: readonly OutRow[]): void {
    this.#rows.settle(row, parts);
    if (row.box === 'in') this.#quarantine.ended(row);
    this.#door.settled();
  }
}

const storageRetryMs = 5_000;
