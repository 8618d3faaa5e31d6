/**
 * Chooses the configuration file of a command: the one that `--config` names, else the one that the
 * variable `SVC_CONFIG` names, else the first that exists in a few places. If a named file is
 * missing, no other file takes its place.
 */
import { dirname, join, resolve } from 'node:path';
import { defaultStoragePath, inspectConfig, type Inspection } from '../../config/inspect.ts';
import type { ConfigProblem } from '../../config/problems.ts';
import { noOwnAddresses, type OwnAddresses } from '../../config/own-addresses.ts';
import { pathExists } from '../../lib/make-folder.ts';
import type { Io } from '../cli.ts';
import { becomeServiceUser } from './service-user.ts';

export type ConfigFile = {
  /** For people: as the person wrote it, `svc.json` in the working folder, else the whole path. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** `found`: nobody named it. `none`: no place has one, and the first place is meant. */
  readonly by: 'flag' | 'variable' | 'found' | 'none';
  /** The places that were searched, in order; empty if the file was named. */
  readonly searched: readonly string[];
};

type Place = { readonly name: string; readonly path: string };

export type Surroundings = Pick<Io, 'cwd' | 'env'> & {
  readonly secrets?: Io['secrets'];
  readonly platform?: NodeJS.Platform;
  /** Whether anything has this path. */
  readonly isThere?: (path: string) => boolean;
};

/**
 * Chooses the file, without reading it. If it is the file of the machine's service, root becomes
 * the service's user from then on (`becomeServiceUser`).
 * @param given the value of `--config`, or the argument in its place; null: neither was given
 */
export function findConfigFile(given: string | null, surroundings: Surroundings): ConfigFile {
  const file = chosenFile(given, surroundings);
  becomeServiceUser(file.path, surroundings.secrets);
  return file;
}

function chosenFile(given: string | null, surroundings: Surroundings): ConfigFile {
  const { cwd, env, isThere = pathExists } = surroundings;
  if (given !== null) return namedBy('flag', given, cwd);
  const named = env['SVC_CONFIG'] ?? '';
  if (named !== '') return namedBy('variable', named, cwd);
  const places = placesOf(surroundings);
  const found = places.find(({ path }) => isThere(path));
  const searched = places.map(({ path }) => path);
  return { ...(found ?? places[0]), by: found === undefined ? 'none' : 'found', searched };
}

/**
 * Like `findConfigFile`. At a terminal it also prints which file it is, unless that is plain to
 * see.
 */
export function useConfigFile(given: string | null, io: Io): ConfigFile {
  const file = findConfigFile(given, io);
  const choice = describeChoice(file);
  if (choice !== null && io.stderr.isTTY === true) io.stderr.write(`${choice}\n`);
  return file;
}

/** @returns null if the person sees it: the command named the file, or it is `./svc.json` */
export function describeChoice({ by, name }: ConfigFile): string | null {
  if (by === 'variable') return `The configuration is ${name} (SVC_CONFIG).`;
  return by === 'found' && name !== usualName ? `The configuration is ${name}.` : null;
}

/**
 * Reads and checks the file. If none was found, the problem names every place that was searched.
 * @param own addresses of the process that uses the file, which replace those of the file
 */
export async function inspectConfigFile(
  file: ConfigFile,
  { env }: Pick<Io, 'env'>,
  own: OwnAddresses = noOwnAddresses,
): Promise<Inspection> {
  const inspection = await inspectConfig(file.path, env, 'anything', own);
  const { validation } = inspection;
  const problems = validation.problems.map((problem) =>
    problem.code === 'file_missing' ? { ...problem, ...describeMissing(file, problem) } : problem,
  );
  return { ...inspection, validation: { ...validation, problems } };
}

function describeMissing(
  { by, searched }: ConfigFile,
  { message }: ConfigProblem,
): Pick<ConfigProblem, 'message' | 'remedy'> {
  if (by === 'none') {
    return {
      message: `there is no configuration; it was looked for at ${listPaths(searched)}`,
      remedy: 'Make one with `svc init`, or name one with --config; `svc demo` needs none.',
    };
  }
  if (by === 'variable') {
    return {
      message: `${message}, which SVC_CONFIG names`,
      remedy: 'Let SVC_CONFIG name a file that is there, or unset it.',
    };
  }
  return { message, remedy: 'Name another file, or make one with `svc init`.' };
}

const usualName = 'svc.json';

function placesOf({
  cwd,
  env,
  platform = process.platform,
}: Surroundings): readonly [Place, ...Place[]] {
  const ofUser = join(dirname(defaultStoragePath(env, platform)), usualName);
  const ofMachine = platform === 'win32' ? [] : ['/etc/svc/svc.json'];
  const others = [ofUser, ...ofMachine].map((path) => ({ name: path, path }));
  return [{ name: usualName, path: resolve(cwd, usualName) }, ...others];
}

function namedBy(by: 'flag' | 'variable', name: string, cwd: string): ConfigFile {
  return { name, path: resolve(cwd, name), by, searched: [] };
}

function listPaths(paths: readonly string[]): string {
  return [paths.slice(0, -1).join(', '), paths.at(-1)].join(' and ');
}
