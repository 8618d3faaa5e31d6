import { statusSchema } from '../../admin/schemas/status.ts';
import { Unanswered } from '../frame/admin-client.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainJson } from '../../lib/plain-text.ts';
import { isColoured } from '../frame/report.ts';
import { adminClientAt, findAdmin } from './admin-at.ts';
import { statusPage } from './status-page.ts';

const table = { config: { type: 'string' }, json: { type: 'boolean' } } as const;

export const status: Command = {
  name: 'status',
  summary: 'Tell how the running svc is',
  usage: `Usage: svc status [--config <file>] [--json]

Asks the running svc at its admin address how it is: the service, its channels, the providers of
its models, what waits and since when, what was given up, and the configuration in use. Where
several instances work on one database, any of them tells of all. It needs no token, and tells
nobody's words. The address is that of the configuration: an svc that was given another one by
--admin-addr is not found.

  --config <file>  the configuration file, for the address (default: svc.json)
  --json           print what GET /api/v1/status answers

Exit codes: 0 svc works, 1 it is failing or does not answer, 2 wrong usage, 78 there is no
configuration file. A channel or a provider that is down is told, and is no reason for a 1.
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
    const found = await client.read('reader', 'status', statusSchema);
    const page = flags.json ? `${plainJson(found, 2)}\n` : statusPage(found, coloured);
    io.stdout.write(page);
    return found.status === 'ok' ? exitCode.fine : exitCode.failed;
  } catch (error) {
    if (!(error instanceof Unanswered)) throw error;
    io.stderr.write(`${error.message}\n`);
    return exitCode.failed;
  }
}
