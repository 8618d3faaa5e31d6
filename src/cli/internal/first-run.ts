/**
 * `svc internal first-run --config <file>`: the process that the application runs while there is no
 * configuration. It takes orders and writes a log as the service does.
 */
import { resolve } from 'node:path';
import { takeOrders } from '../../../apps/desktop/core/orders.ts';
import { createLog, type Log } from '../../lib/log.ts';
import { openLogFiles } from '../../lib/log-files.ts';
import { packageRoot, programVersion } from '../../lib/program.ts';
import { exitCode, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';

const table = { config: { type: 'string', values: 'file' } } as const;
const name = 'internal first-run';

/** @param args the arguments after the name of the role */
export async function runFirstRunRole(args: readonly string[], io: Io): Promise<number> {
  const { env, secrets: lookup, stop, abandon } = io;
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const taken = takeOrders(env);
  if (taken.kind === 'fault') return wrongUsage(io, name, `${taken.message}.`);
  const { config } = parsed.flags;
  if (taken.kind === 'none' || config === null) {
    return wrongUsage(io, name, 'svc starts this by itself; see "svc help desktop".');
  }
  const { orders } = taken;
  const log = openLog(orders.logFolder, io);
  const [{ openKeychain }, { runFirstRun }] = await Promise.all([
    import('../../app/keychain.ts'),
    import('../../../apps/desktop/first-run/first-run.ts'),
  ]);
  const end = await runFirstRun({
    orders,
    file: resolve(io.cwd, config),
    env,
    lookup,
    keychain: openKeychain({ env, atTerminal: false }),
    version: programVersion(),
    webRoot: new URL('web/dist/', packageRoot()),
    log,
    stop,
    abandon,
    platform: null,
  });
  await log.flush();
  if (end.kind === 'ended') return exitCode.fine;
  io.stderr.write(`svc: ${end.message}\n`);
  return exitCode.failed;
}

/** Without log files the log goes to standard error, which the shell still reads. */
function openLog(folder: string, { stderr }: Io): Log {
  const settings = { level: 'info', format: 'json' } as const;
  try {
    return createLog({ ...settings, stream: openLogFiles({ folder, name: 'svc' }) });
  } catch (error) {
    const log = createLog({ ...settings, stream: stderr });
    log.warn('log_files', `The log cannot be kept in files: ${(error as Error).message}.`);
    return log;
  }
}
