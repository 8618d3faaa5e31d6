/** A stand-in with the surface of what opens a ledger on a server; to be replaced. */
import type { IdSource } from '../../domain/ids.ts';
import type { Clock } from '../../lib/clock.ts';
import type { LedgerNews } from '../news.ts';
import type { StoreProblem } from '../problem.ts';
import type { Ledger } from '../store.ts';
import { notYet } from './server/look.ts';

export type PostgresOptions = Clock & {
  /** A secret. */
  readonly url: string;
  readonly ids: IdSource;
  readonly retentionDays: number;
  /** Of this program, for who asks which one works on the database. */
  readonly version: string;
  /** Told once when the storage has failed for good; everything after is refused. */
  readonly onFault?: (error: unknown) => void;
  readonly news?: LedgerNews;
};

/** Makes the tables where there are none, and recovers what was unsettled. */
export async function openPostgresLedger({ url }: PostgresOptions): Promise<Ledger | StoreProblem> {
  return notYet(url);
}
