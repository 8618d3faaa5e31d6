/**
 * The ledger on SQLite: the working set in memory, and a journal of grouped, fsynced commits under
 * it. Three entries a message: accepted, turn done, delivered. Nothing becomes claimable before
 * the commit that made it so.
 */
import type { Acceptance } from '../../channel/channel.ts';
import type { AuditRow } from '../../domain/audit.ts';
import type { TurnRow } from '../../domain/conversation.ts';
import type { Note, NoteScope, NotesOf } from '../../domain/note.ts';
import type { ToolUse } from '../../domain/tool-use.ts';
import type { Box } from '../../domain/event.ts';
import type { Failure } from '../../domain/failure.ts';
import type { Deferral } from '../../domain/reply.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import type { Inbound } from '../../domain/message.ts';
import type { Whose } from '../../domain/story.ts';
import { OneAtATime } from '../../lib/one-at-a-time.ts';
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
import type { Unroutable } from '../unroutable.ts';
import type { WorkingSet } from '../working-set.ts';
import { AgentMemory } from './agent-memory.ts';
import { Arrivals } from './arrivals.ts';
import { DeadLetters } from './dead-letters.ts';
import { Deliveries } from './deliveries.ts';
import { DiskWatch } from './disk-watch.ts';
import { Forgetting } from './forgetting.ts';
import type { Journal } from './journal.ts';
import type { DurableParts } from './parts.ts';
import { Quarantine } from './quarantine.ts';
import { Recollection } from './recollection.ts';
import type { Write } from './statements.ts';
import { terms } from './terms.ts';
import { Turns } from './turns.ts';
import { watchUnroutable } from './unserved.ts';

export class DurableLedger implements Ledger {
  readonly terms = terms;
  readonly #parts: DurableParts;
  readonly #rows: WorkingSet;
  readonly #journal: Journal;
  readonly #door: Doorway;
  readonly #recollection: Recollection;
  readonly calls: AgentMemory;
  readonly #open = new OpenClaims();
  readonly #quarantine: Quarantine;
  readonly #unroutable: Unroutable;
  readonly #disk: DiskWatch;
  readonly #arrivals: Arrivals;
  readonly #turns: Turns;
  readonly #deliveries: Deliveries;
  readonly #deadLetters: DeadLetters;
  readonly #forgetting: Forgetting;
  /** What people ask is done one at a time. */
  readonly #asked = new OneAtATime();
  #failed = false;
  #closing: Promise<void> | null = null;

