/**
 * Tries deferred replies at once, for an operator. With several processes on one storage, each
 * process holds some of the replies. Then the storage knows all of them, and notifies the other
 * processes.
 */
import type { DeferredGroup, RetriedNow, WhichDeferred } from '../../domain/records.ts';
import type { OutRow } from './queue.ts';
import type { WorkingSet } from './working-set.ts';
import type { DeferredReplies } from '../ledger.ts';
import type { LedgerStorage } from './storage.ts';

const groupsMax = 100;
/** While this many replies of a channel are ready, no more are added. */
const readyMax = 500;

export type DeferredDeps = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly rows: WorkingSet;
  readonly storage: LedgerStorage;
  /** Runs one operator request after the other. After the end of the ledger it returns `closed`. */
  readonly ask: <T>(act: () => Promise<T>, closed: T) => Promise<T>;
};

const failed: RetriedNow = { kind: 'storage_failed' };

export class Deferred implements DeferredReplies {
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
      if ((await this.#moveOwn(own, room)).kind !== 'moved') return failed;
      if (theirs.length > 0 && !(await shared.tryNow(theirs))) return failed;
      return { kind: 'moved', moved: moving.length, more: ids.length > moving.length };
    }, failed);
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
    return written ? moved : failed;
  }

  #room(channel: string | null): number {
    return readyMax - this.#deps.rows.ready.repliesReady(channel);
  }
}
