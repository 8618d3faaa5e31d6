/** What the parts of this backend share: the batches of writes, and a connection that reads. */
import type { Batches } from './write/batches.ts';
import type { Query, Landed, Rows } from './write/statement.ts';
import type { Write } from './write/writes.ts';

export type PostgresBatches = Batches<Write, Landed>;

/** A connection for the reads of the ledger. */
export interface Reads extends AsyncDisposable {
  /**
   * Runs a query. While the server is away, it waits and tries again.
   * @throws when the storage is closed, and on an error that does not pass
   */
  ask(asked: Query): Promise<Rows>;
}
