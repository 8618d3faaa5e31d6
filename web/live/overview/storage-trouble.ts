/** The storage's problem while svc can accept nothing, and its remedy. */
import type { Status } from '../../../src/admin/admin.ts';

/** @returns undefined if there is another problem or none */
export function storageTrouble({
  status,
  warnings,
}: Pick<Status, 'status' | 'warnings'>): Status['warnings'][number] | undefined {
  if (status !== 'failing') return undefined;
  return warnings.find(({ code }) => code.startsWith('storage_'));
}
