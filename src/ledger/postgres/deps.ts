/** What the parts of this backend share: the batches of writes, and a connection that reads. */
import type { Batches } from './write/batches.ts';
import type { Asked, Landed, Rows } from './write/statement.ts';
import type { Write } from './write/writes.ts';

export type PostgresBatches = Batches<Write, Landed>;

/**
 * A connection that the ledger reads by. While the server is away a question waits, and is asked
 * again; it rejects when the storage is closed, and on a fault that does not pass.
 */
export interface Reads extends AsyncDisposable {
  ask(asked: Asked): Promise<Rows>;
}
