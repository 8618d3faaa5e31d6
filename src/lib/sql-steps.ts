/** The history of a schema in the sources: numbered SQL files in a folder. */
import { readdirSync, readFileSync } from 'node:fs';

/** @property name the name of the file; the number at its beginning is the version that it makes */
export type SqlStep = { readonly name: string; readonly sql: string };

/** @returns the steps in order */
export function readSqlSteps(folder: URL): readonly SqlStep[] {
  return readdirSync(folder)
    .filter((name) => /^\d{4}-[\w-]+\.sql$/.test(name))
    .sort()
    .map((name) => ({ name, sql: readFileSync(new URL(name, folder), 'utf8') }));
}
