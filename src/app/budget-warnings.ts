import type { WarningStatus } from '../admin/admin.ts';
import type { BrainConfig } from '../config/config.ts';
import type { SpendLimit } from '../domain/spend.ts';
import type { Meters } from '../telemetry/meters.ts';

const bounds = {
  tokens_per_day: 'tokensPerDay',
  cost_per_day: 'costPerDay',
  tokens_per_sender_per_day: 'tokensPerSenderPerDay',
} as const satisfies Record<SpendLimit['kind'], keyof NonNullable<BrainConfig['budget']>>;

/**
 * What the status tells of budgets; nothing of a brain or a limit that is no longer configured so,
 * or never was, as in a trial.
 */
export function budgetWarnings(
  { spend }: Pick<Meters, 'spend'>,
  { brains }: { readonly brains: readonly Pick<BrainConfig, 'name' | 'budget'>[] },
): readonly WarningStatus[] {
  return spend.budgets.warnings.flatMap((warning) => {
    const { brain, field, limit, most, code, message, remedy } = warning;
    const at = brains.findIndex(({ name }) => name === brain);
    if (brains[at]?.budget?.[bounds[limit]] !== most) return [];
    return [{ code, path: `brains[${at}].${field}`, message, remedy }];
  });
}
