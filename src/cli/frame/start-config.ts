/**
 * Which configuration a start takes: that of the file, or, where several svc share a database, the
 * one that is in use there.
 */
import type { OwnAddresses } from '../../config/own-addresses.ts';
import { revisionOf } from '../../config/inspect.ts';
import { inspectShared } from '../../app/config/start.ts';
import { readSharedConfig, type StoreProblem } from '../../app/storage.ts';
import type { Io } from '../cli.ts';
import { readConfig, type ConfigRead } from './boot.ts';
import type { ConfigFile } from './config-file.ts';
import { findStorage } from './find-storage.ts';
import { isColoured, report } from './report.ts';

export type StartRead = {
  readonly read: ConfigRead;
  /** Names the one of the database, for people; null: it is the file's. */
  readonly name: string | null;
  /** Why the database could not be asked, so that the file stands in; null: it was. */
  readonly away: StoreProblem | null;
};

/** @param addresses where this process listens instead */
export async function readStart(
  file: ConfigFile,
  io: Io,
  addresses?: OwnAddresses,
): Promise<StartRead> {
  const read = await readConfig(file, io, addresses);
  const ofFile = { read, name: null, away: null };
  if (read.kind === 'refused' || read.inspection.storage?.kind !== 'server') return ofFile;
  const at = await findStorage(read.inspection.storage, read.config, io);
  // That the URL is missing is told with all other secrets that are.
  if (at?.kind !== 'server') return ofFile;
  const current = await readSharedConfig(at, { signal: io.stop });
  if (current === null) return ofFile;
  if ('message' in current) return { ...ofFile, away: current };
  if (current.revision === revisionOf(read.inspection.text)) return ofFile;
  const place = { file: file.path, env: io.env, addresses };
  const inspection = await inspectShared(current, read.inspection, place);
  const name = `revision ${current.revision} of the database`;
  return { read: asRead(inspection, name, io), name, away: null };
}

function asRead(
  inspection: Extract<ConfigRead, { readonly kind: 'read' }>['inspection'],
  name: string,
  { stderr, env }: Io,
): ConfigRead {
  const { validation } = inspection;
  if (validation.kind === 'valid') return { kind: 'read', config: validation.config, inspection };
  const said = report(name, inspection, [], isColoured(stderr, env));
  return { kind: 'refused', report: said, problems: validation.problems };
}