  constructor(parts: DurableParts) {
    const { rows, journal, suspects, limits, news } = parts;
    this.#parts = parts;
    this.#rows = rows;
    this.#journal = journal;
    this.#disk = new DiskWatch(limits.freeBytesMin, (room) => news.storageRoom?.(room));
    this.#door = new Doorway(() => this.room());
    this.#recollection = new Recollection(parts.reader);
    this.calls = new AgentMemory(parts, this.#open);
    const write = (one: Write): Promise<boolean> => {
      journal.add(one);
      return journal.written(() => {});
    };
    this.#quarantine = new Quarantine(suspects, { ...parts, write });
    this.#arrivals = new Arrivals(parts, this.#door);
    this.#turns = new Turns({
      ...parts,
      open: this.#open,
      door: this.#door,
      recollection: this.#recollection,
      quarantine: this.#quarantine,
      failed: (error) => this.#fail(error),
    });
    this.#deliveries = new Deliveries(parts, this.#open, this.#door);
    const takers = { turns: this.#turns, deliveries: this.#deliveries };
    this.#unroutable = watchUnroutable(parts, this.#recollection, takers, (claim, why) =>
      this.bury(claim, why),
    );
    this.#deadLetters = new DeadLetters(parts, this.#recollection);
    this.#forgetting = new Forgetting(
      parts,
      this.#open,
      this.#arrivals,
      this.#recollection,
      this.#deadLetters,
    );
    journal.onDisk(() => this.#lookAtDisk());
    this.#lookAtDisk();
    journal.onExpired((ids) => ids.forEach((id) => this.#deadLetters.remove(id)));
    journal.onBroken((message) => this.#fail(new Error(message)));
  }

  accept(batch: readonly Inbound[], ...cursors: readonly CursorMove[]): Promise<Acceptance> {
    return this.#arrivals.accept(batch, cursors);
  }

  room(): { readonly messages: number; readonly bytes: number } {
    const { messagesMax, bytesMax } = this.#parts.limits;
    if (!this.#disk.hasRoom) return { messages: 0, bytes: 0 };
    return {
      messages: Math.max(0, messagesMax - this.#rows.accounts.unsettled - this.#arrivals.count),
      bytes: Math.max(0, bytesMax - this.#rows.accounts.bytes),
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
    return this.#turns.complete(claim, effects);
  }

  delivered(claim: OutClaim): Promise<boolean> {
    return this.#deliveries.delivered(claim);
  }

  defer(claim: OutClaim, at: number, why: Failure, how: Deferral): Promise<boolean> {
    return this.#deliveries.defer(claim, at, why, how);
  }

  async release(claim: Claim): Promise<void> {
    if (claim.box === 'in') this.#turns.release(claim);
    else this.#deliveries.release(claim);
  }

  async bury(claim: Claim, why: Failure, effects?: Effects): Promise<boolean> {
    if (claim.box === 'out') {
      return this.#deliveries.bury(claim, why, ({ reply }) => this.#deadLetters.add(reply.id));
    }
    const buried = await this.#turns.bury(claim, why, effects);
    if (buried) this.#deadLetters.add(claim.message.id);
    return buried;
  }

  async cursor(channel: ChannelKey, name: string): Promise<string | null> {
    return this.#recollection.cursor(channel, name);
  }

  async recall(claim: InClaim, n: number): Promise<readonly TurnRow[]> {
    if (!this.#open.has(claim)) return [];
    return this.#recollection.said(claim.message, n);
  }

  async notes(claim: InClaim, scope: NoteScope): Promise<readonly Note[]> {
    return this.calls.notes(claim, scope);
  }

  async toolUses(claim: InClaim, n: number): Promise<readonly ToolUse[]> {
    return this.calls.toolUses(claim, n);
  }

  serve(channels: readonly ChannelKey[]): void {
    this.#quarantine.serve(channels);
    this.#unroutable.serve(channels);
  }

  replay(id: string): Promise<DeadLetterMove> {
    return this.#asked.do(() => this.#deadLetters.replay(id));
  }

  discard(id: string): Promise<DeadLetterMove> {
    return this.#asked.do(() => this.#deadLetters.discard(id));
  }

  async forget(whose: Whose): Promise<number> {
    return this.#asked.do(async () => {
      const deleted = await this.#forgetting.forget(whose);
      this.#quarantine.forgotten();
      this.#door.settled();
      return deleted;
    });
  }

  clearNotes(of: NotesOf): Promise<number> {
    return this.#asked.do(() => this.#forgetting.clearNotes(of));
  }

  /** While the disk is full it is not waited for. */
  recordWrite({ at, action, target, status, reason }: AuditRow): Promise<boolean> {
    if (this.#closing !== null) return Promise.resolve(false);
    this.#journal.add(['audit', at, action, JSON.stringify(target), status, reason]);
    return this.#journal.writtenNow();
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
      deadLetters: this.#deadLetters.count,
      unroutable: this.#unroutable.rows,
      suspects: this.#quarantine.suspects,
      tracesDropped: this.#turns.tracesDropped,
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
    try {
      if (this.#journal.broken) {
        await this.#journal.abandon();
        reader.close();
      } else {
        reader.close();
        await this.#journal.close();
      }
    } finally {
      this.#parts.lock.release();
    }
  }

  /** For good: nothing is accepted any more, and whoever runs this is told, once. */
  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#parts.noteFailure({ alone: this.#quarantine.alone });
    this.#door.close('storage_failed');
    this.#parts.onFault?.(error);
  }

  #lookAtDisk(): void {
    this.#disk.look(this.#journal.freeBytes, this.#journal.full);
    this.#door.settled();
  }

  /** The next suspect, if it is of this channel, and what need not wait for it. */
  async #claimBeside(box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> {
    const first = box === 'in' ? await this.#turns.claimSuspect(channel) : null;
    if (this.#quarantine.holdsOthers()) return first === null ? [] : [first];
    if (first === null) return this.#claimOthers(box, channel, n);
    return [first, ...this.#claimOthers(box, channel, n - 1)];
  }

  #claimOthers(box: Box, channel: ChannelKey, n: number): readonly Claim[] {
    if (box === 'in') return this.#turns.claim(channel, n);
    return upTo(n, () => this.#deliveries.claim(channel));
  }
}
