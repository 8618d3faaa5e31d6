import { existsSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { noter } from '../../control/audited.ts';
import type { AuditRow } from '../../domain/audit.ts';
import { openOwnLedger } from './own-ledger.ts';

/**
 * What a command changed elsewhere than in the ledger is a row in its audit, too. A database that
 * cannot be opened keeps nothing from being done: it is told.
 * @returns whether there is a row; null: there is no database to have one
 */
export async function noteElsewhere(
  config: Config,
  path: string | null,
  row: Omit<AuditRow, 'at'>,
): Promise<boolean | null> {
  if (path === null || !existsSync(path)) return null;
  let failed = false;
  try {
    const store = await openOwnLedger(config, path, () => (failed = true));
    if ('kind' in store) return false;
    await using _reader = store.reader;
    await using ledger = store.ledger;
    return (await noter(ledger)(row)) && !failed;
  } catch {
    return false;
  }
}
