/**
 * `svc backup`: copies the database file, or prints the command that backs up a database server.
 */
import { plural } from '../../domain/plural.ts';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { forShell } from '../../lib/for-shell.ts';
import { backUpStorage, nameServer, type AtServer } from '../../app/storage.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { locateLedgerStrictly } from './access.ts';
import { formatBytes } from './table.ts';

const table = { config: { type: 'string' } } as const;

export const backup: Command = {
  name: 'backup',
  summary: 'Copy the database, also while svc runs',
  usage: `Usage: svc backup <file> [--config <file>]

Makes a copy of the database as it is at one moment, also while svc runs. The copy has every message
that svc acknowledged before the backup began. svc checks the copy before it gives it its name. Only
this user can read it (0600). The command replaces no existing file.

  --config <file>  the configuration file (default: svc.json)

The programs of a database server copy a database there. For such a database this prints the command
to type, and copies nothing (exit code 1).

To restore: stop svc, put the copy where storage.path says, remove the old file's -wal and -shm,
start svc. svc sends again the replies that it delivered after the backup, with the same ids.
`,
  flags: table,
  takes: 'file',
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'backup', parsed.message);
  const [file] = parsed.positionals;
  if (file === undefined) return wrongUsage(io, 'backup', 'Say which file to make.');
  const place = await locateLedgerStrictly(parsed.flags.config, io);
  if (typeof place === 'number') return place;
  const { storage } = place;
  if (storage === null) {
    io.stderr.write(`${place.file} has no storage block, so there is no database to back up.\n`);
    return exitCode.failed;
  }
  if (storage.kind === 'server') return describeHow(storage, file, io);
  if (!existsSync(storage.path)) {
    io.stderr.write(`There is no database ${storage.path} yet: svc makes it when it first runs.\n`);
    return exitCode.failed;
  }
  const result = await backUpStorage(storage.path, resolve(io.cwd, file));
  if (result.kind === 'problem') {
    io.stderr.write(`${result.message}\n`);
    return exitCode.failed;
  }
  const { bytes, messages } = result;
  io.stdout.write(`${file}: ${formatBytes(bytes)}, ${plural(messages, 'message')}\n`);
  return exitCode.fine;
}

/**
 * Prints the command without the password: pg_dump asks for it, or finds it in its usual places.
 */
async function describeHow(at: AtServer, file: string, { stderr }: Io): Promise<number> {
  const server = await nameServer(at);
  if (server.kind === 'problem') {
    stderr.write(`${server.message}\n`);
    return exitCode.failed;
  }
  const { text, hosts, user, database } = server;
  const words = [
    'pg_dump',
    '--schema=svc',
    '--format=custom',
    `--host=${hosts.map(({ host }) => host).join(',')}`,
    `--port=${hosts.map(({ port }) => port).join(',')}`,
    `--username=${user}`,
    `--dbname=${database}`,
    `--file=${file}`,
  ];
  stderr.write(
    `Nothing was copied. The ${text} is backed up by a program of the server,\n` +
      'also while svc runs:\n' +
      `  ${words.map(forShell).join(' ')}\n` +
      'It asks for the password, or takes it from PGPASSWORD or ~/.pgpass. To restore into\n' +
      'an empty database: pg_restore, with the same --host, --port, --username and --dbname.\n',
  );
  return exitCode.failed;
}
