/** The storage of the ledger on PostgreSQL: batches of writes, and connections that read. */
import type { Acceptance, Receipt } from '../../channels/channel.ts';
import type { AuditRow } from '../../domain/audit.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { Clock } from '../../lib/clock.ts';
import type { BegunCall, CallEnding } from '../../domain/tool-use.ts';
import {
  keptDurability,
  storageRetryMs,
  tracesPendingMax,
  unroutableCursor,
} from '../engine/schedule.ts';
import { isKnownAfter, memoryAfter } from '../engine/memories.ts';
import {
  idsOf,
  type Arrival,
  type DeferredUntil,
  type DeliveryEnd,
  type Enter,
  type FailedDelivery,
  type LedgerStorage,
  type StorageReport,
  type OthersRows,
  type TurnEnd,
} from '../engine/storage.ts';
import { conflict } from '../engine/cursors.ts';
import { refused } from '../engine/engine.ts';
import { isWhole, type InRow, type OutRow, type Row, type WholeRow } from '../engine/queue.ts';
import { CrashIsolation } from '../engine/crash-isolation.ts';
import type { WorkingSet } from '../engine/working-set.ts';
import type { CursorMove, LedgerNews } from '../ledger.ts';
import { AgentReads, storedAttachments } from './ledger/agents.ts';
import { StoredApprovals } from './ledger/approvals.ts';
import type { Takeovers } from './ledger/takeover.ts';
import type { DeadLetters } from './ledger/dead-letters.ts';
import { StoredReplies, triedNowWrite } from './ledger/deferred.ts';
import { Forgetting } from './ledger/forgetting.ts';
import type { Figures } from './ledger/figures.ts';
import type { History } from './ledger/history.ts';
import { aloneMark, clearedMark } from './ledger/marks.ts';
import type { PostgresLimits } from './limits.ts';
import type { PeersWithHeartbeat } from './peers/peers.ts';
import type { Queues } from './queues/queues.ts';
import { Invalidations } from './ledger/invalidations.ts';
import type { Spend } from './ledger/reservations.ts';
import { readTexts, removeMissing } from './ledger/texts.ts';
import type { PostgresBatches, Reads } from './deps.ts';
import { toText } from './server/text.ts';
import { expectingMoves, isExpecting } from './write/compose.ts';
import {
  auditWrite,
  begunWrite,
  deferredWrite,
  diedWrites,
  sentWrite,
} from './write/event-codec.ts';
import { receiptOf, safe } from './write/receipts.ts';
import { acceptWrite, previewedWrite, turnWrites } from './write/row-codec.ts';
import type { Landed } from './write/statement.ts';
import type { Write } from './write/writes.ts';

/** The parts of the storage. It owns them, and closes them with itself. */
export type PostgresDeps = Clock & {
  readonly limits: PostgresLimits;
  readonly rows: WorkingSet;
  readonly batches: PostgresBatches;
  readonly reads: Reads;
  /** For people and upkeep: no message waits for these reads. */
  readonly slowReads: Reads;
  readonly history: History;
  readonly deadLetters: DeadLetters;
  readonly figures: Figures;
  readonly spend: Spend;
  readonly takeovers: Takeovers;
  /** The upkeep that runs beside the messages. */
  readonly upkeep: AsyncDisposable;
  readonly news: LedgerNews;
  readonly queues: Queues;
  readonly peers: PeersWithHeartbeat;
  /** Notes that the storage failed. @param alone the id of the message that ran alone, or null */
  readonly noteFailure: (alone: string | null) => void;
  /** Gives up connections that are being opened, and opens no more. */
  readonly giveUp: () => void;
  /** Resolves when the note of `noteFailure` is written, or cannot be. */
  readonly noteWritten: () => Promise<void>;
};

export class PostgresStorage implements LedgerStorage {
  readonly durability = keptDurability;
  readonly limits: LedgerStorage['limits'];
  readonly crashIsolation: CrashIsolation;
  readonly history: History;
  readonly agents: AgentReads;
  readonly attachments: LedgerStorage['attachments'];
  readonly deadLetters: DeadLetters;
  readonly forgetting: Forgetting;
  readonly figures: Figures;
  readonly approvals: StoredApprovals;
  readonly spend: Spend;
  readonly deferredReplies: StoredReplies;
  readonly takeovers: Takeovers;
  readonly #deps: PostgresDeps;
  readonly #batches: PostgresBatches;
  readonly #queues: Queues;
  readonly #invalidations: Invalidations;
  /** How many traces were dropped, since too many writes were waiting. */
  #tracesDropped = 0;

