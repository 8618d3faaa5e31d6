import type { Config } from '../../config/config.ts';
import type { Inspection } from '../../config/inspect.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { findConfigFile, inspectConfigFile } from '../frame/config-file.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainJson } from '../../lib/plain-text.ts';
import type { PreflightLine } from '../../preflight/lines.ts';
import { runPreflight } from '../../preflight/preflight.ts';
import { programVersion, versionAt } from '../../lib/program.ts';
import { codeOf, isColoured, report } from '../frame/report.ts';
import { clockLine } from './clock.ts';
import { desktopLines } from './desktop.ts';
import { keychainOf } from '../secrets/secrets.ts';
import { keychainLines } from './keychain.ts';
import { listenerLines } from './listeners.ts';
import { openFilesLines } from './open-files.ts';
import { examinePlace, storageLines } from './storage.ts';

const table = { config: { type: 'string' }, json: { type: 'boolean' } } as const;

export const doctor: Command = {
  name: 'doctor',
  summary: 'Look for what is wrong, with a remedy for each',
  usage: `Usage: svc doctor [--config <file>] [--json]

Looks at everything that svc needs: the configuration, secrets, the keychain where svc secrets set
has kept some, models, the addresses for replies, the database (sound, its schema, who may read it,
who owns it, room on the disk), how many files may be open, the addresses to listen on, the windows
that svc desktop has here, and the clock. It changes nothing, sends no one's words anywhere, and may
be run while svc runs.

  --config <file>  the configuration file (default: svc.json)
  --json           print {"valid", "problems", "checks"}

Exit codes: 0 fine (warnings too), 1 a check failed, 2 wrong usage, 78 the configuration has a
problem or a secret is missing.
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'doctor', parsed.message);
  const file = findConfigFile(parsed.flags.config, io);
  const inspection = await inspectConfigFile(file, io);
  const { validation } = inspection;
  const valid = validation.kind === 'valid';
  const lines = valid ? await look(inspection, validation.config, io) : [];
  if (parsed.flags.json) {
    io.stdout.write(`${plainJson({ valid, problems: validation.problems, checks: lines }, 2)}\n`);
  } else {
    const coloured = isColoured(io.stdout, io.env);
    io.stdout.write(report(file.name, inspection, lines, coloured, 'check'));
  }
  return io.stop.aborted ? exitCode.failed : codeOf(inspection, lines);
}

async function look(
  inspection: Inspection,
  config: Config,
  io: Io,
): Promise<readonly PreflightLine[]> {
  const examined = await examinePlace(inspection.storagePath);
  const owned = examined === null ? null : examined.kind === 'examined' && examined.owned;
  const [preflight, listeners] = await Promise.all([
    runPreflight(inspection, {
      lookup: io.secrets,
      version: programVersion(),
      heldDatabase: null,
      left: io.stop,
    }),
    listenerLines(config, owned),
  ]);
  const ownerPid = examined?.kind === 'examined' ? examined.ownerPid : null;
  const newestAt = examined?.kind === 'examined' ? examined.newestAt : null;
  return [
    ...preflight,
    ...(await keychainLines(keychainOf(io), io.stop)),
    ...(await storageLines(inspection.storagePath, examined)),
    ...openFilesLines(ownerPid),
    ...listeners,
    ...(await desktopLines(io.env)),
    clockLine({ now: Date.now(), newestAt, versionAt }),
  ];
}
