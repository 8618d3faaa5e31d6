/** A change of the keychain is a row in the audit, where there is a database to have one. */
import { noteElsewhere } from '../ledger/note-elsewhere.ts';
import { findStorage } from '../frame/find-storage.ts';
import type { Io } from '../cli.ts';
import { warn, type UsedSecrets } from './secrets.ts';

export type KeychainWrite = {
  readonly action: 'secret_set' | 'secret_deleted';
  readonly name: string;
  /** As the admin API answers it. */
  readonly status: number;
};

export async function tellAudit(
  { action, name, status }: KeychainWrite,
  { config, storage }: UsedSecrets,
  io: Io,
): Promise<void> {
  if (config === null) return;
  const row = { action, target: { name }, status, reason: null };
  const at = await findStorage(storage, config, io);
  // Without the URL of the server nobody can write there.
  const noted = at?.kind === 'refused' ? false : await noteElsewhere(config, at, row);
  if (noted === false) {
    warn(io, 'The audit has no row of this: the database is in use, or cannot be written.');
  }
}
