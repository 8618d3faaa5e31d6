/**
 * The main thread's side of the writer: the group commit. Writes gather into a group, and a group
 * is sent as soon as the one before is on disk. So a single message waits for nothing, and under
 * load many share one fsync.
 *
 * A group is gathering → sent → done | failed | full | locked.
 * - Failed is final: the caller learns it once, and nothing is written any more. After a failed
 *   fsync nobody knows what is on the disk.
 * - Full and locked are not final: SQLite has rolled the group back. It is sent again every second
 *   until there is room, or the other program releases the database. Its messages are taken out of
 *   it and refused. Later writes wait behind it.
 */
import { joined } from '../../engine/batching.ts';
import {
  withoutTestWrites,
  type WriteBatch,
  type WaitingCaller,
  type Written,
  type AnyWrite,
  type FromWriter,
  type GroupDone,
  type ToWriter,
  type Write,
} from './statements.ts';
import { endsWithin } from '../../../lib/lifetime.ts';
import { steadyNow } from '../../../lib/clock.ts';
import { sqliteBusy } from '../files/database-files.ts';
import { sqliteFull } from '../files/problem.ts';
import type { ClosingLimits } from '../ledger/limits.ts';
import type { Writer } from './start-writer.ts';

/** How long a write that nobody waits for may wait for others. */
const lazyMs = 5;

/** How long after a full disk, or a locked database, to send the group again. */
const retryMs = 1_000;
/** The same while closing. */
const closingRetryMs = 100;

/** Why writing is blocked: the disk is full, or another program has locked the database. */
export type Stuck = 'full' | 'locked';
/**
 * The write that tests whether writing works again: one that takes room, or one that takes none.
 */
const testWrites = { full: ['roomTaken'], locked: ['roomGiven'] } as const;
const errcodes = { full: sqliteFull, locked: sqliteBusy } as const;

const noRoom = 'there was no room on the disk for what was left';
const stillLocked = 'another program had its database locked to the end';

export class GroupCommit {
  readonly #writer: Writer;
  readonly #limits: ClosingLimits;
  #failed: (message: string) => void = () => {};
  #writes: AnyWrite[] = [];
  #waiting: WaitingCaller[] = [];
  /** The group that the writer has now; null: none. */
  #sent: WriteBatch | null = null;
  #number = 0;
  #scheduled = false;
  #lazy: NodeJS.Timeout | null = null;
  /**
   * Why the last group could not be written; nothing has been written since. null: writing works.
   */
  #stuck: Stuck | null = null;
  #retry: NodeJS.Timeout | null = null;
  #closing = false;
  #broken = false;
  #closed: (() => void) | null = null;
  #checkpointed: (whole: boolean) => void = () => {};
  #diskChecked: () => void = () => {};
  #expired: (ids: readonly string[]) => void = () => {};
  /** Whether the disk gave no answer during closing: any further request to it may hang as well. */
  silent = false;
  /** The free space on the disk, at the last check. */
  freeBytes: number;

