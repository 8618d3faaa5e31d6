import { readSharedConfig } from '../../app/storage.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { useConfigFile } from '../frame/config-file.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { findShared, tellNone, tellProblem } from './place.ts';

const table = { config: { type: 'string' } } as const;

export const configShow: Command = {
  name: 'config show',
  summary: 'Print the configuration that several svc share',
  usage: `Usage: svc config show [<revision>] [--config <file>]

Prints the text of the configuration in use, as the database has it, or of one that was in use (see
svc config history). It is there with a PostgreSQL server alone, and whether svc runs or not.

  --config <file>  the configuration file, which names the server (default: svc.json)

Exit codes: 0 printed, 1 there is none, or the server does not answer, 2 wrong usage, 78
configuration.
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, configShow.name, parsed.message);
  const [revision] = parsed.positionals;
  const place = await findShared(useConfigFile(parsed.flags.config, io), io);
  if (typeof place === 'number') return place;
  const wanted = revision === undefined ? {} : { revision };
  const found = await readSharedConfig(place.at, { ...wanted, signal: io.stop });
  if (found !== null && 'message' in found) return tellProblem(found, io);
  if (found !== null) {
    io.stdout.write(found.text);
    return exitCode.fine;
  }
  if (revision === undefined) return tellNone(place.said, io);
  io.stderr.write(`No revision ${plainLine(revision)} is kept; svc config history lists them.\n`);
  return exitCode.failed;
}
