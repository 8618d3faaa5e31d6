/** Makes the files that are kept of a release: runs its code, talks to it, and kills it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gzipSync } from 'node:zlib';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import { newDatabase } from '../fake/postgres.ts';
import { goneProcess } from '../fake/postgres/marks.ts';
import { postgresPrograms } from '../fake/postgres/server.ts';
import { document, unplaced } from './document.ts';
import { readdress } from './kept.ts';
import { said } from './said.ts';
import { left, talk } from './talk.ts';
import { World, type Backend } from './world.ts';

/** Longer files are kept compressed. */
const plainBytesMax = 100_000;
/** The first number of a messenger's updates. */
const updatesFrom = 1_000;

const text = `${JSON.stringify(document, null, 2)}\n`;

/** @param code the root of its checkout, with its installed packages */
export type Code = { readonly root: string; readonly version: string };

/**
 * Writes the folder of a release: its configuration, its databases, and their expected content.
 * @param backends that this code makes; the folder has the other one already
 */
export async function keep(
  code: Code,
  folder: string,
  backends: readonly Backend[],
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'svc.json'), text);
  const schema = { sqlite: 0, postgres: 0, ...formerSchema(folder) };
  if (backends.includes('sqlite')) schema.sqlite = await keepFile(code, folder);
  if (backends.includes('postgres')) schema.postgres = await keepDump(code, folder);
  const expected = left({ version: code.version, schema });
  writeFileSync(join(folder, 'expected.json'), `${JSON.stringify(expected, null, 2)}\n`);
}

function formerSchema(folder: string): object {
  try {
    const known = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as object;
    return 'schema' in known ? (known.schema as object) : {};
  } catch {
    return {};
  }
}

/** @param url of the server's database; null: a file */
async function run({ root }: Code, url: string | null): Promise<World> {
  await using own = new AsyncDisposableStack();
  const world = own.use(await World.open({ updatesFrom, hung: said.cy }));
  await world.configure(text, url);
  await using program = world.start(join(root, 'bin', 'svc.js'));
  await talk(world, program);
  own.move();
  return world;
}

/** @returns the version of the database's schema */
async function keepFile(code: Code, folder: string): Promise<number> {
  await using world = await run(code, null);
  // Only one file is kept, so the log is written into the database.
  using db = new DatabaseSync(world.database);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version']);
  db.close();
  writeFileSync(join(folder, 'svc.db'), readFileSync(world.database));
  return version;
}

/** @returns the version of the database's schema */
async function keepDump(code: Code, folder: string): Promise<number> {
  const url = await newDatabase();
  await using world = await run(code, url);
  const client = await connect(url);
  const { rows } = await client.query<{ version: number }>('SELECT version FROM svc.schema');
  // A later start is on another machine, and must not look for a process of this one.
  await client.query('UPDATE svc.instance SET process = $1', [JSON.stringify(goneProcess)]);
  await readdress(client, (one) => unplaced(one, world.places));
  await client.end();
  const dumped = dump(url);
  const isLong = dumped.length > plainBytesMax;
  for (const former of ['svc.sql', 'svc.sql.gz']) rmSync(join(folder, former), { force: true });
  const name = isLong ? 'svc.sql.gz' : 'svc.sql';
  writeFileSync(join(folder, name), isLong ? gzipSync(dumped, { level: 9 }) : dumped);
  return rows[0]!.version;
}

/** Returns SQL that any client can run, without the tables that a crash of the server empties. */
function dump(url: string): string {
  const asked = '--schema=svc --inserts --no-owner --no-privileges --no-unlogged-table-data';
  const program = join(postgresPrograms()!, 'pg_dump');
  const args = [...asked.split(' '), `--dbname=${url}`];
  const all = execFileSync(program, args, { encoding: 'utf8' });
  // Lines for psql alone, and settings that a server of another version does not know.
  const lines = all.split('\n').filter((line) => !/^(?:\\|--|SET )/.test(line));
  return `${lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()}\n`;
}
