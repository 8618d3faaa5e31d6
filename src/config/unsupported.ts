/**
 * What this version checks fully but cannot run yet. `serve` refuses these, so that nothing that is
 * configured is silently left out; an entry is removed when its part of the program comes.
 */
import type { Config } from './config.ts';
import type { ProblemList } from './problems.ts';
import type { DraftDocument } from './schema.ts';

/** What is missing, and what to do about it. */
export const missing = {
  url: ['a database server cannot be used in this version yet', 'Write path in its place.'],
} as const;

type Missing = readonly [what: string, remedy: string];

/** @returns one sentence for each part of the config that `serve` must refuse; mostly none */
export function notYet(config: Config): readonly string[] {
  const found: Missing[] = [];
  if (config.storage !== null && config.storage.urlEnv !== null) found.push(missing.url);
  return found.map(([what, remedy]) => `${what[0]!.toUpperCase()}${what.slice(1)}. ${remedy}`);
}

/** Adds the same as warnings, each at its place. */
export function checkNotYet(document: DraftDocument, problems: ProblemList): void {
  const warn = (path: string, [what, remedy]: Missing): void => {
    problems.addAtKey('not_yet', path, what, remedy);
  };
  if (document.storage?.url_env) warn('storage.url_env', missing.url);
}
