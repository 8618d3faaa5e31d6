/**
 * Keeps previews of unfinished replies. A preview is part of its message: it moves with the
 * message, and is deleted with it.
 */
import type { OpenClaims } from './open-claims.ts';
import type { Previews, InClaim } from '../ledger.ts';
import type { LedgerStorage } from './storage.ts';

export class KeptPreviews implements Previews {
  readonly #open: OpenClaims;
  readonly #storage: Pick<LedgerStorage, 'previewed'>;

  constructor(open: OpenClaims, storage: Pick<LedgerStorage, 'previewed'>) {
    this.#open = open;
    this.#storage = storage;
  }

  isNext(claim: InClaim): boolean {
    return this.#open.rowOf(claim)?.queue.outbox.length === 0;
  }

  async keep(claim: InClaim, preview: string): Promise<boolean> {
    const row = this.#open.rowOf(claim);
    if (row === null) return false;
    row.message = { ...row.message, preview };
    return this.#storage.previewed(row.message);
  }

  of(claim: InClaim): string | null {
    return this.#open.rowOf(claim)?.message.preview ?? null;
  }
}
