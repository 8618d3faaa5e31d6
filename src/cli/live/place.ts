/** Where the running service of a configuration is asked. Readers need no bearer for any of it. */
import type { ListenAddress } from '../../config/config.ts';
import { readConfig } from '../boot.ts';
import { exitCode, type Io } from '../cli.ts';

/** @returns the address, or the exit code after the refusal was told */
export async function findAdmin(file: string | null, io: Io): Promise<ListenAddress | number> {
  const name = file ?? 'svc.json';
  const read = await readConfig(name, io);
  if (read.kind === 'refused') {
    io.stderr.write(read.report);
    return exitCode.config;
  }
  const { enabled, address } = read.config.observability;
  if (enabled) return address;
  io.stderr.write(
    'Only the running svc can tell this, and its admin server is switched off: ' +
      `take "enabled": false out of observability in ${name} and start svc again.\n`,
  );
  return exitCode.failed;
}