  constructor(deps: PostgresDeps) {
    const { batches, limits, reads, history, deadLetters, takeovers, queues } = deps;
    this.#deps = deps;
    this.#batches = batches;
    this.#queues = queues;
    this.#invalidations = new Invalidations(deps);
    this.limits = { messagesMax: limits.messagesMax, bytesMax: limits.bytesMax };
    [this.history, this.deadLetters, this.takeovers] = [history, deadLetters, takeovers];
    [this.figures, this.spend] = [deps.figures, deps.spend];
    this.agents = new AgentReads(reads);
    this.attachments = storedAttachments(reads, batches);
    const slow = { ...deps, reads: deps.slowReads };
    this.approvals = new StoredApprovals(slow);
    this.deferredReplies = new StoredReplies(slow);
    this.forgetting = new Forgetting({ ...slow, invalidations: this.#invalidations });
    this.crashIsolation = new CrashIsolation([], {
      ...deps,
      mark: (row, alone) => this.#write(aloneMark(row.head.id, alone)),
      clear: (row) => void this.#write(clearedMark([row.head.id])),
    });
  }

  get hasRoom(): boolean {
    return this.#batches.state === 'ok';
  }

  get mayHandOut(): boolean {
    return this.#batches.mayHandOut;
  }

  gauges() {
    const pending = this.#batches.pending + this.#queues.pending;
    return { tracesDropped: this.#tracesDropped, commitsPending: pending };
  }

  listen(report: StorageReport): void {
    const { failed, roomChanged } = report;
    const { news, rows, peers } = this.#deps;
    this.#invalidations.listen(report.forgetHere);
    this.deferredReplies.listen(report.tryHere);
    this.takeovers.listen(report);
    this.#queues.begin(this.#batches, peers, this.crashIsolation, failed);
    peers.heartbeat.onNews((heard) => (this.#queues.hear(heard), roomChanged()));
    let { state } = this.#batches;
    this.#batches.onChange(() => {
      if (this.#batches.state !== state) news.storageRoom?.({ kind: this.#batches.state });
      ({ state } = this.#batches);
      if (this.#batches.mayHandOut) rows.ringAll();
      roomChanged();
    });
    this.#batches.onBroken(failed);
  }

  /** A refused message may still be committed; then the ledger works it. */
  accept(
    arrivals: readonly Arrival[],
    moves: readonly CursorMove[],
    enter: Enter,
  ): Promise<Acceptance> {
    const { cursors } = this.history;
    if (!cursors.move(moves)) return Promise.resolve(conflict);
    for (const arrival of arrivals) this.#batches.add(acceptWrite(arrival));
    const expecting = moves.filter(isExpecting);
    if (expecting.length > 0) this.#batches.add(expectingMoves(expecting));
    for (const { channel, name, value, expected } of moves) {
      if (expected !== undefined) continue;
      this.#batches.add({ kind: 'cursor', channel, name, value: toText(value) });
    }
    return new Promise((resolve) => {
      const refuse = (answer: Acceptance): void => {
        cursors.refused(moves);
        resolve(answer);
      };
      const failed = (reason: 'full' | 'storage_failed'): void =>
        refuse(refused(reason, storageRetryMs));
      const landed = (what: Landed | null): void => {
        if (what === null) return failed('storage_failed');
        cursors.landed(moves);
        const receipts = arrivals.map((arrival) => this.#arrived(arrival, what, enter));
        resolve({ kind: 'accepted', receipts });
      };
      const full = (): void => failed('full');
      const conflicted = (): void => refuse(conflict);
      if (expecting.length === 0) this.#batches.flush(landed, full);
      else this.#batches.flushAlone({ written: landed, refused: full, conflicted });
    });
  }

  isReady(row: Row): row is WholeRow {
    return isWhole(row) && (row.box === 'out' || this.history.holds(row.message));
  }

  async read(rows: readonly Row[]): Promise<void> {
    await readTexts(this.#deps.reads, rows);
    removeMissing(this.#deps.rows, rows);
    const messages = rows.flatMap((row) => (row.box === 'in' && row.message !== null ? [row] : []));
    const unread = messages.filter(({ message, gone }) => !gone && !this.history.holds(message!));
    if (unread.length > 0) await this.history.read(unread.map(({ message }) => message!));
  }

  turnEnded(end: TurnEnd, then: () => void): Promise<boolean> {
    const { row, effects, why } = end;
    const { message } = row;
    const memory = memoryAfter(message, end.memory, effects, this.history.bounds);
    const traced = this.#batches.pending < tracesPendingMax;
    if (!traced && effects?.trace != null) this.#tracesDropped++;
    for (const write of turnWrites(end, memory, traced)) this.#batches.add(write);
    return this.#done(row, () => {
      if (why !== null) for (const id of idsOf(end)) this.deadLetters.add(id);
      if (!isKnownAfter(end)) this.history.drop(message);
      else this.history.put(message, memory);
      then();
    });
  }

  async delivered({ row, at }: DeliveryEnd, then: () => void): Promise<boolean> {
    this.#batches.add(sentWrite(row, at));
    const landed = (what: Landed | null): void => {
      if (what !== null) then();
    };
    if (row.queue.outbox.length > 1) this.#batches.flush(landed);
    else this.#batches.flushSoon(landed);
    return !this.#batches.broken;
  }

  deferred(end: FailedDelivery & DeferredUntil, then: () => void): Promise<boolean> {
    this.#batches.add(deferredWrite(end));
    return this.#done(end.row, then);
  }

  triedNow(rows: readonly OutRow[], at: number, then: () => void): Promise<boolean> {
    this.#batches.add(triedNowWrite(rows, at));
    return this.#batches.written(then);
  }

  buried(end: FailedDelivery, parts: readonly OutRow[], then: () => void): Promise<boolean> {
    for (const write of diedWrites(end, parts)) this.#batches.add(write);
    return this.#done(end.row, () => {
      for (const { head } of [end.row, ...parts]) this.deadLetters.add(head.id);
      then();
    });
  }

  callBegun(message: Message, call: BegunCall): Promise<boolean> {
    this.#batches.add(begunWrite(message, call));
    return this.#batches.writtenNow();
  }

  previewed(message: Message): Promise<boolean> {
    this.#batches.add(previewedWrite(message));
    return this.#batches.writtenNow();
  }

  callEnded(key: string, { text, outcome, ms }: CallEnding): void {
    this.#batches.add({ kind: 'ended', key: toText(key), text: toText(text), outcome, ms });
    this.#batches.flushSoon(() => {});
  }

  /** Resolves to false at once while nothing can be written. */
  audit(row: AuditRow): Promise<boolean> {
    this.#batches.add(auditWrite(row));
    return this.#batches.writtenNow();
  }

  keepUnroutable(channel: ChannelKey, since: number | null): void {
    this.history.keepUnroutable(channel, since);
    void this.#write({ kind: 'cursor', channel, name: unroutableCursor, value: `${since ?? ''}` });
  }

  written(): Promise<boolean> {
    this.spend.flush();
    return this.#batches.written(() => {});
  }

  serve(channels: readonly ChannelKey[]): void {
    this.#queues.serve(channels);
  }

  get elsewhere(): { readonly messages: number; readonly bytes: number } {
    return this.#queues.elsewhere;
  }

  unwanted(theirs: OthersRows): Promise<void> {
    return this.#queues.forget(theirs);
  }

  drain(): void {
    this.#queues.drain();
  }

  noteFailure(alone: InRow | null): void {
    this.#deps.noteFailure(alone?.head.id ?? null);
  }

  async close(): Promise<void> {
    await using closing = new AsyncDisposableStack();
    closing.defer(() => this.#deps.noteWritten());
    closing.use(this.#deps.reads);
    closing.use(this.#deps.slowReads);
    closing.use(this.#deps.upkeep);
    closing.defer(() => this.#deps.giveUp());
    closing.defer(() => this.#deps.peers.close());
    this.#queues.close();
    this.spend.flush();
    await this.#batches.close();
  }

  #arrived(arrival: Arrival, { known, numbers, queues }: Landed, enter: Enter): Receipt {
    const { message } = arrival;
    const first = known.get(message.id);
    if (first !== undefined) return receiptOf(first, arrival);
    // A message that was forgotten at once has no number.
    const n = numbers.get(message.id);
    const facts = queues.get(`${message.channel} ${toText(message.conversation)}`);
    if (n !== undefined && facts !== undefined) {
      this.#queues.owned.arrive({ arrival, n, enter }, facts);
      if (n === 1 && facts.owner === this.#deps.peers.id) this.history.beginsWith(message);
    }
    return { id: message.id, duplicate: false, keyReused: false, safe };
  }

  /** If another instance took the row away, nothing is written, and it leaves the working set. */
  #done(row: InRow | OutRow, then: () => void): Promise<boolean> {
    return new Promise((resolve) => {
      this.#batches.flush((landed) => {
        const isDone = landed !== null && landed.done.has(row.head.id);
        if (isDone) then();
        else if (landed !== null) this.#deps.rows.lost(row);
        resolve(isDone);
      });
    });
  }

  #write(one: Write): Promise<boolean> {
    this.#batches.add(one);
    return this.written();
  }
}
