/** `svc migrate`: copies the whole database to a server or to a file. */
import { resolve } from 'node:path';
import type { EnvName } from '../../config/secret-value.ts';
import { isEnvName } from '../../config/formats.ts';
import type { StoragePlace } from '../../config/storage-place.ts';
import { plural } from '../../domain/plural.ts';
import { plainLine } from '../../lib/plain-text.ts';
import {
  openMigration,
  describeStorage,
  type Migration,
  type StorageAt,
} from '../../app/storage.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { findStorage } from '../frame/find-storage.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { locateLedgerStrictly, type LedgerLocation } from './access.ts';
import { agrees, canAsk, left, right, table } from './table.ts';

const flagTable = {
  to: { type: 'string' },
  yes: { type: 'boolean' },
  config: { type: 'string' },
} as const;

export const migrate: Command = {
  name: 'migrate',
  summary: 'Copy the whole database to a server, or to a file',
  usage: `Usage: svc migrate --to <place> [--yes] [--config <file>]

Copies the database that the configuration names into an empty one: from a file to a PostgreSQL
server, back, or between two of a kind. Stop svc first. In the end it reads each table again, and
compares the number of rows and their digest. If a table differs, it keeps nothing of the copy. The
source stays as it is.

  --to <place>     a variable with the URL of a server, such as DATABASE_URL; or a file that is not
                   there yet, such as other.db or ./other
  --yes            do not ask; needed where there is no terminal
  --config <file>  the configuration file (default: svc.json)

It does not change the configuration. In the end it says what to write there.
Exit codes: 0 copied, 1 not copied, 2 wrong usage, 78 configuration.
`,
  flags: flagTable,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, flagTable);
  if (parsed.kind === 'wrong') return wrongUsage(io, migrate.name, parsed.message);
  const { to, yes, config } = parsed.flags;
  const place = to === null ? 'Say where to: --to, with a variable or a file.' : placeOf(to, io);
  if (typeof place === 'string') return wrongUsage(io, migrate.name, place);
  if (!yes && !canAsk(io)) {
    return wrongUsage(io, migrate.name, 'There is no terminal to ask at: say --yes to copy.');
  }
  const location = await locateLedgerStrictly(config, io);
  if (typeof location === 'number') return location;
  const { storage: from } = location;
  if (from === null) {
    io.stderr.write(`${location.file} has no storage block, so there is nothing to copy.\n`);
    return exitCode.failed;
  }
  const target = await findTarget(place, location);
  if (target.kind === 'refused') {
    io.stderr.write(target.report);
    return exitCode.config;
  }
  if (isSame(from, target)) {
    return wrongUsage(io, migrate.name, '--to names the database that is in use already.');
  }
  return copy({ from, target, place, asks: !yes }, location);
}

/** @returns the place, or a sentence about what is wrong */
function placeOf(to: string, { cwd }: Io): StoragePlace | string {
  if (/^\w+:\/\//.test(to)) {
    return (
      'A URL is never given as an argument: other users of this machine could read it there. ' +
      'Put it into a variable, and name that.'
    );
  }
  if (isEnvName(to)) return { kind: 'server', urlEnv: to as EnvName };
  return { kind: 'file', path: resolve(cwd, to) };
}

async function findTarget(place: StoragePlace, { config, io }: LedgerLocation) {
  const urlEnv = place.kind === 'server' ? place.urlEnv : null;
  const storage = { retentionDays: 0, ...config.storage, path: null, urlEnv };
  return (await findStorage(place, { ...config, storage }, io))!;
}

function isSame(from: StorageAt, to: StorageAt): boolean {
  if (from.kind === 'file') return to.kind === 'file' && to.path === from.path;
  return to.kind === 'server' && to.url === from.url;
}

type CopyRequest = {
  readonly from: StorageAt;
  readonly target: StorageAt;
  readonly place: StoragePlace;
  readonly asks: boolean;
};

async function copy(request: CopyRequest, location: LedgerLocation): Promise<number> {
  const { from, target, place, asks } = request;
  const { io, file } = location;
  const opened = await openMigration(from, target);
  if ('code' in opened) {
    io.stderr.write(`${opened.message}\n`);
    return exitCode.failed;
  }
  await using migration = opened;
  const where = await describeStorage(target);
  if (asks && !(await agreesTo(migration, where, io))) return exitCode.failed;
  const result = await migration.run(progressOn(io), io.stop);
  if (result.kind === 'problem') {
    io.stderr.write(`${result.message}\n`);
    return exitCode.failed;
  }
  const columns = [left('table'), right('rows'), left('digest')];
  const rows = result.tables.map((one) => [one.name, String(one.rows), one.digest]);
  io.stdout.write(table(columns, rows));
  io.stderr.write(
    `The ${where} has all of it, and is the same. To use it, write ${blockOf(place)} into the ` +
      `storage block of ${file} in the place of what names the other one, and start svc.\n`,
  );
  return exitCode.fine;
}

async function agreesTo(migration: Migration, where: string, io: Io): Promise<boolean> {
  const counts = await migration.counts();
  const rows = counts.reduce((sum, one) => sum + one.rows, 0);
  const messages = counts.find(({ name }) => name === 'messages')?.rows ?? 0;
  const what = `${plural(rows, 'row')}, ${plural(messages, 'message')} among them,`;
  return agrees(io, `Copy ${what} into the ${where}? Type yes: `, 'Nothing was copied.');
}

/** Shows the progress on one line that it overwrites, at a terminal only. */
function progressOn({ stderr }: Io) {
  const show = (text: string): void => {
    if (stderr.isTTY === true) stderr.write(`\r\u001B[K${text}`);
  };
  let shown = '';
  return {
    copied: (name: string, rows: number, of: number): void => {
      const percent = of === 0 ? 100 : Math.floor((100 * rows) / of);
      const text = `${name}: ${percent} %`;
      if (text !== shown) show(text);
      shown = text;
    },
    comparing: (): void => show('comparing …\n'),
  };
}

function blockOf(place: StoragePlace): string {
  const field = place.kind === 'server' ? { url_env: place.urlEnv } : { path: place.path };
  return plainLine(JSON.stringify(field).slice(1, -1));
}
