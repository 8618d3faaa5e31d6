/** What the PostgreSQL form's storage is made of; it owns them, and closes them with itself. */
import type { Clock } from '../../lib/clock.ts';
import type { LedgerNews } from '../ledger.ts';
import type { WorkingSet } from '../engine/order/working-set.ts';
import type { Takeovers } from './ledger/takeover.ts';
import type { DeadLetters } from './ledger/dead-letters.ts';
import type { Figures } from './ledger/figures.ts';
import type { History } from './ledger/history.ts';
import type { Spend } from './ledger/reservations.ts';
import type { Queues } from './queues/queues.ts';
import type { PostgresLimits } from './limits.ts';
import type { BeatingPeers } from './peers/peers.ts';
import type { Batches } from './write/batches.ts';
import type { Asked, Rows } from './write/statement.ts';
import type { Landed, Write } from './write/writes.ts';

export type PostgresDeps = Clock & {
  readonly limits: PostgresLimits;
  readonly rows: WorkingSet;
  readonly batches: PostgresBatches;
  readonly reads: Reads;
  /** For what people ask and what sweeps: no message waits behind it. */
  readonly slowReads: Reads;
  readonly history: History;
  readonly deadLetters: DeadLetters;
  readonly figures: Figures;
  readonly spend: Spend;
  readonly byHand: Takeovers;
  /** What goes on beside the messages. */
  readonly beside: AsyncDisposable;
  readonly news: LedgerNews;
  readonly queues: Queues;
  readonly peers: BeatingPeers;
  /** @param alone the id of the message that ran alone just then; null: none did */
  readonly noteFailure: (alone: string | null) => void;
  /** Gives up connections that are being made, and makes no more. */
  readonly giveUp: () => void;
  /** Resolves when what was noted is written, or cannot be. */
  readonly noted: () => Promise<void>;
};

export type PostgresBatches = Batches<Write, Landed>;

/**
 * A connection that the ledger reads by. While the server is away a question waits, and is asked
 * again; it rejects when the storage is closed, and on a fault that does not pass.
 */
export interface Reads extends AsyncDisposable {
  ask(asked: Asked): Promise<Rows>;
}
