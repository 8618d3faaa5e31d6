/** What is wrong with the storage while svc can accept nothing, and what a person can do. */
import type { Status } from '../../../src/admin/admin.ts';

/** undefined: something else is wrong, or nothing. */
export function storageTrouble({
  status,
  warnings,
}: Pick<Status, 'status' | 'warnings'>): Status['warnings'][number] | undefined {
  if (status !== 'failing') return undefined;
  return warnings.find(({ code }) => code.startsWith('storage_'));
}
