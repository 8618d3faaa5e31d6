/**
 * `svc secrets where` and `svc secrets delete`, and the parts that all commands for secrets share.
 * Only `svc secrets set` handles a value.
 */
import type { Config } from '../../config/config.ts';
import { isEnvName } from '../../config/formats.ts';
import type { StoragePlace } from '../../config/storage-place.ts';
import { namedSecrets } from '../../config/secrets.ts';
import { openKeychain } from '../../app/keychain.ts';
import { askedToUnlock } from '../../app/secret-lookup.ts';
import type {
  Keychain,
  KeychainFault,
  KeychainHoldings,
  PlaceOfSecret,
} from '../../secrets/secrets.ts';
import { findConfigFile, inspectConfigFile } from '../frame/config-file.ts';
import { isColoured, report, signOf } from '../frame/report.ts';
import { exitCode, type Io, type Command } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { addAuditRow } from '../ledger/access.ts';
import { findStorage } from '../frame/find-storage.ts';

/** Prints a line at a terminal when the keychain waits for the person. */
export function keychainOf(io: Io): Keychain {
  const atTerminal = io.stderr.isTTY === true;
  const prompting = (): void => {
    if (atTerminal) io.stderr.write(`${askedToUnlock}\n`);
  };
  return openKeychain({ env: io.env, atTerminal, prompting, limits: io.keychainLimits });
}

export type UsedSecrets = {
  /** The configuration file, as a person names it. */
  readonly file: string;
  /** null: there is no configuration. */
  readonly config: Config | null;
  /** null: there is no storage, or none is known. */
  readonly storage: StoragePlace | null;
  /** For each name, every place that uses it. */
  readonly usedAt: ReadonlyMap<string, readonly string[]>;
};

/**
 * The secrets that the configuration names. There may be no configuration yet: secrets can come
 * first.
 * @returns with `fault`, the report of an unusable file, what is known without it
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

/**
 * Whether a word can be the name of a secret. Another word may be a value: no message repeats it.
 */
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

export const secretsWhere: Command = {
  name: 'secrets where',
  summary: 'Show where a secret comes from',
  usage: `Usage: svc secrets where <name>

Shows every place where svc looks for a secret, in order, and the one that wins: NAME in the
environment, the file that NAME_FILE names, the credential NAME of systemd, the keychain. It does
not show the value, and does not read it from the keychain. It looks at the environment of this
command; a service may have another one.

Exit codes: 0 a place has it, 1 no place has it or svc cannot read it, 2 wrong usage.
`,
  flags: {},
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, {}, 1);
  const [name] = parsed.kind === 'wrong' ? [] : parsed.positionals;
  if (!isName(name)) return wrongUsage(io, secretsWhere.name, noName);
  const holdings = await keychainOf(io).holds([name], io.stop);
  const places = placesWith(await io.secrets.places(name), name, holdings);
  const winner = places.find(({ state }) => state === 'value' || state === 'unreadable');
  const width = Math.max(...places.map(({ text }) => text.length));
  for (const [at, place] of places.entries()) {
    const words = place === winner ? winnerWords[place.state] : (otherWords[place.state] ?? '');
    io.stdout.write(`${at + 1}. ${place.text.padEnd(width)}  ${words}\n`);
  }
  if (holdings.kind === 'fault') warn(io, `${holdings.message} ${holdings.remedy}`);
  if (winner === undefined) io.stderr.write(`${name} stands nowhere.\n`);
  return winner?.state === 'value' ? exitCode.fine : exitCode.failed;
}

/** Corrects the places by the keychain's answer: it may have lost a secret that the index lists. */
export function placesWith(
  places: readonly PlaceOfSecret[],
  name: string,
  holdings: KeychainHoldings,
): readonly PlaceOfSecret[] {
  return places.map((place) => {
    if (place.source !== 'keychain' || place.state !== 'value' || holdings.kind === 'fault') {
      return place;
    }
    return holdings.names.has(name) ? place : { ...place, state: 'absent' };
  });
}

const winnerWords: Readonly<Record<PlaceOfSecret['state'], string>> = {
  value: 'has it, and wins',
  unreadable: 'cannot be read, and no later place is asked',
  empty: '',
  absent: '',
};

const otherWords: Readonly<Record<PlaceOfSecret['state'], string>> = {
  value: 'has one that is not used',
  unreadable: 'cannot be read, and is not asked',
  empty: 'is empty',
  absent: 'has none',
};

/** A change of the keychain, for a row in the audit of the database, if there is one. */
export type KeychainWrite = {
  readonly action: 'secret_set' | 'secret_deleted';
  readonly name: string;
  /** The HTTP status that the admin API answers to such a change. */
  readonly status: number;
};

export async function auditWrite(
  { action, name, status }: KeychainWrite,
  { config, storage }: UsedSecrets,
  io: Io,
): Promise<void> {
  if (config === null) return;
  const row = { action, target: { name }, status, reason: null };
  const at = await findStorage(storage, config, io);
  // Without the server's URL nobody can write there.
  const noted = at?.kind === 'refused' ? false : await addAuditRow(config, at, row);
  if (noted === false) {
    warn(io, 'The audit has no row of this: the database is in use, or cannot be written.');
  }
}

const table = { config: { type: 'string' } } as const;

export const secretsDelete: Command = {
  name: 'secrets delete',
  summary: "Take a secret out of the system's keychain",
  usage: `Usage: svc secrets delete <name> [--config <file>]

Removes a value of svc secrets set from the keychain. A running service has the value until it ends.
Values in the environment, in files and in credentials stay.

  --config <file>  the configuration file (default: as for svc serve); it is only looked at

Exit codes: 0 deleted, 1 there is none or it was not deleted, 2 wrong usage.
`,
  flags: table,
  run: runDelete,
};

const statuses = { done: 204, absent: 404, fault: 503 } as const;

async function runDelete(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table, 1);
  const [name] = parsed.kind === 'wrong' ? [] : parsed.positionals;
  if (parsed.kind === 'wrong' || !isName(name)) return wrongUsage(io, secretsDelete.name, noName);
  const done = await keychainOf(io).delete(name, io.stop);
  const used = await usedSecrets(parsed.flags.config, io);
  const write = { action: 'secret_deleted', name, status: statuses[done.kind] } as const;
  await auditWrite(write, used, io);
  if (done.kind === 'fault') return refuse(io, `${name} was not deleted.`, done);
  if (done.kind === 'absent') {
    io.stderr.write(`The keychain has no ${name}.\n`);
    return exitCode.failed;
  }
  io.stdout.write(`${name} is no longer in the keychain.\n`);
  const places = used.usedAt.get(name) ?? [];
  const stands = (await io.secrets.places(name)).some(({ state }) => state === 'value');
  if (places.length > 0 && !stands) {
    warn(io, `${used.file} names it at ${places.join(' and ')}, and it stands nowhere else here.`);
  }
  return exitCode.fine;
}
