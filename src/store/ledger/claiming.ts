/** How rows are handed out and taken back, with what their conversation remembers. */
import type { Box } from '../../domain/event.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import { upTo, type OpenClaims } from '../order/open-claims.ts';
import type { InRow } from '../order/rows.ts';
import type { Claim, InClaim, OutClaim } from '../store.ts';
import type { WorkingSet } from '../order/working-set.ts';
import type { LedgerStorage } from './storage.ts';

export type ClaimingParts = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly rows: WorkingSet;
  readonly storage: LedgerStorage;
  readonly open: OpenClaims;
  /** Is told of a history that cannot be read. */
  readonly failed: (error: unknown) => void;
};

export class Claiming {
  readonly #parts: ClaimingParts;
  #stopped = false;

  constructor(parts: ClaimingParts) {
    this.#parts = parts;
  }

  /** From now on nothing is handed out, since the end of a claim could not be written down. */
  stop(): void {
    this.#stopped = true;
  }

  async claim(box: Box, channel: ChannelKey, n: number): Promise<readonly Claim[]> {
    if (this.#stopped) return [];
    const { quarantine } = this.#parts.storage;
    if (quarantine === null || quarantine.suspects === 0) return this.#take(box, channel, n);
    const first = box === 'in' ? this.#claimOf(await quarantine.next(channel)) : null;
    if (quarantine.holdsOthers()) return first === null ? [] : [first];
    if (first === null) return this.#take(box, channel, n);
    return [first, ...this.#take(box, channel, n - 1)];
  }

  /** The next row of a channel that is not served, also one that is held back: to be buried. */
  takeUnserved(box: Box, channel: ChannelKey): Claim | null {
    const held = box === 'in' ? this.#parts.storage.quarantine?.takeUnserved(channel) : null;
    return held == null ? (this.#take(box, channel, 1)[0] ?? null) : this.#claimOf(held);
  }

  release(claim: Claim): void {
    const { open, rows, storage } = this.#parts;
    const row = claim.box === 'in' ? open.endIn(claim) : open.endOut(claim);
    if (row === null) return;
    if (row.box === 'in' && storage.quarantine?.released(row) === true) return;
    rows.giveBack(row);
  }

  #take(box: Box, channel: ChannelKey, n: number): readonly Claim[] {
    if (this.#stopped) return [];
    return upTo<Claim>(n, () => (box === 'in' ? this.#nextIn(channel) : this.#nextOut(channel)));
  }

  #nextIn(channel: ChannelKey): InClaim | null {
    return this.#claimOf(this.#parts.rows.take('in', channel) ?? null);
  }

  #nextOut(channel: ChannelKey): OutClaim | null {
    const { rows, open, now } = this.#parts;
    const row = rows.take('out', channel);
    return row === undefined ? null : open.claimOut(row, now());
  }

  #claimOf(row: InRow | null): InClaim | null {
    if (row === null) return null;
    const { open, storage, rows, failed } = this.#parts;
    try {
      return open.claimIn(row, storage.history.of(row.message));
    } catch (error) {
      rows.giveBack(row);
      failed(error);
      return null;
    }
  }
}
