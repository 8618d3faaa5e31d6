/** From a configuration file to what the service runs on, or to the reasons why it cannot. */
import type { Config, ConfigProblem, EnvName, Secrets } from '../../config/config.ts';
import type { Inspection } from '../../config/inspect.ts';
import type { FoundSecrets } from '../../config/found-secret.ts';
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

/** Text for a person, to be followed by exit code 78. */
export type Refusal = { readonly kind: 'refused'; readonly report: string };

export type ConfigRead =
  | { readonly kind: 'read'; readonly config: Config; readonly inspection: Inspection }
  | (Refusal & { readonly problems: readonly ConfigProblem[] });

/**
 * Reads and checks a configuration file; a refusal names every problem.
 * @param own where this process listens instead
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

/** By places of the configuration; what is left out is all of them. */
export type SecretsWanted = {
  /** Which are about to be used. No other is looked up. */
  readonly concerns?: (path: string) => boolean;
  /** Which of them cannot do without. */
  readonly needs?: (path: string) => boolean;
  /** false: an administrator is known without a token, and nothing is said of one that is unset. */
  readonly tokenWanted?: boolean;
};

export type SecretsRead =
  | {
      readonly kind: 'read';
      readonly secrets: Secrets;
      readonly found: FoundSecrets;
      readonly warnings: readonly ConfigProblem[];
    }
  | (Refusal & Pick<ResolvedSecrets, 'missing' | 'unfit'>);

/**
 * Looks up the secrets of a configuration; a refusal names every one that is missing
 * or cannot be used, and where it was looked for.
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
  const said = [...unset.map(describeUnset), ...unusable.map(say)];
  if (said.length === 0) return { kind: 'read', secrets, found, warnings };
  return { kind: 'refused', report: said.join(''), missing: unset, unfit: unusable };
}

function say({ path, message, remedy }: ConfigProblem): string {
  return `✗ ${path}: ${message}. ${remedy}\n`;
}

/** A variable without a value, and every place that wants it. */
function describeUnset(missing: MissingSecret): string {
  const used = `it is used at ${missing.usedAt.join(' and ')}`;
  return `${[`✗ ${describeMissing(missing)}; ${used}.`, ...howToSet(missing)].join('\n  ')}\n`;
}

/** The log of a command: JSON lines for machines, short ones for a terminal. */
export function createCommandLog(io: Io, level: LogLevel): Log {
  return createLog({
    stream: io.stderr,
    level,
    format: io.stderr.isTTY === true ? 'text' : 'json',
    color: isColoured(io.stderr, io.env),
  });
}

/** The level that was asked for, or a sentence about what may be asked for. */
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
