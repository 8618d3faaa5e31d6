/** The dependencies of the SQLite storage. The storage owns them, and closes them with itself. */
import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../../lib/clock.ts';
import type { TakenOverConversation } from '../../../domain/takeover.ts';
import type { LedgerNews } from '../../ledger.ts';
import type { WorkingSet } from '../../engine/working-set.ts';
import type { GroupCommit } from '../write/group-commit.ts';
import type { OwnerLock, NotedFailure } from '../files/database-files.ts';
import type { Suspect } from '../../engine/crash-isolation.ts';
import type { SqliteLimits } from './limits.ts';
import type { Labels } from './sensitivity-labels.ts';

export type SqliteDeps = Clock & {
  readonly limits: SqliteLimits;
  readonly lock: OwnerLock;
  /** A read-only connection. */
  readonly reader: DatabaseSync;
  readonly rows: WorkingSet;
  readonly groupCommit: GroupCommit;
  readonly noteFailure: (failure: NotedFailure) => void;
  /** After this call an uncaught exception writes no note beside the database. */
  readonly stopCrashNotes: () => void;
  readonly news: LedgerNews;
  readonly suspects: readonly Suspect[];
  /** Conversations under takeover by an operator when the process before ended. */
  readonly held: readonly TakenOverConversation[];
  readonly labels: Labels;
};
