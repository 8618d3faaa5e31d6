/** The claims that the ledger hands out. Each knows its row until it is ended, and it ends once. */
import type { Message } from '../../domain/message.ts';
import type { Reply } from '../../domain/reply.ts';
import { Linked, LinkedSet } from '../../lib/queue.ts';
import { Stopper } from '../../lib/stop.ts';
import { mergedMessage } from './merging.ts';
import type { Row, WholeInRow, WholeOutRow } from './queue.ts';
import type { Claim, InClaim, Memory, OutClaim } from '../ledger.ts';

class OpenInClaim extends Linked implements InClaim {
  readonly box = 'in';
  readonly message: Message;
  readonly attempt: number;
  readonly poison: boolean;
  readonly memory: Memory;
  readonly stop = new Stopper();
  row: WholeInRow | null;

  constructor(row: WholeInRow, memory: Memory) {
    super();
    this.message = mergedMessage(row);
    this.attempt = row.attempt;
    this.poison = row.poison;
    this.memory = memory;
    this.row = row;
  }
}

class OpenOutClaim extends Linked implements OutClaim {
  readonly box = 'out';
  readonly reply: Reply;
  readonly attempt: number;
  readonly attemptOfSchedule: number;
  readonly possibleDuplicate: boolean;
  readonly late: boolean;
  readonly stop = new Stopper();
  row: WholeOutRow | null;

  constructor(row: WholeOutRow) {
    super();
    this.reply = row.reply;
    this.attempt = row.attempt;
    this.attemptOfSchedule = row.attempt - row.replayedAfter;
    this.possibleDuplicate = row.possibleDuplicate;
    this.late = row.late;
    this.row = row;
  }
}

/** All claims that have not ended. */
export class OpenClaims {
  readonly #open = new LinkedSet<OpenInClaim | OpenOutClaim>();

  claimIn(row: WholeInRow, memory: Memory): InClaim {
    const claim = new OpenInClaim(row, memory);
    this.#open.add(claim);
    return claim;
  }

  /** @param now milliseconds since 1970 */
  claimOut(row: WholeOutRow, now: number): OutClaim {
    row.takenAt = now;
    const claim = new OpenOutClaim(row);
    this.#open.add(claim);
    return claim;
  }

  /** Ends a claim. @returns its row; null: the claim was ended before, or is not of this ledger */
  endIn(claim: InClaim): WholeInRow | null {
    if (!(claim instanceof OpenInClaim)) return null;
    const { row } = claim;
    claim.row = null;
    this.#open.delete(claim);
    return row;
  }

  endOut(claim: OutClaim): WholeOutRow | null {
    if (!(claim instanceof OpenOutClaim)) return null;
    const { row } = claim;
    claim.row = null;
    this.#open.delete(claim);
    return row;
  }

  /**
   * Ends every claim whose row, or a message merged into it, matches. Their holders lose them:
   * `stop` is stopped.
   * @returns the rows
   */
  revoke(matches: (row: Row) => boolean): readonly Row[] {
    const rows: Row[] = [];
    const lost: Stopper[] = [];
    for (const claim of this.#open) {
      const { row } = claim;
      if (row === null || !isAffected(row, matches)) continue;
      claim.row = null;
      this.#open.delete(claim);
      rows.push(row);
      lost.push(claim.stop);
    }
    // All claims end before the first holder is notified: it may ask for more work.
    for (const stop of lost) stop.stop();
    return rows;
  }

  /** The row of a claim; null: the claim has ended, or is not of this ledger. */
  rowOf(claim: InClaim): WholeInRow | null {
    return claim instanceof OpenInClaim ? claim.row : null;
  }

  /** Whether the claim is of this ledger and has not ended. */
  has(claim: Claim): boolean {
    return (claim instanceof OpenInClaim || claim instanceof OpenOutClaim) && claim.row !== null;
  }

  [Symbol.iterator](): Iterator<Claim> {
    return this.#open[Symbol.iterator]();
  }
}

function isAffected(row: Row, matches: (row: Row) => boolean): boolean {
  return matches(row) || (row.box === 'in' && row.merged.some(matches));
}
