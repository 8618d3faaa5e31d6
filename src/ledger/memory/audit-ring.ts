import { auditRowsMax, type AuditRow } from '../../domain/audit.ts';

/** A row with its number: rows count from 1, over all that were ever added. */
export type KeptAudit = AuditRow & { readonly seq: number };

/** What operators did, for the form that keeps nothing else: the last rows. */
export class AuditRing {
  readonly #rows: KeptAudit[] = [];
  #added = 0;

  add(row: AuditRow): void {
    this.#rows.push({ ...row, seq: ++this.#added });
    if (this.#rows.length > auditRowsMax) this.#rows.shift();
  }

  /** Newest first. */
  told(): readonly KeptAudit[] {
    return this.#rows.toReversed();
  }
}
