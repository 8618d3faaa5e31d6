import { problemCodes } from '../../config/problems.ts';
import { storageRemedies } from '../../domain/storage-remedies.ts';
import type { WarningStatus } from '../admin.ts';

const meanings: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(problemCodes).map(([code, { meaning }]) => [code, meaning.replace(/\.$/, '')]),
  ),
  config_not_applied: 'The configuration file is not in use',
  budget_nearly_used: 'A budget is nearly used for today',
  budget_used_up: 'A budget is used up for today',
  storage_full: 'The disk of the database is full',
  storage_locked: 'Another program has the database locked',
  storage_away: 'The database server does not answer',
  storage_low: 'The disk of the database is nearly full',
};

const remedies: Readonly<Record<string, string>> = storageRemedies;
const notToldHere = 'The log says more; so does this to an operator.';

/**
 * A warning for those who have not shown the bearer. Its own words may name folders of this
 * machine, or quote the configuration.
 */
export function redactForReader({ code, path }: WarningStatus): WarningStatus {
  const message = Object.hasOwn(meanings, code) ? meanings[code]! : 'Something may need a person';
  const remedy = Object.hasOwn(remedies, code) ? remedies[code]! : notToldHere;
  return { code, path, message, remedy };
}
