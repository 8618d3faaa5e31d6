/**
 * The ledger on SQLite: the working set in memory, and a journal of grouped, fsynced commits under
 * it. Three entries a message: accepted, turn done, delivered. Nothing becomes claimable before
 * the commit that made it so.
 */
import type { Acceptance } from '../../channel/channel.ts';
import type { TurnRow } from '../../domain/conversation.ts';
import type { Note } from '../../domain/note.ts';
import type { Journaled, ToolUse } from '../../domain/tool-use.ts';
import type { Box } from '../../domain/event.ts';
import type { Failure } from '../../domain/failure.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import type { Inbound } from '../../domain/message.ts';
import type { Whose } from '../../domain/story.ts';
import { OpenClaims, upTo } from '../claims.ts';
import { Doorway } from '../doorway.ts';
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
import type { WorkingSet } from '../working-set.ts';
import { Arrivals } from './arrivals.ts';
import { replyWrite, traceWrite } from './bodies.ts';
import { DeadLetters } from './dead-letters.ts';
import { Deliveries } from './deliveries.ts';
import { Forgetting } from './forgetting.ts';
import type { Journal } from './journal.ts';
import type { DurableParts } from './parts.ts';
import { Recollection } from './recollection.ts';
import type { Write } from './statements.ts';
import { memoryAfter, turnWrites } from './turn.ts';
import { terms, tracesPendingMax } from './terms.ts';

export class DurableLedger implements Ledger {
  readonly terms = terms;
  readonly #parts: DurableParts;
  readonly #rows: WorkingSet;
  readonly #journal: Journal;
  readonly #door: Doorway;
  readonly #recollection: Recollection;
  readonly #open = new OpenClaims();
  readonly #arrivals: Arrivals;
  readonly #deliveries: Deliveries;
  readonly #deadLetters: DeadLetters;
  readonly #forgetting: Forgetting;
  /** What people ask is done one at a time. */
  #asked: Promise<unknown> | null = null;
  #failed = false;
  #closing: Promise<void> | null = null;

