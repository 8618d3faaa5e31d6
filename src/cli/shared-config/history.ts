import { readSharedHistory } from '../../app/storage.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { useConfigFile } from '../frame/config-file.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { left, localTime, right, table } from '../ledger/table.ts';
import { findShared, tellNone, tellProblem } from './place.ts';

const flagTable = { config: { type: 'string' }, json: { type: 'boolean' } } as const;

export const configHistory: Command = {
  name: 'config history',
  summary: 'List the configurations that several svc shared',
  usage: `Usage: svc config history [--config <file>] [--json]

Lists the configuration in use, as the database has it, and those before it, newest first; the last
hundred are kept. It is there with a PostgreSQL server alone, and whether svc runs or not.

  --config <file>  the configuration file, which names the server (default: svc.json)
  --json           print {"rows"}, with times in milliseconds since 1970

Exit codes: 0 listed, 1 there is none, or the server does not answer, 2 wrong usage, 78
configuration.
`,
  flags: flagTable,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, flagTable);
  if (parsed.kind === 'wrong') return wrongUsage(io, configHistory.name, parsed.message);
  const place = await findShared(useConfigFile(parsed.flags.config, io), io);
  if (typeof place === 'number') return place;
  const found = await readSharedHistory(place.at, io.stop);
  if (found !== null && 'message' in found) return tellProblem(found, io);
  if (found === null || found.length === 0) return tellNone(place.said, io);
  const rows = found.map(({ revision, at: usedAt, bytes }, index) => {
    return { revision, usedAt, bytes, used: index === 0 };
  });
  if (parsed.flags.json) {
    io.stdout.write(`${JSON.stringify({ rows }, null, 2)}\n`);
    return exitCode.fine;
  }
  const columns = [left('revision'), left('in use since'), right('bytes'), left('')];
  const lines = rows.map(({ revision, usedAt, bytes, used }) => {
    return [revision, localTime(usedAt), String(bytes), used ? 'in use' : ''];
  });
  io.stdout.write(table(columns, lines));
  return exitCode.fine;
}
