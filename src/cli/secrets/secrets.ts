/** What the commands for secrets share: the keychain, the names, and what uses them. No value. */
import type { Config } from '../../config/config.ts';
import { isEnvName } from '../../config/formats.ts';
import type { StoragePlace } from '../../config/storage-place.ts';
import { namedSecrets } from '../../config/secrets.ts';
import { openKeychain } from '../../app/keychain.ts';
import { askedToUnlock } from '../../app/secret-lookup.ts';
import type { Keychain, KeychainFault } from '../../secrets/secrets.ts';
import { findConfigFile, inspectConfigFile } from '../frame/config-file.ts';
import { isColoured, report, signOf } from '../frame/report.ts';
import { exitCode, type Io } from '../cli.ts';

/** A person at the terminal is told when the keychain waits for them. */
export function keychainOf(io: Io): Keychain {
  const atTerminal = io.stderr.isTTY === true;
  const prompting = (): void => {
    if (atTerminal) io.stderr.write(`${askedToUnlock}\n`);
  };
  return openKeychain({ env: io.env, atTerminal, prompting, limits: io.keychainLimits });
}

export type UsedSecrets = {
  /** The file, as a person knows it. */
  readonly file: string;
  /** null: there is no configuration. */
  readonly config: Config | null;
  /** null: there is none, or none is known. */
  readonly storage: StoragePlace | null;
  /** By name, every place that wants it. */
  readonly usedAt: ReadonlyMap<string, readonly string[]>;
};

/**
 * What the configuration names. There may be none yet: secrets can come first.
 * @returns the report of a file that cannot be used, with what is known without it
 */
export async function usedSecrets(
  given: string | null,
  io: Io,
): Promise<UsedSecrets & { readonly fault: string | null }> {
  const chosen = findConfigFile(given, io);
  const nothing = { file: chosen.name, config: null, storage: null, usedAt: new Map() };
  if (chosen.by === 'none') return { ...nothing, fault: null };
  const inspection = await inspectConfigFile(chosen, io);
  const { validation, storage } = inspection;
  if (validation.kind === 'invalid') {
    const fault = report(chosen.name, inspection, [], isColoured(io.stderr, io.env));
    return { ...nothing, fault };
  }
  const { config } = validation;
  const usedAt = new Map<string, readonly string[]>(
    namedSecrets(config).map((one) => [one.name, one.usedAt]),
  );
  return { file: chosen.name, config, storage, usedAt, fault: null };
}

/** Whether a word is the name of a secret; a word that is not is told nowhere. */
export function isName(word: string | undefined): word is string {
  return word !== undefined && isEnvName(word);
}

export const noName =
  'Name one secret, as the configuration does: letters, digits and _, such as WEBHOOK_SECRET.';

export function warn(io: Io, message: string): void {
  io.stderr.write(`${signOf('warning', isColoured(io.stderr, io.env))} ${message}\n`);
}

/** @returns the exit code */
export function refuse(io: Io, what: string, fault: Pick<KeychainFault, 'message' | 'remedy'>) {
  const sign = signOf('failed', isColoured(io.stderr, io.env));
  io.stderr.write(`${sign} ${what} ${fault.message}\n  ${fault.remedy}\n`);
  return exitCode.failed;
}
