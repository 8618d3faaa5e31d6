import { notYet } from '../config/unsupported.ts';
import { logLevels, type Log } from '../lib/log.ts';
import type { Ending } from '../run/run.ts';
import {
  createCommandLog,
  logWarnings,
  readConfig,
  readLogLevel,
  readSecrets,
} from './frame/boot.ts';
import { exitCode, type Command, type Io } from './cli.ts';
import { sayChoice, useConfigFile } from './frame/config-file.ts';
import { openTurnLines } from './frame/turn-lines.ts';
import { parseFlags, wrongUsage } from './frame/flags.ts';
import { packageRoot, programVersion } from './frame/program.ts';

const table = {
  config: { type: 'string' },
  'log-level': { type: 'string', values: logLevels },
} as const;

export const serve: Command = {
  name: 'serve',
  summary: 'Run the service',
  usage: `Usage: svc serve [--config <file>] [--log-level <level>]

Runs the service until it is told to stop by SIGTERM or SIGINT (Ctrl-C): it then finishes what it
has in hand and ends. A second signal ends it at once. SIGHUP reads the configuration file again
and takes it into use; from a terminal that closes, it stops the service.

  --config <file>      the configuration file (default: svc.json)
  --log-level <level>  debug, info, warn or error (default: info)

Exit codes: 0 stopped as asked, 1 failed at its start or later, 2 wrong usage, 78 the
configuration, a secret, an address or the storage does not allow a start (1 where a restart may
help: the database is in use, or its disk failed or is full).
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const onReload = latchHangUps(io);
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'serve', parsed.message);
  const level = readLogLevel(parsed.flags['log-level'], 'info');
  if ('fault' in level) return wrongUsage(io, 'serve', level.fault);
  const file = useConfigFile(parsed.flags.config, io);
  const read = await readConfig(file, io);
  if (read.kind === 'refused') return refuse(io, read.report);
  const { config, inspection } = read;
  const missing = notYet(config);
  if (missing.length > 0) return refuse(io, missing.map((one) => `✗ ${one}\n`).join(''));
  const resolved = await readSecrets(config, io);
  if (io.stop.aborted) return exitCode.fine;
  if (resolved.kind === 'refused') return refuse(io, resolved.report);
  const { secrets } = resolved;
  io.secrets.hold(resolved.found);
  const warnings = [...inspection.validation.problems, ...resolved.warnings];
  const log = createCommandLog(io, level.level);
  log.scrub(secrets.values());
  const chosen = sayChoice(file);
  if (chosen !== null && io.stderr.isTTY !== true) log.info('config_found', chosen);
  logWarnings(log, warnings);
  using lines = io.stdout.isTTY === true ? openTurnLines(io) : null;
  const { runService } = await import('../run/run.ts');
  const ending = await runService({
    config,
    text: inspection.text,
    file: inspection.file,
    env: io.env,
    lookup: io.secrets,
    onReload,
    revision: inspection.revision,
    storagePath: inspection.storagePath,
    secrets,
    warnings,
    log,
    version: programVersion(),
    webRoot: new URL('web/dist/', packageRoot()),
    stop: io.stop,
    abandon: io.abandon,
    onTurn: lines === null ? undefined : (turn) => lines.told(turn),
  });
  await tell(ending, log);
  return codeOf(ending);
}

/** A hang-up that comes before anybody can act on it is acted on later. */
function latchHangUps({ onHangUp }: Io): (reload: () => void) => void {
  let came = false;
  let act = (): void => {
    came = true;
  };
  onHangUp(() => act());
  return (reload) => {
    act = reload;
    if (came) reload();
  };
}

async function tell(ending: Ending, log: Log): Promise<void> {
  if (ending.kind === 'refused') log.error(ending.code, ending.message);
  if (ending.kind === 'failed') log.error('service_failed', ending.message);
  await log.flush();
}

function codeOf({ kind }: Ending): number {
  switch (kind) {
    case 'ended':
      return exitCode.fine;
    case 'refused':
      return exitCode.config;
    case 'failed':
      return exitCode.failed;
    default:
      return kind satisfies never;
  }
}

function refuse(io: Io, report: string): number {
  io.stderr.write(report);
  return exitCode.config;
}
