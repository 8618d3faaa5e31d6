/** How replies go out, and what of that is written down. */
import type { ChannelKey } from '../../domain/ids.ts';
import type { Failure } from '../../domain/failure.ts';
import type { Deferral } from '../../domain/reply.ts';
import type { OpenClaims } from '../claims.ts';
import type { Doorway } from '../doorway.ts';
import { laterParts, type OutRow } from '../rows.ts';
import type { OutClaim } from '../store.ts';
import type { Known } from './gathered.ts';
import type { DurableParts } from './parts.ts';

export class Deliveries {
  readonly #parts: DurableParts;
  readonly #open: OpenClaims;
  readonly #door: Doorway;

  constructor(parts: DurableParts, open: OpenClaims, door: Doorway) {
    this.#parts = parts;
    this.#open = open;
    this.#door = door;
  }

  claim(channel: ChannelKey): OutClaim | null {
    const row = this.#parts.rows.take('out', channel);
    return row === undefined ? null : this.#open.claimOut(row, this.#parts.now());
  }

  async delivered(claim: OutClaim): Promise<boolean> {
    const row = this.#open.endOut(claim);
    if (row === null) return false;
    const { journal, now } = this.#parts;
    const at = now();
    journal.add(['outboxSettled', at, at - row.takenAt, row.seq]);
    const settle = (known: Known | null): void => {
      if (known !== null) this.#settle(row);
    };
    // Only the lane's next reply waits for this commit.
    if (row.lane.outbox.length > 1) journal.flush(settle);
    else journal.flushSoon(settle);
    return !journal.broken;
  }

  defer(claim: OutClaim, at: number, why: Failure, how: Deferral): Promise<boolean> {
    const row = this.#open.endOut(claim);
    if (row === null) return Promise.resolve(false);
    const { journal, rows } = this.#parts;
    const parked = how.park || row.parked;
    const late = row.late || parked ? 1 : 0;
    const duplicate = how.possibleDuplicate ? 1 : 0;
    const due = Math.round(at);
    const reason = JSON.stringify(why);
    journal.add(['outboxDeferred', row.attempt, due, late, duplicate, reason, row.seq]);
    this.#tried(row, why, parked);
    if (how.uncounted === true) journal.add(['outboxUncounted', row.seq]);
    return journal.written(() => {
      row.attempt++;
      if (how.uncounted === true) row.replayedAfter++;
      row.possibleDuplicate = how.possibleDuplicate;
      rows.postpone(row, at, how.park);
    });
  }

  release(claim: OutClaim): void {
    const row = this.#open.endOut(claim);
    if (row !== null) this.#parts.rows.giveBack(row);
  }

  /** @param dead is told once it is a dead letter */
  bury(claim: OutClaim, why: Failure, dead: (row: OutRow) => void): Promise<boolean> {
    const row = this.#open.endOut(claim);
    if (row === null) return Promise.resolve(false);
    const { journal, now } = this.#parts;
    const reason = JSON.stringify(why);
    const parts = laterParts(row);
    const at = now();
    for (const { seq } of [row, ...parts]) journal.add(['outboxDead', at, reason, seq]);
    this.#tried(row, why, row.parked);
    return journal.written(() => {
      dead(row);
      this.#settle(row, parts);
    });
  }

  #tried({ attempt, takenAt, seq }: OutRow, { kind, status }: Failure, parked: boolean): void {
    const { journal, now } = this.#parts;
    const told = JSON.stringify([takenAt, now() - takenAt, kind, status]);
    journal.add(['outboxTried', attempt, parked ? 1 : 0, told, seq]);
  }

  #settle(row: OutRow, parts?: readonly OutRow[]): void {
    this.#parts.rows.settle(row, parts);
    this.#door.settled();
  }
}
