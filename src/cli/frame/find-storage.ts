/** Finds where a command can open the ledger. The URL of a server is a secret. */
import type { Config } from '../../config/config.ts';
import type { StoragePlace } from '../../config/storage-place.ts';
import { storageAt, type StorageAt } from '../../app/storage.ts';
import { readSecrets, type Refusal } from './boot.ts';
import type { Io } from '../cli.ts';

/** @returns a refusal if the URL of a server is missing or is no URL; null: no storage */
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
