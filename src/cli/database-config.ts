/**
 * `svc config show`, `history` and `use`: the configuration that several svc share in a database.
 */
import {
  describeStorage,
  readConfigInDatabase,
  isMade,
  readConfigHistory,
  type AtServer,
  type StoreProblem,
} from '../app/storage.ts';
import { revisionOf, type Inspection } from '../config/inspect.ts';
import { exitCode, type Io, type Command } from './cli.ts';
import { readConfig } from './frame/boot.ts';
import { useConfigFile, type ConfigFile } from './frame/config-file.ts';
import { findStorage } from './frame/find-storage.ts';
import { parseFlags, wrongUsage } from './frame/flags.ts';
import { plainLine } from '../lib/plain-text.ts';
import { noter } from '../app/config/audited.ts';
import { openOwnLedger } from './ledger/access.ts';
import { left, localTime, right, table } from './ledger/table.ts';

type DatabasePlace = {
  readonly at: AtServer;
  /** The inspection of the file that names the server; that file has no problems. */
  readonly inspection: Inspection;
  /** For people: `database "svc" on db.example:5432`. */
  readonly databaseName: string;
};

/** @returns the place, or the exit code after the reason was printed */
async function findDatabase(file: ConfigFile, io: Io): Promise<DatabasePlace | number> {
  const read = await readConfig(file, io);
  if (read.kind === 'refused') {
    io.stderr.write(read.report);
    return exitCode.config;
  }
  const { config, inspection } = read;
  const at = await findStorage(inspection.storage, config, io);
  if (at?.kind === 'refused') {
    io.stderr.write(at.report);
    return exitCode.config;
  }
  if (at?.kind === 'server') return { at, inspection, databaseName: await describeStorage(at) };
  io.stderr.write(
    `${file.name} itself is the configuration: several svc share one only where storage.url_env ` +
      'names a database server. To take a changed file into use, send svc a SIGHUP.\n',
  );
  return exitCode.failed;
}

function reportProblem({ message }: Pick<StoreProblem, 'message'>, { stderr }: Io): number {
  stderr.write(`${message}\n`);
  return exitCode.failed;
}

function reportNone(databaseName: string, { stderr }: Io): number {
  stderr.write(
    `No configuration is in use in the ${databaseName} yet: the first start writes one.\n`,
  );
  return exitCode.failed;
}

const placeTable = { config: { type: 'string' } } as const;

export const configShow: Command = {
  name: 'config show',
  summary: 'Print the configuration in use on a PostgreSQL server',
  usage: `Usage: svc config show [<revision>] [--config <file>]

Prints the text of the configuration in use in the database, or of an earlier one (see svc config
history). It needs a PostgreSQL server, and works whether svc runs or not.

  --config <file>  the configuration file, which names the server (default: svc.json)

Exit codes: 0 printed, 1 there is none, or the server does not answer, 2 wrong usage, 78
configuration.
`,
  flags: placeTable,
  run: runShow,
};

async function runShow(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, placeTable, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, configShow.name, parsed.message);
  const [revision] = parsed.positionals;
  const place = await findDatabase(useConfigFile(parsed.flags.config, io), io);
  if (typeof place === 'number') return place;
  const wanted = revision === undefined ? {} : { revision };
  const config = await readConfigInDatabase(place.at, { ...wanted, signal: io.stop });
  if (config !== null && 'message' in config) return reportProblem(config, io);
  if (config !== null) {
    io.stdout.write(config.text);
    return exitCode.fine;
  }
  if (revision === undefined) return reportNone(place.databaseName, io);
  io.stderr.write(`No revision ${plainLine(revision)} is kept; svc config history lists them.\n`);
  return exitCode.failed;
}

const useTable = {} as const;

export const configUse: Command = {
  name: 'config use',
  summary: 'Put a configuration file into use on a PostgreSQL server',
  usage: `Usage: svc config use [<file>]

Makes a file (default: svc.json) the configuration in use in the database, while no svc runs on it.
The next start takes it. Use it for fields that need a restart, or if no svc can start with the
configuration in use. While svc runs, send SIGHUP to an svc that has the file, or PUT the file to
/api/v1/config. Then svc first asks every instance whether it can use the file.

Each start looks for the secrets on its own machine.

Exit codes: 0 in use, 1 not changed, 2 wrong usage, 78 the file has a problem.
`,
  flags: useTable,
  takes: 'file',
  run: runUse,
};

async function runUse(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, useTable, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, configUse.name, parsed.message);
  const file = useConfigFile(parsed.positionals[0] ?? null, io);
  const place = await findDatabase(file, io);
  if (typeof place === 'number') return place;
  const exists = await isMade(place.at);
  if (exists === true) return use(place, file.name, io);
  return exists === false ? reportNone(place.databaseName, io) : reportProblem(exists, io);
}

async function use(
  { at, inspection, databaseName }: DatabasePlace,
  name: string,
  io: Io,
): Promise<number> {
  const { validation, text } = inspection;
  if (validation.kind === 'invalid') return exitCode.config;
  const store = await openOwnLedger(validation.config, at, () => {});
  if ('kind' in store) return reportProblem(store, io);
  await using cluster = store.cluster;
  await using _reader = store.reader;
  await using ledger = store.ledger;
  if (cluster.limitShare() > 1) {
    const how = 'Send one that has the file a SIGHUP, or PUT it to /api/v1/config; or stop them.';
    return reportProblem({ message: `The ${databaseName} is in use by another svc. ${how}` }, io);
  }
  const replaced = await cluster.replaceConfig(text);
  if (replaced.kind === 'failed') return reportProblem(replaced, io);
  const { before: from } = replaced;
  const to = revisionOf(text);
  if (from === to) {
    io.stdout.write(`${name} is in use already: revision ${to}.\n`);
    return exitCode.fine;
  }
  const action = { action: 'config_use', target: { from, to } } as const;
  await noter(ledger, store.now)({ ...action, status: 200, reason: null });
  io.stdout.write(
    `${name} is in use in the ${databaseName} from the next start on: revision ${to}.\n`,
  );
  return exitCode.fine;
}

const flagTable = { config: { type: 'string' }, json: { type: 'boolean' } } as const;

export const configHistory: Command = {
  name: 'config history',
  summary: 'List the configurations that were in use on a PostgreSQL server',
  usage: `Usage: svc config history [--config <file>] [--json]

Lists the configuration in use in the database and earlier ones, newest first. svc keeps the last
hundred. It needs a PostgreSQL server, and works whether svc runs or not.

  --config <file>  the configuration file, which names the server (default: svc.json)
  --json           print {"rows"}, with times in milliseconds since 1970

Exit codes: 0 listed, 1 there is none, or the server does not answer, 2 wrong usage, 78
configuration.
`,
  flags: flagTable,
  run: runHistory,
};

async function runHistory(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, flagTable);
  if (parsed.kind === 'wrong') return wrongUsage(io, configHistory.name, parsed.message);
  const place = await findDatabase(useConfigFile(parsed.flags.config, io), io);
  if (typeof place === 'number') return place;
  const history = await readConfigHistory(place.at, io.stop);
  if (history !== null && 'message' in history) return reportProblem(history, io);
  if (history === null || history.length === 0) return reportNone(place.databaseName, io);
  const rows = history.map(({ revision, at: usedAt, bytes }, index) => {
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
