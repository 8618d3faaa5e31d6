/**
 * The ledger's storage on SQLite: writes go through the group commit (grouped, fsynced
 * transactions), and reads use a read-only connection.
 */
import type { Acceptance, Receipt } from '../../channels/channel.ts';
import { dedupeMsOf } from '../../channels/registry.ts';
import type { AuditRow } from '../../domain/audit.ts';
import type { ChannelKey, MessageId } from '../../domain/ids.ts';
import type { Message } from '../../domain/message.ts';
import type { BegunCall, CallEnding } from '../../domain/tool-use.ts';
import { conflict } from '../engine/cursors.ts';
import { refused } from '../engine/engine.ts';
import {
  idsOf,
  type Arrival,
  type DeferredUntil,
  type DeliveryEnd,
  type Enter,
  type FailedDelivery,
  type LedgerStorage,
  type StorageReport,
  type TurnEnd,
} from '../engine/storage.ts';
import {
  unroutableCursor,
  keptDurability,
  storageRetryMs,
  tracesPendingMax,
} from '../engine/schedule.ts';
import type { StorageRoom, CursorMove } from '../ledger.ts';
import { isWhole, type InRow, type OutRow, type Row } from '../engine/queue.ts';
import {
  AgentReads,
  StoredApprovals,
  storedAttachments,
  Figures,
  Spend,
} from './ledger/agent-reads.ts';
import { begunWrites, turnEndWrites } from './write/turn-writes.ts';
import { acceptWrite } from './write/row-codec.ts';
import { DeadLetters } from './ledger/dead-letters.ts';
import { writerOf } from './files/database-files.ts';
import { DiskWatch } from './files/disk-watch.ts';
import { Forgetting } from './ledger/forgetting.ts';
import type { CommitResult, KeyedAccept, KnownMessage, Write } from './write/statements.ts';
import type { GroupCommit } from './write/group-commit.ts';
import type { SqliteDeps } from './ledger/deps.ts';
import { CrashIsolation } from '../engine/crash-isolation.ts';
import { HistoryCache } from './ledger/history-cache.ts';
import { messageBody } from '../engine/bodies.ts';
import { isKnownAfter, memoryAfter } from '../engine/memories.ts';
import { StoredTexts } from './ledger/recovery.ts';
import { storedTakeovers } from './ledger/takeover.ts';

const safe = Promise.resolve();

export class SqliteStorage implements LedgerStorage {
  readonly durability = keptDurability;
  readonly limits: LedgerStorage['limits'];
  readonly crashIsolation: CrashIsolation;
  readonly history: HistoryCache;
  readonly agents: AgentReads;
  readonly attachments: LedgerStorage['attachments'];
  readonly deadLetters: DeadLetters;
  readonly forgetting: Forgetting;
  readonly figures: Figures;
  readonly approvals: StoredApprovals;
  readonly spend: Spend;
  readonly takeovers: LedgerStorage['takeovers'];
  readonly #deps: SqliteDeps;
  readonly #groupCommit: GroupCommit;
  readonly #disk: DiskWatch;
  readonly #texts: StoredTexts;
  /** Traces left out because the storage was behind. */
  #tracesDropped = 0;

  constructor(deps: SqliteDeps) {
    const { groupCommit, limits, news, reader, suspects, labels } = deps;
    this.#deps = deps;
    this.#groupCommit = groupCommit;
    this.limits = { messagesMax: limits.messagesMax, bytesMax: limits.bytesMax };
    this.history = new HistoryCache(reader, labels);
    this.agents = new AgentReads(reader, labels);
    this.attachments = storedAttachments(reader, groupCommit);
    this.#texts = new StoredTexts(reader, labels);
    this.deadLetters = new DeadLetters(deps, this.history);
    this.forgetting = new Forgetting(deps, this.history, this.deadLetters);
    this.figures = new Figures(groupCommit, () => this.hasRoom);
    this.approvals = new StoredApprovals(reader, groupCommit);
    this.spend = new Spend(groupCommit);
    this.takeovers = storedTakeovers(deps, this.history);
    const { file } = reader.prepare('PRAGMA database_list').get() as { file: string };
    const reportRoom = (room: StorageRoom): void => news.storageRoom?.(room);
    this.#disk = new DiskWatch(limits.freeBytesMin, reportRoom, () => writerOf(file));
    this.crashIsolation = new CrashIsolation(suspects, {
      ...deps,
      mark: (row, alone) => this.#write(['inboxAlone', alone, row.seq]),
      clear: (row) => void this.#write(['inboxCleared', JSON.stringify([row.seq])]),
    });
  }

