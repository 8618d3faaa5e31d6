import type { WarningStatus } from '../admin/admin.ts';
import type { Config } from '../config/config.ts';
import type { Meters } from '../meters.ts';

/** What the status tells of budgets; of a brain that is no longer configured, nothing. */
export function budgetWarnings(
  { spend }: Pick<Meters, 'spend'>,
  { brains }: Pick<Config, 'brains'>,
): readonly WarningStatus[] {
  return spend.budgets.warnings.flatMap(({ brain, field, code, message, remedy }) => {
    const at = brains.findIndex(({ name }) => name === brain);
    return at < 0 ? [] : [{ code, path: `brains[${at}].${field}`, message, remedy }];
  });
}
