/**
 * Whether the disk lets anything more in: ok → low (a look found less free than there must be) |
 * full (SQLite said so) → ok. Each change is told once. Low ends only when there is an eighth more
 * than there must be, so that a disk at the edge is not told of every few seconds.
 */
import type { StorageRoom } from '../../news.ts';

export class DiskWatch {
  readonly #freeBytesMin: number;
  readonly #told: (room: StorageRoom) => void;
  #room: StorageRoom = { kind: 'ok' };
  #low = false;

  constructor(freeBytesMin: number, told: (room: StorageRoom) => void) {
    this.#freeBytesMin = freeBytesMin;
    this.#told = told;
  }

  get hasRoom(): boolean {
    return this.#room.kind === 'ok';
  }

  look(freeBytes: number, full: boolean): void {
    const least = this.#freeBytesMin;
    this.#low = freeBytes < (this.#low ? least + least / 8 : least);
    const kind = full ? 'full' : this.#low ? 'low' : 'ok';
    if (kind === this.#room.kind) return;
    this.#room = kind === 'low' ? { kind, freeBytes, freeBytesMin: least } : { kind };
    this.#told(this.#room);
  }
}
