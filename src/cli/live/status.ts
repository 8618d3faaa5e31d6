/**
 * `svc status`: prints how the running svc is. It also finds the admin address for commands that
 * need no token.
 */
import { statusSchema } from '../../admin/schemas/status.ts';
import { Unanswered, AdminClient } from '../frame/admin-client.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainJson } from '../../lib/plain-text.ts';
import { isColoured } from '../frame/report.ts';
import { statusPage } from './status-page.ts';
import type { ListenAddress } from '../../config/address.ts';
import { useConfigFile } from '../frame/config-file.ts';
import { locateService, whereSvcListens } from '../frame/service-location.ts';
import { programVersion } from '../../lib/program.ts';

const table = { config: { type: 'string' }, json: { type: 'boolean' } } as const;

export const status: Command = {
  name: 'status',
  summary: 'Show the health of the running svc',
  usage: `Usage: svc status [--config <file>] [--json]

Asks the running svc at its admin address, and shows the service, its channels, the providers of
its models, the backlog and its age, dead letters, and the configuration in use. If several
instances work on one database, any of them answers for all. It needs no token, and shows nobody's
words. The address is that of the configuration: it does not find an svc that --admin-addr moved.

  --config <file>  the configuration file, for the address (default: svc.json)
  --json           print what GET /api/v1/status answers

Exit codes: 0 svc works, 1 it is failing or does not answer, 2 wrong usage, 78 there is no
configuration file. A channel or a provider that is down has a mark, and is no reason for a 1.
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'status', parsed.message);
  const { flags } = parsed;
  const address = await findAdmin(flags.config, io);
  if (typeof address === 'number') return address;
  await using client = adminClientAt(address, io);
  try {
    const coloured = isColoured(io.stdout, io.env);
    const current = await client.read('reader', 'status', statusSchema);
    const page = flags.json ? `${plainJson(current, 2)}\n` : statusPage(current, coloured);
    io.stdout.write(page);
    return current.status === 'ok' ? exitCode.fine : exitCode.failed;
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    io.stderr.write(`${error.message}\n`);
    return exitCode.failed;
  }
}

/** @returns the address, or the exit code after the refusal was printed */
export async function findAdmin(file: string | null, io: Io): Promise<ListenAddress | number> {
  const configFile = useConfigFile(file, io);
  const location = await locateService(configFile, io);
  if (location.kind === 'refused') {
    io.stderr.write(location.report);
    return exitCode.config;
  }
  const address = await whereSvcListens(location.addresses, io);
  if (address !== null) return address;
  io.stderr.write(
    'Only the running svc can tell this, and its admin server is switched off: ' +
      `take "enabled": false out of observability in ${configFile.name} and start svc again.\n`,
  );
  return exitCode.failed;
}

/** The status comes at once, unless something is wrong with svc. */
const answerMs = 5_000;

/** A client without a token, for what every reader may see. */
export function adminClientAt(address: ListenAddress, { stop }: Io): AdminClient {
  const bearer = { kind: 'none', message: 'This needs no bearer.' } as const;
  return new AdminClient({ address, bearer, version: programVersion(), stop, answerMs });
}
