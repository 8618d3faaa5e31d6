/** Claims as the forms hand them out: each knows its row until it is ended, once. */
import type { Message } from '../domain/message.ts';
import type { Reply } from '../domain/reply.ts';
import type { InRow, OutRow } from './rows.ts';
import type { InClaim, Memory, OutClaim } from './store.ts';

export class OpenInClaim implements InClaim {
  readonly box = 'in';
  readonly message: Message;
  readonly attempt: number;
  readonly memory: Memory;
  #row: InRow | null;

  constructor(row: InRow, memory: Memory) {
    this.message = row.message;
    this.attempt = row.attempt;
    this.memory = memory;
    this.#row = row;
  }

  /** The row of a claim of ours, which is over from now on; null if it was over, or is not ours. */
  static end(claim: InClaim): InRow | null {
    if (!(claim instanceof OpenInClaim)) return null;
    const row = claim.#row;
    claim.#row = null;
    return row;
  }
}

export class OpenOutClaim implements OutClaim {
  readonly box = 'out';
  readonly reply: Reply;
  readonly attempt: number;
  readonly possibleDuplicate: boolean;
  readonly late: boolean;
  #row: OutRow | null;

  constructor(row: OutRow) {
    this.reply = row.reply;
    this.attempt = row.attempt;
    this.possibleDuplicate = row.possibleDuplicate;
    this.late = row.late;
    this.#row = row;
  }

  static end(claim: OutClaim): OutRow | null {
    if (!(claim instanceof OpenOutClaim)) return null;
    const row = claim.#row;
    claim.#row = null;
    return row;
  }
}
