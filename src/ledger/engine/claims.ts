/** Hands rows out and takes them back, with their texts and the memory of their conversation. */
import type { Box } from '../../domain/event.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import { unreadBehind } from './merging.ts';
import type { OpenClaims } from './open-claims.ts';
import type { InRow, Row, WholeRow } from './queue.ts';
import type { Claim } from '../ledger.ts';
import type { WorkingSet } from './working-set.ts';
import type { Awaitable, LedgerStorage } from './storage.ts';

export type ClaimingDeps = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly rows: WorkingSet;
  readonly storage: LedgerStorage;
  readonly open: OpenClaims;
  /** Called when a text or a history cannot be read. */
  readonly failed: (error: unknown) => void;
};

/** Why a reply waits although no attempt failed: the platform accepts no more just now. */
const pacedReason = { kind: 'rate_limited', status: null } as const;

export class Claiming {
  readonly #deps: ClaimingDeps;
  #stopped = false;

  constructor(deps: ClaimingDeps) {
    this.#deps = deps;
  }

  /** Hands out nothing from now on, since the end of a claim could not be written. */
  stop(): void {
    this.#stopped = true;
  }

  async claim(box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> {
    const { crashIsolation, mayHandOut } = this.#deps.storage;
    if (this.#stopped || !mayHandOut) return [];
    if (crashIsolation === null || crashIsolation.suspects === 0)
      return this.#take(box, channel, n);
    const suspect = box === 'in' ? await crashIsolation.next(channel) : null;
    const first = suspect === null ? [] : await this.#handOut([suspect]);
    if (crashIsolation.holdsOthers()) return first;
    return [...first, ...(await this.#take(box, channel, n - first.length))];
  }

  /**
   * Claims rows of a channel that is not served, also those that crash isolation holds back. They
   * become dead letters.
   */
  async takeUnserved(box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> {
    if (this.#stopped) return [];
    const { crashIsolation } = this.#deps.storage;
    const suspects: Row[] = [];
    for (let left = box === 'in' ? n : 0; left > 0; left--) {
      const row = crashIsolation?.takeUnserved(channel);
      if (row == null) break;
      suspects.push(row);
    }
    return this.#take(box, channel, n, suspects);
  }

  /** @param at a reply is not handed out again before this time; absent: at once */
  release(claim: Claim, at?: number): void {
    const { open, rows } = this.#deps;
    const row = claim.box === 'in' ? open.endIn(claim) : open.endOut(claim);
    if (row === null) return;
    if (row.box === 'in' || at === undefined) return this.#giveBack([row]);
    row.why ??= pacedReason;
    rows.postpone(row, at, false);
  }

  /** Revokes the claims on matching messages. The messages wait again. */
  takeBack(matches: (row: InRow) => boolean): void {
    this.#giveBack(this.#deps.open.revoke((row) => row.box === 'in' && matches(row)));
  }

  /** @param taken rows that go first; they count towards n */
  #take(box: Box, channel: ChannelKey, n: number, taken: Row[] = []): Awaitable<readonly Claim[]> {
    while (!this.#stopped && taken.length < n) {
      const row = this.#deps.rows.take(box, channel);
      if (row === undefined) break;
      taken.push(row);
    }
    return this.#handOut(taken);
  }

  #handOut(taken: readonly Row[]): Awaitable<readonly Claim[]> {
    return this.#areReady(taken) ? this.#claimsOf(taken) : this.#readFirst(taken);
  }

  #areReady(taken: readonly Row[]): taken is readonly WholeRow[] {
    const { storage } = this.#deps;
    return taken.every((row) => storage.isReady(row) && unreadWith(row).length === 0);
  }

  /** Reads the texts first. Meanwhile rows may be removed, and the ledger may close. */
  async #readFirst(taken: readonly Row[]): Promise<readonly Claim[]> {
    const { storage, failed } = this.#deps;
    let left = taken;
    while (!this.#stopped && !this.#areReady(left)) {
      try {
        await storage.read(left.flatMap((row) => this.#unreadOf(row)));
      } catch (error) {
        this.#giveBack(this.#stillPresent(left));
        // A closed storage cannot be read.
        if (!this.#stopped) failed(error);
        return [];
      }
      left = this.#withoutMergeWaits(this.#stillPresent(left));
    }
    if (!this.#stopped && storage.mayHandOut && this.#areReady(left)) return this.#claimsOf(left);
    this.#giveBack(left);
    return [];
  }

  #unreadOf(row: Row): readonly Row[] {
    return this.#deps.storage.isReady(row) ? unreadWith(row) : [row];
  }

  /** A message whose text was not in memory may have to wait for messages to merge with. */
  #withoutMergeWaits(taken: readonly Row[]): readonly Row[] {
    const { rows, storage } = this.#deps;
    return taken.filter((row) => {
      if (row.box === 'out' || row.message?.gather === undefined) return true;
      return storage.crashIsolation?.has(row) === true || !rows.waitToMerge(row);
    });
  }

  /**
   * Ends the rows that were removed meanwhile, and gives back those of conversations taken over
   * meanwhile.
   */
  #stillPresent(taken: readonly Row[]): readonly Row[] {
    for (const row of taken) if (row.gone) this.#deps.rows.settle(row);
    const left = taken.filter(({ gone }) => !gone);
    const isTakenOver = ({ box, queue }: Row): boolean => box === 'in' && queue.isTakenOver;
    if (!left.some(isTakenOver)) return left;
    this.#giveBack(left.filter(isTakenOver));
    return left.filter((row) => !isTakenOver(row));
  }

  #claimsOf(taken: readonly WholeRow[]): readonly Claim[] {
    const { open, rows, storage, now, failed } = this.#deps;
    const claims: Claim[] = [];
    try {
      for (const row of taken) {
        if (row.box === 'out') claims.push(open.claimOut(row, now()));
        else {
          if (row.message.gather !== undefined) rows.leaving.merge(row);
          claims.push(open.claimIn(row, storage.history.of(row.message)));
        }
      }
    } catch (error) {
      this.#giveBack(taken.slice(claims.length));
      failed(error);
    }
    return claims;
  }

  /** Gives rows back. They are the first to be taken again, in their order. */
  #giveBack(taken: readonly Row[]): void {
    const { rows, storage } = this.#deps;
    for (const row of taken.toReversed()) {
      if (row.box === 'in' && storage.crashIsolation?.released(row) === true) continue;
      rows.giveBack(row);
    }
  }
}

/** The rows whose text decides whether they are merged with this row. */
function unreadWith(row: Row): readonly Row[] {
  return row.box === 'in' ? unreadBehind(row) : nothing;
}

const nothing: readonly Row[] = [];
