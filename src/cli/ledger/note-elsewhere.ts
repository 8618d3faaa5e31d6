import type { Config } from '../../config/config.ts';
import { noter } from '../../app/config/audited.ts';
import type { AuditRow } from '../../domain/audit.ts';
import { isMade, type StorageAt } from '../../app/storage.ts';
import { openOwnLedger } from './own-ledger.ts';

/**
 * What a command changed elsewhere than in the ledger is a row in its audit, too. A database that
 * cannot be opened keeps nothing from being done: it is told.
 * @returns whether there is a row; null: there is no database to have one
 */
export async function noteElsewhere(
  config: Config,
  at: StorageAt | null,
  row: Omit<AuditRow, 'at'>,
): Promise<boolean | null> {
  if (at === null) return null;
  let failed = false;
  try {
    const made = await isMade(at);
    if (made !== true) return made === false ? null : false;
    const store = await openOwnLedger(config, at, () => (failed = true));
    if ('kind' in store) return false;
    await using _reader = store.reader;
    await using ledger = store.ledger;
    return (await noter(ledger, store.now)(row)) && !failed;
  } catch {
    return false;
  }
}
