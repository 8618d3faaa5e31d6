/** What an operator did, as its row tells it. */
import type { AuditRow } from '../../domain/audit.ts';
import { fieldsOf } from './stored-json.ts';

/** target: a JSON object of ids by their names. */
export type AuditRecord = Omit<AuditRow, 'target'> & { readonly target: string };

export function auditRowOf({ at, action, target, status, reason }: AuditRecord): AuditRow {
  const named = Object.entries(fieldsOf(target)).map(([name, value]) => [name, String(value)]);
  return {
    at,
    action,
    target: Object.fromEntries(named) as AuditRow['target'],
    status,
    reason,
  };
}
