/** Where the ledger can be opened, by what a configuration says: a server's URL is a secret. */
import type { Config } from '../../config/config.ts';
import type { StoragePlace } from '../../config/storage-place.ts';
import { storageAt, type StorageAt } from '../../app/storage.ts';
import { readSecrets, type Refusal } from './boot.ts';
import type { Io } from '../cli.ts';

/** @returns a refusal where the URL of a server is missing, or can be none; null: no storage */
export async function findStorage(
  place: StoragePlace | null,
  config: Config,
  io: Io,
): Promise<StorageAt | Refusal | null> {
  if (place?.kind !== 'server') return place;
  const concerns = (path: string): boolean => path === 'storage.url_env';
  const read = await readSecrets(config, io, { concerns });
  return read.kind === 'refused' ? read : storageAt(place, read.secrets);
}