  readonly mayHandOut = true;
  readonly isReady = isWhole;

  get hasRoom(): boolean {
    return this.#disk.hasRoom;
  }

  gauges() {
    return {
      tracesDropped: this.#tracesDropped,
      commitsPending: this.#groupCommit.pending,
    };
  }

  listen({ failed, roomChanged }: StorageReport): void {
    const checkDisk = (): void => {
      this.#disk.look(this.#groupCommit.freeBytes, this.#groupCommit.stuck);
      roomChanged();
    };
    this.#groupCommit.onDisk(checkDisk);
    checkDisk();
    this.#groupCommit.onExpired((ids) => ids.forEach((id) => this.deadLetters.remove(id)));
    this.#groupCommit.onBroken((message) => failed(new Error(message)));
  }

  accept(
    arrivals: readonly Arrival[],
    moves: readonly CursorMove[],
    enter: Enter,
  ): Promise<Acceptance> {
    const { cursors } = this.history;
    if (!cursors.move(moves)) return Promise.resolve(conflict);
    const places = arrivals.map((arrival) => this.#groupCommit.add(arrivalWrite(arrival)));
    for (const { channel, name, value } of moves) {
      this.#groupCommit.add(['cursor', channel, name, value]);
    }
    return new Promise((resolve) => {
      const refuse = (reason: 'full' | 'storage_failed'): void => {
        cursors.refused(moves);
        resolve(refused(reason, storageRetryMs));
      };
      const written = (result: CommitResult | null): void => {
        if (result === null) return refuse('storage_failed');
        cursors.landed(moves);
        const receipts = arrivals.map((arrival, at): Receipt => {
          const first = result.known.get(places[at]!);
          if (first !== undefined) return receiptOf(first);
          enter(arrival);
          return { id: arrival.message.id, duplicate: false, keyReused: false, safe };
        });
        resolve({ kind: 'accepted', receipts });
      };
      // To the sender, a full disk looks like a full inbox: the state passes by itself.
      this.#groupCommit.flush(written, () => refuse('full'));
    });
  }

  read(rows: readonly Row[]): void {
    for (const row of rows) this.#texts.read(row);
  }

  turnEnded(end: TurnEnd, then: () => void): Promise<boolean> {
    const { row, effects, why } = end;
    const { message } = row;
    const memory = memoryAfter(message, end.memory, effects, this.history.bounds);
    const traced = this.#groupCommit.pending < tracesPendingMax;
    if (!traced && effects?.trace != null) this.#tracesDropped++;
    const nextSeq = (): number => this.#deps.rows.nextSeq();
    const writes = turnEndWrites(end, memory, traced, nextSeq);
    for (const write of writes) this.#groupCommit.add(write);
    return this.#groupCommit.written(() => {
      if (why !== null) for (const id of idsOf(end)) this.deadLetters.add(id);
      if (!isKnownAfter(end)) this.history.drop(message);
      else this.history.put(message, memory);
      then();
    });
  }

  async delivered({ row, at }: DeliveryEnd, then: () => void): Promise<boolean> {
    this.#groupCommit.add(['outboxSettled', at, at - row.takenAt, row.seq]);
    const written = (result: CommitResult | null): void => {
      if (result !== null) then();
    };
    if (row.queue.outbox.length > 1) this.#groupCommit.flush(written);
    else this.#groupCommit.flushSoon(written);
    return !this.#groupCommit.broken;
  }

  deferred(end: FailedDelivery & DeferredUntil, then: () => void): Promise<boolean> {
    const { row, why, dueAt, how } = end;
    const parked = how.park || row.parked;
    const late = row.late || parked ? 1 : 0;
    const duplicate = how.possibleDuplicate ? 1 : 0;
    const due = Math.round(dueAt);
    const reason = JSON.stringify(why);
    this.#groupCommit.add(['outboxDeferred', row.attempt, due, late, duplicate, reason, row.seq]);
    this.#groupCommit.add(triedWrite(end, parked));
    if (how.uncounted === true) this.#groupCommit.add(['outboxUncounted', row.seq]);
    return this.#groupCommit.written(then);
  }

  triedNow(rows: readonly OutRow[], at: number, then: () => void): Promise<boolean> {
    for (const { seq } of rows) this.#groupCommit.add(['outboxTriedNow', at, seq]);
    return this.#groupCommit.written(then);
  }

  buried(end: FailedDelivery, parts: readonly OutRow[], then: () => void): Promise<boolean> {
    const { row, at, why } = end;
    const reason = JSON.stringify(why);
    for (const { seq } of [row, ...parts]) this.#groupCommit.add(['outboxDead', at, reason, seq]);
    this.#groupCommit.add(triedWrite(end, row.parked));
    return this.#groupCommit.written(() => {
      for (const { head } of [row, ...parts]) this.deadLetters.add(head.id);
      then();
    });
  }

  callBegun(message: Message, call: BegunCall): Promise<boolean> {
    const writes = begunWrites(message, call, () => this.#deps.rows.nextSeq());
    for (const write of writes) this.#groupCommit.add(write);
    return this.#groupCommit.writtenNow();
  }

  previewed(message: Message): Promise<boolean> {
    this.#groupCommit.add(['inboxBody', messageBody(message), message.id]);
    return this.#groupCommit.writtenNow();
  }

  callEnded(key: string, { text, outcome, ms }: CallEnding): void {
    this.#groupCommit.add(['toolEnded', text, outcome, ms, key]);
    this.#groupCommit.add(['toolUseEnded', outcome, ms, key]);
    this.#groupCommit.flushSoon(() => {});
  }

  /** Returns false at once while the disk is full. */
  audit({ at, action, target, status, reason }: AuditRow): Promise<boolean> {
    this.#groupCommit.add(['audit', at, action, JSON.stringify(target), status, reason]);
    return this.#groupCommit.writtenNow();
  }

  keepUnroutable(channel: ChannelKey, since: number | null): void {
    void this.#write(['cursor', channel, unroutableCursor, since === null ? '' : String(since)]);
  }

  written(): Promise<boolean> {
    this.spend.flush();
    return this.#groupCommit.written(() => {});
  }

  noteFailure(alone: InRow | null): void {
    if (!this.#groupCommit.silent) this.#deps.noteFailure({ alone: alone?.seq ?? null });
  }

  async close(): Promise<void> {
    // The last connection to close folds the log into the database, and syncs it. This should be
    // the writer. After a failed sync it may not: the next start then reads the state on the disk.
    const { reader, lock, stopCrashNotes } = this.#deps;
    this.spend.flush();
    let hasEnded = true;
    try {
      if (this.#groupCommit.broken) {
        hasEnded = await this.#groupCommit.abandon();
        reader.close();
      } else {
        reader.close();
        hasEnded = await this.#groupCommit.close();
      }
    } finally {
      stopCrashNotes();
      // A hanging thread may still write. Then the next process gets the lock only after this
      // process ends.
      if (hasEnded) lock.release();
    }
    if (!hasEnded) throw new Error('its thread does not end');
  }

  #write(one: Write): Promise<boolean> {
    this.#groupCommit.add(one);
    return this.written();
  }
}

function arrivalWrite({ message, seq, dedupeKey, keyCheck }: Arrival): Write | KeyedAccept {
  const write = acceptWrite(seq, message);
  if (dedupeKey === null) return write;
  const expiresAt = message.acceptedAt + dedupeMsOf(message.channel);
  return { key: dedupeKey, expiresAt, check: keyCheck, write };
}

function receiptOf({ id, reused }: KnownMessage): Receipt {
  return { id: id as MessageId, duplicate: !reused, keyReused: reused, safe };
}

function triedWrite({ row, at, why }: FailedDelivery, parked: boolean): Write {
  const attempt = JSON.stringify([row.takenAt, at - row.takenAt, why.kind, why.status]);
  return ['outboxTried', row.attempt, parked ? 1 : 0, attempt, row.seq];
}
