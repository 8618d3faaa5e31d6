/**
 * How rows are handed out and taken back, with what they say and what their conversation remembers.
 */
import type { Box } from '../../domain/event.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import { unreadBehind } from './order/merging.ts';
import type { OpenClaims } from './order/open-claims.ts';
import type { InRow, Row, WholeRow } from './order/rows.ts';
import type { Claim } from '../ledger.ts';
import type { WorkingSet } from './order/working-set.ts';
import type { Awaitable, LedgerStorage } from './storage.ts';

export type ClaimingDeps = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly rows: WorkingSet;
  readonly storage: LedgerStorage;
  readonly open: OpenClaims;
  /** Is told of a text or a history that cannot be read. */
  readonly failed: (error: unknown) => void;
};

/** Why a reply waits of which no try has failed: the platform takes no more just now. */
const paced = { kind: 'rate_limited', status: null } as const;

export class Claiming {
  readonly #deps: ClaimingDeps;
  #stopped = false;

  constructor(deps: ClaimingDeps) {
    this.#deps = deps;
  }

  /** From now on nothing is handed out, since the end of a claim could not be written down. */
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

  /** Rows of a channel that is not served, also those that are held back: to be buried. */
  async takeUnserved(box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> {
    if (this.#stopped) return [];
    const { crashIsolation } = this.#deps.storage;
    const held: Row[] = [];
    for (let left = box === 'in' ? n : 0; left > 0; left--) {
      const row = crashIsolation?.takeUnserved(channel);
      if (row == null) break;
      held.push(row);
    }
    return this.#take(box, channel, n, held);
  }

  /** @param at before which a reply is not handed out again; absent: at once */
  release(claim: Claim, at?: number): void {
    const { open, rows } = this.#deps;
    const row = claim.box === 'in' ? open.endIn(claim) : open.endOut(claim);
    if (row === null) return;
    if (row.box === 'in' || at === undefined) return this.#giveBack([row]);
    row.why ??= paced;
    rows.postpone(row, at, false);
  }

  /** Claims on such messages are lost, and the messages wait again. */
  takeBack(matches: (row: InRow) => boolean): void {
    this.#giveBack(this.#deps.open.revoke((row) => row.box === 'in' && matches(row)));
  }

  /** @param taken those that go before, counted in n */
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

  /** Rows may be taken away, or the ledger end, while they are read. */
  async #readFirst(taken: readonly Row[]): Promise<readonly Claim[]> {
    const { storage, failed } = this.#deps;
    let left = taken;
    while (!this.#stopped && !this.#areReady(left)) {
      try {
        await storage.read(left.flatMap((row) => this.#unreadOf(row)));
      } catch (error) {
        this.#giveBack(this.#stillThere(left));
        // Of a storage that is closed nothing can be read.
        if (!this.#stopped) failed(error);
        return [];
      }
      left = this.#gatheredOf(this.#stillThere(left));
    }
    if (!this.#stopped && storage.mayHandOut && this.#areReady(left)) return this.#claimsOf(left);
    this.#giveBack(left);
    return [];
  }

  #unreadOf(row: Row): readonly Row[] {
    return this.#deps.storage.isReady(row) ? unreadWith(row) : [row];
  }

  /** Only what was read tells whether it is to be gathered. */
  #gatheredOf(taken: readonly Row[]): readonly Row[] {
    const { rows, storage } = this.#deps;
    return taken.filter((row) => {
      if (row.box === 'out' || row.message?.gather === undefined) return true;
      return storage.crashIsolation?.has(row) === true || !rows.gatherOn(row);
    });
  }

  /** What was taken away meanwhile ends here; what an operator has now waits again. */
  #stillThere(taken: readonly Row[]): readonly Row[] {
    for (const row of taken) if (row.gone) this.#deps.rows.settle(row);
    const left = taken.filter(({ gone }) => !gone);
    const isTakenOver = ({ box, queue }: Row): boolean => box === 'in' && queue.byHand;
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
          if (row.message.gather !== undefined) rows.leaving.join(row);
          claims.push(open.claimIn(row, storage.history.of(row.message)));
        }
      }
    } catch (error) {
      this.#giveBack(taken.slice(claims.length));
      failed(error);
    }
    return claims;
  }

  /** Each is the first of its lane again, and they are the first to be taken, in their order. */
  #giveBack(taken: readonly Row[]): void {
    const { rows, storage } = this.#deps;
    for (const row of taken.toReversed()) {
      if (row.box === 'in' && storage.crashIsolation?.released(row) === true) continue;
      rows.giveBack(row);
    }
  }
}

/** What has to be known before it is claimed, since it may be one message with it. */
function unreadWith(row: Row): readonly Row[] {
  return row.box === 'in' ? unreadBehind(row) : nothing;
}

const nothing: readonly Row[] = [];
