import type { WarningStatus } from '../admin/admin.ts';
import type { Control } from './config/control.ts';
import type { McpStanding } from '../domain/mcp.ts';
import type { Meters } from '../telemetry/meters.ts';
import { budgetWarnings } from './budget-warnings.ts';
import { withMcp } from './mcp-warnings.ts';

/** What is wrong by the configuration in use, and by what has happened under it. */
export function warningsNow(
  control: Pick<Control, 'warnings' | 'used'>,
  servers: { standings(): readonly McpStanding[] },
  meters: Pick<Meters, 'spend'>,
): readonly WarningStatus[] {
  return [...withMcp(control, servers.standings()), ...budgetWarnings(meters, control.used.config)];
}
