/** Two releases of svc: the one of this checkout, and a later one made for a proof. */
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programVersion } from '../../../src/lib/program.ts';
import { migrationFiles } from '../../../src/ledger/postgres/server/migrations.ts';
import { programOf, type Program } from '../../support/program.ts';
import { launcher, root, runProgram } from '../../support/run-svc.ts';

export type Release = {
  readonly version: string;
  readonly launcher: string;
  /** The version of its schema. */
  readonly schema: number;
};

/** A step adds, and its columns have defaults where the release before writes. */
const step = `
ALTER TABLE svc.instance ADD COLUMN of_next text;
ALTER TABLE svc.lane ADD COLUMN of_next bigint NOT NULL DEFAULT 0;
ALTER TABLE svc.inbox ADD COLUMN of_next boolean NOT NULL DEFAULT false;
CREATE TABLE svc.of_next (id text PRIMARY KEY, lane bigint);
`;

export const thisRelease: Release = {
  version: programVersion(),
  launcher,
  schema: migrationFiles().length,
};

/**
 * Makes a copy of this release whose schema has a step more.
 * @param folder empty; unchanged files become links
 */
export function makeNextRelease(folder: string): Release {
  const version = `${programVersion()}-next`;
  const schema = migrationFiles().length + 1;
  const copied = ['src', 'apps', 'bin', 'package.json'];
  for (const name of copied) cpSync(join(root, name), join(folder, name), { recursive: true });
  for (const name of readdirSync(root)) {
    if (!copied.includes(name) && name !== 'dist')
      symlinkSync(join(root, name), join(folder, name));
  }
  const file = join(folder, 'package.json');
  const facts = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...facts, version }));
  const steps = join(folder, 'src', 'ledger', 'postgres', 'server', 'steps');
  writeFileSync(join(steps, `${String(schema).padStart(4, '0')}-next.sql`), step);
  return { version, launcher: join(folder, 'bin', 'svc.js'), schema };
}

export function startRelease(
  release: Release,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Program {
  const asked = [release.launcher, ...args];
  return programOf(runProgram(process.execPath, asked, { env: { HOME: tmpdir(), ...env } }));
}
