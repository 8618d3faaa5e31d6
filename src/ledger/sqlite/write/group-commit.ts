/**
 * The main thread's side of the writer: what is written in one go becomes one group, and a group is
 * sent as soon as the one before is on disk. So a lone message waits for nothing, and under load
 * many share one fsync.
 *
 * A group is gathering → sent → done | failed | full | locked. A failure is final: the caller is
 * told once, and nothing is written any more (after a failed fsync nobody knows what is on the
 * disk). Full and locked are not: SQLite has taken the group back, and it is sent again every
 * second until there is room, or until the other program has let the database go. Its messages are
 * taken out of it, and refused. Later writes stay behind it.
 */
import { joined } from '../../engine/batching.ts';
import {
  withoutTries,
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

/** For how long a write that nobody waits for may wait for company. */
const lazyMs = 5;

/** How long after a full disk, or a locked database, the group is sent again. */
const retryMs = 1_000;
/** The same while this closes. */
const closingRetryMs = 100;

/** Why nothing is written for now: no room on the disk, or another program has the database. */
export type Stuck = 'full' | 'locked';
/** What is written to find out whether it goes on: something that takes room, or nothing. */
const tries = { full: ['roomTaken'], locked: ['roomGiven'] } as const;
const errcodes = { full: sqliteFull, locked: sqliteBusy } as const;

const noRoom = 'there was no room on the disk for what was left';
const stillLocked = 'another program had its database locked to the end';

export class GroupCommit {
  readonly #writer: Writer;
  readonly #limits: ClosingLimits;
  #failed: (message: string) => void = () => {};
  #writes: AnyWrite[] = [];
  #waiting: WaitingCaller[] = [];
  /** The group that is with the writer; null: none is. */
  #sent: WriteBatch | null = null;
  #number = 0;
  #scheduled = false;
  #lazy: NodeJS.Timeout | null = null;
  /** A group could not be written; nothing has been written since. */
  #stuck: Stuck | null = null;
  #retry: NodeJS.Timeout | null = null;
  #closing = false;
  #broken = false;
  #closed: (() => void) | null = null;
  #checkpointed: (whole: boolean) => void = () => {};
  #looked: () => void = () => {};
  #expired: (ids: readonly string[]) => void = () => {};
  /** The disk did not answer while this closed: whoever asks more of it may hang as well. */
  silent = false;
  /** What the disk has left, as last looked at. */
  freeBytes: number;

  constructor(writer: Writer, freeBytes: number, limits: ClosingLimits) {
    this.#writer = writer;
    this.#limits = limits;
    this.freeBytes = freeBytes;
    writer.on('message', (message: FromWriter) => this.#hear(message));
    writer.on('error', (error: Error) => this.#break(error.message));
    writer.on('exit', () => {
      if (this.#closed === null) this.#break('the storage thread ended');
      else this.#closed();
    });
  }

  /** Is told once, when nothing can be written any more. */
  onBroken(failed: (message: string) => void): void {
    this.#failed = failed;
  }

  /** Is told of dead letters that were kept long enough. */
  onExpired(expired: (ids: readonly string[]) => void): void {
    this.#expired = expired;
  }

  /** Is told each time the disk has been looked at. */
  onDisk(looked: () => void): void {
    this.#looked = looked;
  }

  /** Writes asked for and not yet on disk. */
  get pending(): number {
    return this.#waiting.length + (this.#sent?.waiting.length ?? 0);
  }

  /** What is to be written waits; null: it does not. */
  get stuck(): Stuck | null {
    return this.#stuck;
  }

  get broken(): boolean {
    return this.#broken;
  }

  /** @returns its place in the group, by which it is told what the writer found out of it */
  add(write: AnyWrite): number {
    return this.#writes.push(write) - 1;
  }

  /** Another thing when what is added next is of another group. */
  get gathering(): unknown {
    return this.#writes;
  }

  /**
   * `written` is called when all that was added is on disk, or with null when it could not be
   * written.
   * @param refused called instead where there is no room; left out: the writes wait for room
   */
  flush(written: Written, refused: (() => void) | null = null): void {
    if (this.#broken) return queueMicrotask(() => written(null));
    this.#waiting.push({ until: this.#writes.length, written, refused });
    if (this.#sent !== null || this.#scheduled || this.#stuck !== null) return;
    this.#scheduled = true;
    setImmediate(this.#send);
  }

  /** Like `flush`, but may wait a few milliseconds for other writes to go with. */
  flushSoon(written: Written): void {
    if (this.#broken) return queueMicrotask(() => written(null));
    this.#waiting.push({ until: this.#writes.length, written, refused: null });
    if (this.#sent !== null || this.#scheduled || this.#stuck !== null) return;
    this.#lazy ??= setTimeout(this.#send, lazyMs);
  }

  /** Resolves once all that was added is on disk and `then` was done; false when it cannot be. */
  written(then: () => void): Promise<boolean> {
    return new Promise((resolve) => {
      this.flush((known) => {
        if (known !== null) then();
        resolve(known !== null);
      });
    });
  }

  /** Like `written`, but resolves to false at once where there is no room. */
  writtenNow(): Promise<boolean> {
    return new Promise((resolve) => {
      this.flush(
        (known) => resolve(known !== null),
        () => resolve(false),
      );
    });
  }

  /**
   * Resolves when these are on disk; rejects when they cannot be, or when there is no room.
   * @param lockedMs another program that has the database locked is waited for so long
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
        (known) => resolve(known === null ? 'broken' : null),
        () => resolve(this.#stuck ?? 'broken'),
      );
    });
  }

  /**
   * Folds the log into the database and empties it: what was deleted is on the disk no more.
   * @param of `vacuum` writes the database anew first, where that does not take too long
   * @returns false while somebody reads what is in the log
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
   * Writes what is left and lets the writer go. Where there is no room even now, or no answer in
   * time, what is left is not written: the next start finds it as after a crash.
   * @returns whether its thread has ended
   */
  async close(): Promise<boolean> {
    this.#closing = true;
    const hasClosed = await endsWithin(this.#writeLeft(), this.#limits.closeMs);
    // The disk is not to blame where another program has the database.
    this.silent = !hasClosed && this.#stuck !== 'locked';
    if (!hasClosed) this.#break(this.silent ? 'it did not close in time' : stillLocked);
    return this.abandon();
  }

  async #writeLeft(): Promise<void> {
    do {
      const left = new Promise<void>((resolve) => this.flush(() => resolve()));
      if (this.#stuck !== null && this.#sent === null) this.#send();
      await left;
      // A caller that was answered just now may have something to add.
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
   * Lets the writer go without writing anything more. A reader that is closed only afterwards keeps
   * it from folding the log into the database, which would sync the log again.
   * @returns whether its thread has ended
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
    // Whether there is room again is found out by writing something that takes some.
    if (this.#stuck !== null && !this.#broken) {
      this.add(tries[this.#stuck]);
      this.#waiting.push({ until: this.#writes.length, written: () => {}, refused: null });
    }
    if (this.#sent !== null || this.#waiting.length === 0 || this.#broken) return;
    const [number, writes] = [++this.#number, this.#writes];
    this.#sent = { writes, waiting: this.#waiting };
    this.#writes = [];
    this.#waiting = [];
    if (writes.length === 0) this.#hear({ kind: 'done', number, known: [], reservings: [] });
    else this.#writer.postMessage(JSON.stringify({ number, writes }) satisfies ToWriter);
  };

  #hear(message: FromWriter): void {
    switch (message.kind) {
      case 'done':
        return this.#done(message);
      case 'full':
      case 'locked':
        return this.#waits(message.kind);
      case 'failed':
        return this.#break(message.message);
      case 'disk':
        this.freeBytes = message.freeBytes;
        return this.#looked();
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
    const told = { known: new Map(known), reservings: new Map(reservings) };
    if (this.#stuck !== null) this.#goesOn(this.#stuck);
    for (const { written } of waiting) written(told);
    if (this.#waiting.length > 0) this.#send();
  }

  #waits(why: Stuck): void {
    if (this.#closing && why === 'full') return this.#break(noRoom);
    const sent = withoutTries(this.#sent ?? { writes: [], waiting: [] });
    const gathered = withoutTries({ writes: this.#writes, waiting: this.#waiting });
    this.#sent = null;
    ({ writes: this.#writes, waiting: this.#waiting } = joined(sent, gathered));
    this.#stuck = why;
    this.#retry = setTimeout(this.#send, this.#closing ? closingRetryMs : retryMs);
    this.#looked();
    for (const refused of [...sent.refused, ...gathered.refused]) refused();
  }

  #goesOn(after: Stuck): void {
    this.#stuck = null;
    if (after === 'full') {
      this.add(['roomGiven']);
      this.flushSoon(() => {});
    }
    this.#looked();
  }

  #break(message: string): void {
    if (this.#broken) return;
    this.#broken = true;
    this.#failed(message);
    this.#end();
    this.#closed?.();
  }

  /** Those who still wait get null. */
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