  constructor(parts: DurableParts) {
    this.#parts = parts;
    this.#rows = parts.rows;
    this.#journal = parts.journal;
    this.#door = new Doorway(() => this.room());
    this.#recollection = new Recollection(parts.reader);
    this.#arrivals = new Arrivals(parts, this.#door);
    this.#deadLetters = new DeadLetters(parts, this.#recollection);
    this.#forgetting = new Forgetting(
      parts,
      this.#open,
      this.#arrivals,
      this.#recollection,
      this.#deadLetters,
    );
    this.#deliveries = new Deliveries(parts, this.#open, this.#door);
    parts.journal.onDisk(() => this.#door.settled());
    parts.journal.onExpired((ids) => ids.forEach((id) => this.#deadLetters.remove(id)));
    parts.journal.onBroken((message) => this.#fail(new Error(message)));
  }

  accept(batch: readonly Inbound[], ...cursors: readonly CursorMove[]): Promise<Acceptance> {
    return this.#arrivals.accept(batch, cursors);
  }

  room(): { readonly messages: number; readonly bytes: number } {
    const { messagesMax, bytesMax, freeBytesMin } = this.#parts.limits;
    if (this.#journal.freeBytes < freeBytesMin) return { messages: 0, bytes: 0 };
    return {
      messages: Math.max(0, messagesMax - this.#rows.unsettled - this.#arrivals.count),
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
    return upTo<Claim>(n, () =>
      box === 'in' ? this.#claimIn(channel) : this.#deliveries.claim(channel),
    );
  }

  complete(claim: InClaim, effects: Effects): Promise<boolean> {
    return this.#finish(claim, effects, (seq, now) => ['inboxSettled', now, seq]);
  }

  delivered(claim: OutClaim): Promise<boolean> {
    return this.#deliveries.delivered(claim);
  }

  defer(
    claim: OutClaim,
    at: number,
    why: Failure,
    how: { readonly park: boolean; readonly possibleDuplicate: boolean },
  ): Promise<boolean> {
    return this.#deliveries.defer(claim, at, why, how);
  }

  async release(claim: Claim): Promise<void> {
    const row = claim.box === 'in' ? this.#open.endIn(claim) : this.#open.endOut(claim);
    if (row !== null) this.#rows.giveBack(row);
  }

  bury(claim: Claim, why: Failure, effects?: Effects): Promise<boolean> {
    if (claim.box === 'out') {
      return this.#deliveries.bury(claim, why, ({ reply }) => this.#deadLetters.add(reply.id));
    }
    const reason = JSON.stringify(why);
    const buried = this.#finish(claim, effects, (seq, now) => ['inboxDead', now, reason, seq]);
    return buried.then((is) => {
      if (is) this.#deadLetters.add(claim.message.id);
      return is;
    });
  }

  async cursor(channel: ChannelKey, name: string): Promise<string | null> {
    return this.#recollection.cursor(channel, name);
  }

  async recall(claim: InClaim, n: number): Promise<readonly TurnRow[]> {
    if (!this.#open.has(claim)) return [];
    return this.#recollection.said(claim.message, claim.memory.session.number - 1, n);
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

  serve(): void {}

  replay(id: string): Promise<DeadLetterMove> {
    return this.#inTurn(() => this.#deadLetters.replay(id));
  }

  discard(id: string): Promise<DeadLetterMove> {
    return this.#inTurn(() => this.#deadLetters.discard(id));
  }

  async forget(whose: Whose): Promise<number> {
    return this.#inTurn(async () => {
      const deleted = await this.#forgetting.forget(whose);
      this.#door.settled();
      return deleted;
    });
  }

  onReady(wake: (box: Box, channel: ChannelKey) => void): () => void {
    return this.#rows.onReady(wake);
  }

  backlog(): readonly ChannelBacklog[] {
    return this.#rows.backlog();
  }

  unsettled(most: number): readonly string[] {
    return this.#rows.idsOfUnsettled(most);
  }

  gauges(): Gauges {
    return {
      ...this.#rows.gauges(),
      deadLetters: this.#deadLetters.count,
      unroutable: 0,
      suspects: 0,
      tracesDropped: 0,
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
    for (const claim of this.#open) await this.release(claim);
    this.#rows.close();
    // Whoever is the last to close folds the log into the database, and syncs it. The writer is to
    // do that, but not once a sync has failed: the next start finds what is on the disk.
    const { reader } = this.#parts;
    if (this.#journal.broken) {
      await this.#journal.abandon();
      reader.close();
    } else {
      reader.close();
      await this.#journal.close();
    }
    this.#parts.lock.release();
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#asked === null ? act() : this.#asked.then(act);
    const over = done
      .catch(() => {})
      .then(() => {
        if (this.#asked === over) this.#asked = null;
      });
    this.#asked = over;
    return done;
  }

  /** For good: nothing is accepted any more, and whoever runs this is told, once. */
  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#door.close('storage_failed');
    this.#parts.onFault?.(error);
  }

  #claimIn(channel: ChannelKey): InClaim | null {
    const row = this.#rows.take('in', channel);
    if (row === undefined) return null;
    try {
      return this.#open.claimIn(row, this.#recollection.of(row.message));
    } catch (error) {
      this.#rows.giveBack(row);
      this.#fail(error);
      return null;
    }
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
    if (trace !== null && this.#journal.pending < tracesPendingMax) {
      this.#journal.add(traceWrite(message.id, trace));
    }
    return this.#journal.written(() => {
      if (!row.gone) {
        for (const { reply, seq } of replies) this.#rows.addReply(reply, row.settlement, seq);
      }
      if (row.gone || row.edition < row.lane.edition) this.#recollection.drop(message);
      else this.#recollection.put(message, memory);
      this.#rows.settle(row);
      this.#door.settled();
    });
  }
}
