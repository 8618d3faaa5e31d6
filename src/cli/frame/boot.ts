/**
 * Reads a configuration file and its secrets for a command, or reports why svc cannot run on them.
 * It also makes the log of a command.
 */
import type { Config, Secrets } from '../../config/config.ts';
import type { ConfigProblem } from '../../config/problems.ts';
import type { EnvName } from '../../config/secret-value.ts';
import type { Inspection } from '../../config/inspect.ts';
import type { SecretLookupResults } from '../../config/found-secret.ts';
import { noOwnAddresses, type OwnAddresses } from '../../config/own-addresses.ts';
import {
  howToSet,
  namedSecrets,
  resolveSecrets,
  describeMissing,
  type MissingSecret,
  type ResolvedSecrets,
} from '../../config/secrets.ts';
import { createLog, logLevels, type Log, type LogLevel } from '../../lib/log.ts';
import type { Io } from '../cli.ts';
import { inspectConfigFile, type ConfigFile } from './config-file.ts';
import { isColoured, report } from './report.ts';

/** `report` is text for a person. The command prints it and ends with exit code 78. */
export type Refusal = { readonly kind: 'refused'; readonly report: string };

export type ConfigRead =
  | { readonly kind: 'read'; readonly config: Config; readonly inspection: Inspection }
  | (Refusal & { readonly problems: readonly ConfigProblem[] });

/**
 * Reads and checks a configuration file. A refusal names every problem.
 * @param own addresses of this process that replace those of the file
 */
export async function readConfig(
  file: ConfigFile,
  io: Io,
  own: OwnAddresses = noOwnAddresses,
): Promise<ConfigRead> {
  const inspection = await inspectConfigFile(file, io, own);
  const { validation } = inspection;
  if (validation.kind === 'valid') return { kind: 'read', config: validation.config, inspection };
  return {
    kind: 'refused',
    report: report(file.name, inspection, [], isColoured(io.stderr, io.env)),
    problems: validation.problems,
  };
}

/** Chooses secrets by the paths that use them. */
export type SecretsWanted = {
  /** The paths that the command uses; absent: all. It looks up no other secret. */
  readonly concerns?: (path: string) => boolean;
  /** The paths whose secret must be there; absent: all that the command uses. */
  readonly needs?: (path: string) => boolean;
  /** false: the administrator needs no token here, so nothing reports an unset one. */
  readonly tokenWanted?: boolean;
};

export type SecretsRead =
  | {
      readonly kind: 'read';
      readonly secrets: Secrets;
      readonly found: SecretLookupResults;
      readonly warnings: readonly ConfigProblem[];
    }
  | (Refusal & Pick<ResolvedSecrets, 'missing' | 'unfit'>);

/**
 * Looks up the secrets of a configuration. A refusal names each secret that is missing or unusable,
 * and where svc looked for it.
 */
export async function readSecrets(
  config: Config,
  { secrets: lookup, stop }: Io,
  { concerns = () => true, needs = concerns, tokenWanted = true }: SecretsWanted = {},
): Promise<SecretsRead> {
  const wanted = namedSecrets(config).filter(({ usedAt }) => usedAt.some(concerns));
  const names: readonly EnvName[] = wanted.map(({ name }) => name);
  const found = await lookup.find(names, stop);
  const { secrets, missing, unfit, warnings } = resolveSecrets(config, found, tokenWanted);
  const unset = missing.filter(({ usedAt }) => usedAt.some(needs));
  const unusable = unfit.filter(({ path }) => needs(path));
  const lines = [...unset.map(describeUnset), ...unusable.map(describeProblem)];
  if (lines.length === 0) return { kind: 'read', secrets, found, warnings };
  return { kind: 'refused', report: lines.join(''), missing: unset, unfit: unusable };
}

function describeProblem({ path, message, remedy }: ConfigProblem): string {
  return `✗ ${path}: ${message}. ${remedy}\n`;
}

/** Names a variable without a value, every place that uses it, and how to set it. */
function describeUnset(missing: MissingSecret): string {
  const used = `it is used at ${missing.usedAt.join(' and ')}`;
  return `${[`✗ ${describeMissing(missing)}; ${used}.`, ...howToSet(missing)].join('\n  ')}\n`;
}

/** The log of a command: JSON lines for machines, short lines for a terminal. */
export function createCommandLog(io: Io, level: LogLevel): Log {
  return createLog({
    stream: io.stderr,
    level,
    format: io.stderr.isTTY === true ? 'text' : 'json',
    color: isColoured(io.stderr, io.env),
  });
}

/** @returns the level, or a sentence that names the possible levels */
export function readLogLevel(
  written: string | null,
  otherwise: LogLevel,
): { readonly level: LogLevel } | { readonly fault: string } {
  if (written === null) return { level: otherwise };
  const level = logLevels.find((known) => known === written);
  if (level !== undefined) return { level };
  return { fault: `--log-level is one of ${logLevels.join(', ')}; "${written}" is none of them.` };
}

export function logWarnings(log: Log, warnings: readonly ConfigProblem[]): void {
  for (const { code, path, line, message, remedy } of warnings) {
    log.warn(code, `${message}. ${remedy}`, { path, ...(line > 0 && { line }) });
  }
}
