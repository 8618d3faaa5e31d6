/** The releases with kept databases, and copies of these databases on which a test may start. */
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Client } from 'pg';
import { revisionOf } from '../../src/config/inspect.ts';
import { ownProcess } from '../../src/ledger/postgres/ledger/instance.ts';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import { newDatabase } from '../fake/postgres.ts';
import { placed } from './document.ts';
import type { Expected } from './said.ts';
import { World, type Backend } from './world.ts';

export const keptFolder = join(import.meta.dirname, '..', 'golden', 'releases');

export class KeptRelease {
  readonly version: string;
  readonly folder: string;
  readonly expected: Expected;
  /** The kept text of its configuration. */
  readonly text: string;

  constructor(version: string) {
    this.version = version;
    this.folder = join(keptFolder, version);
    this.expected = JSON.parse(this.#read('expected.json')) as Expected;
    this.text = this.#read('svc.json');
  }

  /** Opens a world with a copy of the database, and with the configuration for it. */
  async open(backend: Backend): Promise<World> {
    await using own = new AsyncDisposableStack();
    const world = own.use(await World.open({ updatesFrom: 500_000 }));
    if (backend === 'sqlite') {
      copyFileSync(join(this.folder, 'svc.db'), world.database);
      chmodSync(world.database, 0o600);
      await world.configure(this.text, null);
    } else {
      await world.configure(this.text, await this.load(world));
    }
    own.move();
    return world;
  }

  /** Loads the dump into a new database, with the addresses of a world. @returns its URL */
  async load(world: World): Promise<string> {
    const url = await newDatabase();
    const client = await connect(url);
    await client.query(this.#dump());
    // Pretends that it ran on this machine, so a start here does not wait until it counts as dead.
    const gone = { ...ownProcess(), pid: 99_999_999, began: '1' };
    await client.query('UPDATE svc.instance SET process = $1', [JSON.stringify(gone)]);
    await readdress(client, (text) => placed(text, world.places));
    await client.end();
    return url;
  }

  #dump(): string {
    const packed = join(this.folder, 'svc.sql.gz');
    if (!existsSync(packed)) return this.#read('svc.sql');
    return gunzipSync(readFileSync(packed)).toString('utf8');
  }

  #read(name: string): string {
    return readFileSync(join(this.folder, name), 'utf8');
  }
}

/** Oldest first. */
export function keptReleases(): readonly KeptRelease[] {
  const byNumbers = (a: string, b: string): number => {
    return a.localeCompare(b, 'en', { numeric: true });
  };
  return readdirSync(keptFolder)
    .toSorted(byNumbers)
    .map((version) => new KeptRelease(version));
}

/**
 * Gives the configurations inside a database other addresses.
 * @param client of no svc; its search path may be any
 */
export async function readdress(client: Client, change: (text: string) => string): Promise<void> {
  const { rows: found } = await client.query("SELECT to_regclass('svc.config') AS name");
  if (found[0]?.['name'] === null) return;
  const { rows } = await client.query<{ n: string; text: string }>(
    'SELECT n, text FROM svc.config',
  );
  for (const { n, text } of rows) {
    const changed = change(text);
    await client.query('UPDATE svc.config SET text = $2, revision = $3 WHERE n = $1', [
      n,
      changed,
      revisionOf(changed),
    ]);
  }
}
