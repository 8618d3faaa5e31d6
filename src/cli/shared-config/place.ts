/** Where several svc share a configuration, for commands that show or change it there. */
import { describeStorage, type AtServer, type StoreProblem } from '../../app/storage.ts';
import type { Inspection } from '../../config/inspect.ts';
import { exitCode, type Io } from '../cli.ts';
import { readConfig } from '../frame/boot.ts';
import type { ConfigFile } from '../frame/config-file.ts';
import { findStorage } from '../frame/find-storage.ts';

export type SharedPlace = {
  readonly at: AtServer;
  /** Of the file that names the server; it has no problems. */
  readonly inspection: Inspection;
  /** For people: `database "svc" on db.example:5432`. */
  readonly said: string;
};

/** @returns the place, or the exit code after it was told why there is none */
export async function findShared(file: ConfigFile, io: Io): Promise<SharedPlace | number> {
  const read = await readConfig(file, io);
  if (read.kind === 'refused') {
    io.stderr.write(read.report);
    return exitCode.config;
  }
  const { config, inspection } = read;
  const at = await findStorage(inspection.storage, config, io);
  if (at?.kind === 'refused') {
    io.stderr.write(at.report);
    return exitCode.config;
  }
  if (at?.kind === 'server') return { at, inspection, said: await describeStorage(at) };
  io.stderr.write(
    `${file.name} itself is the configuration: several svc share one only where storage.url_env ` +
      'names a database server. To take a changed file into use, send svc a SIGHUP.\n',
  );
  return exitCode.failed;
}

/** What keeps a command from it. */
export function tellProblem({ message }: Pick<StoreProblem, 'message'>, { stderr }: Io): number {
  stderr.write(`${message}\n`);
  return exitCode.failed;
}

export function tellNone(said: string, { stderr }: Io): number {
  stderr.write(`No configuration is in use in the ${said} yet: the first start writes one.\n`);
  return exitCode.failed;
}
