/**
 * Chooses the configuration of a start: that of the file or, if several svc share a database, the
 * one in use there.
 */
import type { OwnAddresses } from '../../config/own-addresses.ts';
import { revisionOf } from '../../config/inspect.ts';
import { inspectInDatabase } from '../../app/config/own-file.ts';
import { readConfigInDatabase, type StoreProblem } from '../../app/storage.ts';
import type { Io } from '../cli.ts';
import { readConfig, type ConfigRead } from './boot.ts';
import type { ConfigFile } from './config-file.ts';
import { findStorage } from './find-storage.ts';
import { isColoured, report } from './report.ts';

export type StartRead = {
  readonly read: ConfigRead;
  /** The name of the database's configuration, for people; null: the file's is used. */
  readonly name: string | null;
  /** Why the database could not be read, so that the file's is used; null: no such problem. */
  readonly storeProblem: StoreProblem | null;
};

/** @param addresses where this process listens, in place of the addresses in the configuration */
export async function readStart(
  file: ConfigFile,
  io: Io,
  addresses?: OwnAddresses,
): Promise<StartRead> {
  const read = await readConfig(file, io, addresses);
  const ofFile = { read, name: null, storeProblem: null };
  if (read.kind === 'refused' || read.inspection.storage?.kind !== 'server') return ofFile;
  const at = await findStorage(read.inspection.storage, read.config, io);
  // A missing URL is reported later, with all other missing secrets.
  if (at?.kind !== 'server') return ofFile;
  const current = await readConfigInDatabase(at, { signal: io.stop });
  if (current === null) return ofFile;
  if ('message' in current) return { ...ofFile, storeProblem: current };
  if (current.revision === revisionOf(read.inspection.text)) return ofFile;
  const place = { file: file.path, env: io.env, addresses };
  const inspection = await inspectInDatabase(current, read.inspection, place);
  const name = `revision ${current.revision} of the database`;
  return { read: asRead(inspection, name, io), name, storeProblem: null };
}

function asRead(
  inspection: Extract<ConfigRead, { readonly kind: 'read' }>['inspection'],
  name: string,
  { stderr, env }: Io,
): ConfigRead {
  const { validation } = inspection;
  if (validation.kind === 'valid') return { kind: 'read', config: validation.config, inspection };
  const reportText = report(name, inspection, [], isColoured(stderr, env));
  return { kind: 'refused', report: reportText, problems: validation.problems };
}
