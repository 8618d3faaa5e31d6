import type { Config } from '../../config/config.ts';
import type { Inspection } from '../../config/inspect.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { warningsOfSkills } from '../../app/config/skill-warnings.ts';
import { withWarnings } from '../frame/config-check.ts';
import { findStorage } from '../frame/find-storage.ts';
import { findConfigFile, inspectConfigFile } from '../frame/config-file.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainJson } from '../../lib/plain-text.ts';
import type { PreflightLine } from '../../app/preflight/lines.ts';
import { runPreflight } from '../../app/preflight/preflight.ts';
import type { ServerSeen } from '../../app/preflight/server.ts';
import { probeServer } from '../../app/storage.ts';
import { programVersion, versionAt } from '../../lib/program.ts';
import { codeOf, isColoured, report } from '../frame/report.ts';
import { clockLine } from './clock.ts';
import { desktopLines } from './desktop.ts';
import { keychainOf } from '../secrets/secrets.ts';
import { keychainLines } from './keychain.ts';
import { listenerLines } from './listeners.ts';
import { mcpLines } from './mcp.ts';
import { openFilesLines } from './open-files.ts';
import { databaseLines } from './server.ts';
import { examinePlace, storageLines } from './storage.ts';
import { webhookLines } from './webhooks.ts';

const table = {
  config: { type: 'string' },
  'delete-webhook': { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

export const doctor: Command = {
  name: 'doctor',
  summary: 'Look for what is wrong, with a remedy for each',
  usage: `Usage: svc doctor [--config <file>] [--delete-webhook] [--json]

Looks at everything that svc needs: the configuration, secrets, the keychain where svc secrets set
has kept some, models (also how many tokens a local one reads in one call), the addresses for
replies, the bots of messengers (whose each token is, and whether another program set a webhook),
MCP servers (each is asked for its tools; a command is started for this, and ended), the database
(of a file: whether it is sound, its schema, who may read it, who owns it, room on the disk; of a
server: its version, the encryption, whether a commit lasts, the user's rights, the schema, who
works on it), how many files may be open, the addresses to listen on (those of the configuration,
whatever flags svc serve is given), the windows that svc desktop has here, and the clock. It changes
nothing but what a flag names, sends no one's words anywhere, and may be run while svc runs.

  --config <file>   the configuration file (default: svc.json)
  --delete-webhook  delete a webhook that another program set for a bot; what waits is kept
  --json            print {"valid", "problems", "checks"}

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
  const inspected = await inspectConfigFile(file, io);
  const inspection = withWarnings(inspected, await warningsOfSkills(inspected));
  const { validation } = inspection;
  const valid = validation.kind === 'valid';
  const deleting = parsed.flags['delete-webhook'];
  const lines = valid ? await look(inspection, validation.config, deleting, io) : [];
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
  deletingWebhook: boolean,
  io: Io,
): Promise<readonly PreflightLine[]> {
  const at = await findStorage(inspection.storage, config, io);
  const server = at?.kind === 'server' ? await probeServer(at) : undefined;
  const path = at?.kind === 'file' ? at.path : null;
  const examined = await examinePlace(path);
  const owned = isOwned(examined, server);
  const [preflight, listeners, servers, webhooks] = await Promise.all([
    runPreflight(inspection, {
      lookup: io.secrets,
      version: programVersion(),
      heldDatabase: null,
      server,
      left: io.stop,
    }),
    listenerLines(config, owned),
    mcpLines(config, inspection.file, io),
    webhookLines(config, io, deletingWebhook),
  ]);
  const ownerPid = examined?.kind === 'examined' ? examined.ownerPid : null;
  const newestAt =
    examined?.kind === 'examined'
      ? examined.newestAt
      : server?.kind === 'looked'
        ? server.newestAt
        : null;
  return [
    ...preflight,
    ...webhooks,
    ...servers,
    ...(await keychainLines(keychainOf(io), io.stop)),
    ...(await storageLines(path, examined)),
    ...(server?.kind === 'looked' ? databaseLines(server) : []),
    ...openFilesLines(ownerPid),
    ...listeners,
    ...(await desktopLines(io.env)),
    clockLine({ now: Date.now(), newestAt, versionAt }),
  ];
}

/** Whether a svc works on the database now; null: there is none, or nobody can tell. */
function isOwned(
  examined: Awaited<ReturnType<typeof examinePlace>>,
  server: ServerSeen | undefined,
): boolean | null {
  if (server !== undefined) return server.kind === 'looked' ? server.owner !== null : null;
  return examined === null ? null : examined.kind === 'examined' && examined.owned;
}