  constructor(writer: Writer, freeBytes: number, limits: ClosingLimits) {
    this.#writer = writer;
    this.#limits = limits;
    this.freeBytes = freeBytes;
    writer.on('message', (message: FromWriter) => this.#onMessage(message));
    writer.on('error', (error: Error) => this.#break(error.message));
    writer.on('exit', () => {
      if (this.#closed === null) this.#break('the storage thread ended');
      else this.#closed();
    });
  }

  /** Sets the listener that is called once, when nothing can be written any more. */
  onBroken(failed: (message: string) => void): void {
    this.#failed = failed;
  }

  /** Sets the listener for dead letters that the sweep has deleted. */
  onExpired(expired: (ids: readonly string[]) => void): void {
    this.#expired = expired;
  }

  /** Sets the listener that is called after each check of the disk. */
  onDisk(diskChecked: () => void): void {
    this.#diskChecked = diskChecked;
  }

  /** The number of callers whose writes are not on disk yet. */
  get pending(): number {
    return this.#waiting.length + (this.#sent?.waiting.length ?? 0);
  }

  /** Why writing is blocked; null: it is not. */
  get stuck(): Stuck | null {
    return this.#stuck;
  }

  get broken(): boolean {
    return this.#broken;
  }

  /** @returns its place in the group, the key of the writer's findings about it */
  add(write: AnyWrite): number {
    return this.#writes.push(write) - 1;
  }

  /** Identifies the gathering group: a new value when the next write belongs to another group. */
  get gathering(): unknown {
    return this.#writes;
  }

  /**
   * Calls `written` when all added writes are on disk, or with null when they cannot be written.
   * @param refused called instead when there is no room; default: the writes wait for room
   */
  flush(written: Written, refused: (() => void) | null = null): void {
    if (this.#broken) return queueMicrotask(() => written(null));
    this.#waiting.push({ until: this.#writes.length, written, refused });
    if (this.#sent !== null || this.#scheduled || this.#stuck !== null) return;
    this.#scheduled = true;
    setImmediate(this.#send);
  }

  /** Like `flush`, but may wait a few milliseconds for other writes to join. */
  flushSoon(written: Written): void {
    if (this.#broken) return queueMicrotask(() => written(null));
    this.#waiting.push({ until: this.#writes.length, written, refused: null });
    if (this.#sent !== null || this.#scheduled || this.#stuck !== null) return;
    this.#lazy ??= setTimeout(this.#send, lazyMs);
  }

  /**
   * Resolves to true once all added writes are on disk and `then` has run; to false when they
   * cannot be written.
   */
  written(then: () => void): Promise<boolean> {
    return new Promise((resolve) => {
      this.flush((result) => {
        if (result !== null) then();
        resolve(result !== null);
      });
    });
  }

  /** Like `written`, but resolves to false at once when there is no room. */
  writtenNow(): Promise<boolean> {
    return new Promise((resolve) => {
      this.flush(
        (result) => resolve(result !== null),
        () => resolve(false),
      );
    });
  }

  /**
   * Resolves when these writes are on disk. Rejects when they cannot be written, or there is no
   * room.
   * @param lockedMs how long to wait for another program that has locked the database
   */
  async write(writes: readonly Write[], lockedMs: number): Promise<void> {
    const until = steadyNow() + lockedMs;
    for (;;) {
      const failed = await this.#tryToWrite(writes);
      if (failed === null) return;
      if (failed === 'locked' && steadyNow() < until) continue;
      const errcode = failed === 'broken' ? 0 : errcodes[failed];
      throw Object.assign(new Error('what was recovered could not be written'), { errcode });
    }
  }

  #tryToWrite(writes: readonly Write[]): Promise<Stuck | 'broken' | null> {
    for (const write of writes) this.add(write);
    return new Promise((resolve) => {
      this.flush(
        (result) => resolve(result === null ? 'broken' : null),
        () => resolve(this.#stuck ?? 'broken'),
      );
    });
  }

  /**
   * Folds the log into the database and empties it, so that deleted rows are gone from the disk.
   * @param of `vacuum` first rewrites the database, unless that takes too long
   * @returns false while somebody reads from the log
   * @throws when the storage has failed
   */
  async checkpoint(of: 'vacuum' | 'log'): Promise<boolean> {
    if (this.#broken || this.#closed !== null)
      throw new Error('the storage has failed or is closed');
    const whole = Promise.withResolvers<boolean>();
    this.#checkpointed = whole.resolve;
    this.#writer.postMessage({ kind: 'checkpoint', of } satisfies ToWriter);
    return whole.promise;
  }

  /**
   * Writes what remains, and ends the writer. Without room or an answer in time, the rest stays
   * unwritten: the next start then recovers as after a crash.
   * @returns whether the writer's thread has ended
   */
  async close(): Promise<boolean> {
    this.#closing = true;
    const hasClosed = await endsWithin(this.#writeRemaining(), this.#limits.closeMs);
    // If another program has locked the database, the disk is not to blame.
    this.silent = !hasClosed && this.#stuck !== 'locked';
    if (!hasClosed) this.#break(this.silent ? 'it did not close in time' : stillLocked);
    return this.abandon();
  }

  async #writeRemaining(): Promise<void> {
    do {
      const flushed = new Promise<void>((resolve) => this.flush(() => resolve()));
      if (this.#stuck !== null && this.#sent === null) this.#send();
      await flushed;
      // A caller that has just been answered may add more.
      await new Promise(setImmediate);
    } while (!this.#broken && this.#writes.length > 0);
    if (this.#broken) return;
    const closed = Promise.withResolvers<void>();
    this.#closed = closed.resolve;
    this.#writer.postMessage({ kind: 'close' } satisfies ToWriter);
    await closed.promise;
    this.#end();
  }

  /**
   * Ends the writer without writing anything more. Call it before the reader is closed: an open
   * reader keeps SQLite from folding the log, which would sync the log again.
   * @returns whether the writer's thread has ended
   */
  abandon(): Promise<boolean> {
    this.#broken = true;
    return endsWithin(this.#writer.terminate(), this.#limits.endMs);
  }

  readonly #send = (): void => {
    this.#scheduled = false;
    if (this.#lazy !== null) clearTimeout(this.#lazy);
    this.#lazy = null;
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
    // Only a write that takes room shows whether there is room again.
    if (this.#stuck !== null && !this.#broken) {
      this.add(testWrites[this.#stuck]);
      this.#waiting.push({ until: this.#writes.length, written: () => {}, refused: null });
    }
    if (this.#sent !== null || this.#waiting.length === 0 || this.#broken) return;
    const number = ++this.#number;
    const writes = this.#writes;
    this.#sent = { writes, waiting: this.#waiting };
    this.#writes = [];
    this.#waiting = [];
    if (writes.length === 0) this.#onMessage({ kind: 'done', number, known: [], reservings: [] });
    else this.#writer.postMessage(JSON.stringify({ number, writes }) satisfies ToWriter);
  };

  #onMessage(message: FromWriter): void {
    switch (message.kind) {
      case 'done':
        return this.#done(message);
      case 'full':
      case 'locked':
        return this.#block(message.kind);
      case 'failed':
        return this.#break(message.message);
      case 'disk':
        this.freeBytes = message.freeBytes;
        return this.#diskChecked();
      case 'checkpointed':
        return this.#checkpointed(message.whole);
      case 'expired':
        return this.#expired(message.ids);
      case 'upgrading':
      case 'open':
      case 'unopened':
      case 'closed':
        return;
      default:
        message satisfies never;
    }
  }

  #done({ known, reservings }: Extract<GroupDone, { kind: 'done' }>): void {
    const waiting = this.#sent?.waiting ?? [];
    this.#sent = null;
    const result = { known: new Map(known), reservings: new Map(reservings) };
    if (this.#stuck !== null) this.#resume(this.#stuck);
    for (const { written } of waiting) written(result);
    if (this.#waiting.length > 0) this.#send();
  }

  #block(why: Stuck): void {
    if (this.#closing && why === 'full') return this.#break(noRoom);
    const sent = withoutTestWrites(this.#sent ?? { writes: [], waiting: [] });
    const gathered = withoutTestWrites({ writes: this.#writes, waiting: this.#waiting });
    this.#sent = null;
    ({ writes: this.#writes, waiting: this.#waiting } = joined(sent, gathered));
    this.#stuck = why;
    this.#retry = setTimeout(this.#send, this.#closing ? closingRetryMs : retryMs);
    this.#diskChecked();
    for (const refused of [...sent.refused, ...gathered.refused]) refused();
  }

  #resume(after: Stuck): void {
    this.#stuck = null;
    if (after === 'full') {
      this.add(['roomGiven']);
      this.flushSoon(() => {});
    }
    this.#diskChecked();
  }

  #break(message: string): void {
    if (this.#broken) return;
    this.#broken = true;
    this.#failed(message);
    this.#end();
    this.#closed?.();
  }

  /** Answers all waiting callers with null. */
  #end(): void {
    this.#broken = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    const waiting = [...(this.#sent?.waiting ?? []), ...this.#waiting];
    this.#sent = null;
    this.#waiting = [];
    this.#writes = [];
    this.#checkpointed(false);
    for (const { written } of waiting) written(null);
  }
}
