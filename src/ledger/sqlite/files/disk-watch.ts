/**
 * Whether the disk lets anything more in: ok → low (a look found less free than there must be) |
 * full or locked (SQLite said so) → ok. Each change is told once. Low ends only when there is an
 * eighth more than there must be, so that a disk at the edge is not told of every few seconds.
 */
import type { StorageRoom } from '../../ledger.ts';
import type { Stuck } from '../write/group-commit.ts';

export class DiskWatch {
  readonly #freeBytesMin: number;
  readonly #told: (room: StorageRoom) => void;
  readonly #holder: () => number | null;
  #room: StorageRoom = { kind: 'ok' };
  #low = false;

  /** @param holder the process that has the database locked; null: not known */
  constructor(
    freeBytesMin: number,
    told: (room: StorageRoom) => void,
    holder: () => number | null = () => null,
  ) {
    this.#freeBytesMin = freeBytesMin;
    this.#holder = holder;
    this.#told = told;
  }

  get hasRoom(): boolean {
    return this.#room.kind === 'ok';
  }

  /** @param stuck why nothing is written; null: it is */
  look(freeBytes: number, stuck: Stuck | null): void {
    const least = this.#freeBytesMin;
    this.#low = freeBytes < (this.#low ? least + least / 8 : least);
    const kind = stuck ?? (this.#low ? 'low' : 'ok');
    if (kind === this.#room.kind) return;
    if (kind === 'low') this.#room = { kind, freeBytes, freeBytesMin: least };
    else this.#room = kind === 'locked' ? { kind, holder: this.#holder() } : { kind };
    this.#told(this.#room);
  }
}
