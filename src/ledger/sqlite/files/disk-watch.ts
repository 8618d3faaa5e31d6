/**
 * Whether the disk has room for new messages.
 *
 * States: ok → low (less free space than the minimum) or full or locked (by SQLite's answer) → ok.
 * Each change is reported once. Low ends only at an eighth more than the minimum, so that a disk
 * near the limit does not report every few seconds.
 */
import type { StorageRoom } from '../../ledger.ts';
import type { Stuck } from '../write/group-commit.ts';

export class DiskWatch {
  readonly #freeBytesMin: number;
  readonly #report: (room: StorageRoom) => void;
  readonly #holder: () => number | null;
  #room: StorageRoom = { kind: 'ok' };
  #low = false;

  /** @param holder the process that has locked the database; null: unknown */
  constructor(
    freeBytesMin: number,
    report: (room: StorageRoom) => void,
    holder: () => number | null = () => null,
  ) {
    this.#freeBytesMin = freeBytesMin;
    this.#holder = holder;
    this.#report = report;
  }

  get hasRoom(): boolean {
    return this.#room.kind === 'ok';
  }

  /** @param stuck why nothing is written; null: writing works */
  look(freeBytes: number, stuck: Stuck | null): void {
    const least = this.#freeBytesMin;
    this.#low = freeBytes < (this.#low ? least + least / 8 : least);
    const kind = stuck ?? (this.#low ? 'low' : 'ok');
    if (kind === this.#room.kind) return;
    if (kind === 'low') this.#room = { kind, freeBytes, freeBytesMin: least };
    else this.#room = kind === 'locked' ? { kind, holder: this.#holder() } : { kind };
    this.#report(this.#room);
  }
}
