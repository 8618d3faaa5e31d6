/** Where to ask a running service what every reader may know without a bearer. */
import type { ListenAddress } from '../../config/config.ts';
import { AdminClient } from '../frame/admin-client.ts';
import { useConfigFile } from '../frame/config-file.ts';
import { exitCode, type Io } from '../cli.ts';
import { locateService, whereSvcListens } from '../frame/service-location.ts';
import { programVersion } from '../../lib/program.ts';

/** @returns the address, or the exit code after the refusal was told */
export async function findAdmin(file: string | null, io: Io): Promise<ListenAddress | number> {
  const named = useConfigFile(file, io);
  const location = await locateService(named, io);
  if (location.kind === 'refused') {
    io.stderr.write(location.report);
    return exitCode.config;
  }
  const address = await whereSvcListens(location.addresses, io);
  if (address !== null) return address;
  io.stderr.write(
    'Only the running svc can tell this, and its admin server is switched off: ' +
      `take "enabled": false out of observability in ${named.name} and start svc again.\n`,
  );
  return exitCode.failed;
}

/** The status comes at once, or something is wrong with svc. */
const answerMs = 5_000;

/** Asks what every reader may know. */
export function adminClientAt(address: ListenAddress, { stop }: Io): AdminClient {
  const bearer = { kind: 'none', message: 'This needs no bearer.' } as const;
  return new AdminClient({ address, bearer, version: programVersion(), stop, answerMs });
}
