/**
 * `npm run keep-release`: keeps the databases that the present version writes, so that tests start
 * every later version on them. Run it once for each release, when its code is ready.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { noPostgres } from '../test/fake/postgres.ts';
import { keep } from '../test/kept-releases/keep.ts';
import { keptFolder } from '../test/kept-releases/kept.ts';
import type { Backend } from '../test/kept-releases/world.ts';

const { values: asked } = parseArgs({
  options: {
    /** Replaces the kept databases; right only while nobody has that version. */
    again: { type: 'boolean', default: false },
    /** The checkout of an earlier release, with its node_modules. */
    code: { type: 'string', default: join(import.meta.dirname, '..') },
    /** Only this backend: `sqlite` or `postgres`. */
    backend: { type: 'string' },
  },
});
const root = resolve(asked.code);
const facts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const { version } = facts;
const folder = join(keptFolder, version);
const backends: readonly Backend[] = ['sqlite', 'postgres'];

if (existsSync(folder) && !asked.again) {
  console.error(`${version} is kept already. With -- --again it is made anew: only before anybody`);
  console.error('has that version, for what was released stays as it is.');
  process.exitCode = 1;
} else if (noPostgres !== false && asked.backend !== 'sqlite') {
  console.error(`A server is needed, for the database of one is kept, too: ${noPostgres}`);
  process.exitCode = 1;
} else {
  const chosen = backends.filter(
    (backend) => asked.backend === undefined || backend === asked.backend,
  );
  await keep({ root, version }, folder, chosen);
  console.log(`${version} is kept in ${folder}`);
}
