/**
 * `svc secrets list`: lists the secrets of the configuration and of the keychain, without values.
 */
import type { SecretSource } from '../../config/found-secret.ts';
import type { KeychainHoldings, StoredSecrets } from '../../secrets/secrets.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainJson } from '../../lib/plain-text.ts';
import { left, table as tableOf } from '../ledger/table.ts';
import { keychainOf, usedSecrets, warn, placesWith, type UsedSecrets } from './secrets.ts';

const flagTable = { json: { type: 'boolean' }, config: { type: 'string' } } as const;

export const secretsList: Command = {
  name: 'secrets list',
  summary: 'List secrets: where each comes from and what uses it',
  usage: `Usage: svc secrets list [--json] [--config <file>]

Lists every secret that the configuration names, and every one in the keychain: the source that
wins, whether the keychain has it, and where the configuration uses it. It shows no value, and reads
none from the keychain.

  --json           print {"rows", "store"}
  --config <file>  the configuration file (default: as for svc serve)

Exit codes: 0 fine, also where secrets are missing, 2 wrong usage, 78 the configuration has a
problem.
`,
  flags: flagTable,
  run,
};

type Row = {
  readonly name: string;
  readonly source: SecretSource | 'missing';
  /** The winning place cannot be read. */
  readonly unreadable: boolean;
  /** null: the keychain did not answer. */
  readonly inKeychain: boolean | null;
  readonly usedAt: readonly string[];
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, flagTable);
  if (parsed.kind === 'wrong') return wrongUsage(io, secretsList.name, parsed.message);
  const used = await usedSecrets(parsed.flags.config, io);
  if (used.fault !== null) {
    io.stderr.write(used.fault);
    return exitCode.config;
  }
  const keychain = keychainOf(io);
  const stored = await keychain.stored();
  const kept = stored.kind === 'stored' ? stored.secrets.map(({ name }) => name) : [];
  const holdings = await keychain.holds(kept, io.stop);
  const rows = await rowsOf(used, stored, holdings, io);
  if (parsed.flags.json) {
    io.stdout.write(`${plainJson({ rows, store: storeOf(kept, holdings) }, 2)}\n`);
    return exitCode.fine;
  }
  if (rows.length === 0) io.stdout.write('No secret is named or kept.\n');
  else io.stdout.write(tableOf(columns, rows.map(cellsOf)));
  const unused = 'There is no configuration here, so what uses them is not told.';
  if (used.config === null) warn(io, unused);
  if (holdings.kind === 'fault') warn(io, `${holdings.message} ${holdings.remedy}`);
  return exitCode.fine;
}

/** @returns null: the keychain was not asked, since nothing was ever stored in it */
function storeOf(kept: readonly string[], holdings: KeychainHoldings) {
  if (holdings.kind === 'held') return kept.length === 0 ? null : { state: 'ready' };
  const { state, message, remedy } = holdings;
  return { state, message, remedy };
}

const columns = [left('name'), left('source'), left('in keychain'), left('used at')];

function cellsOf({ name, source, unreadable, inKeychain, usedAt }: Row): readonly string[] {
  const there = inKeychain === null ? 'not known' : inKeychain ? 'yes' : 'no';
  const from = unreadable ? `${source}, unreadable` : source;
  return [name, from, there, usedAt.length === 0 ? 'nowhere' : usedAt.join(', ')];
}

async function rowsOf(
  { usedAt }: UsedSecrets,
  stored: StoredSecrets,
  holdings: KeychainHoldings,
  io: Io,
): Promise<readonly Row[]> {
  const kept = stored.kind === 'stored' ? stored.secrets.map(({ name }) => name) : [];
  const names = [...new Set([...usedAt.keys(), ...kept])];
  return Promise.all(
    names.map(async (name) => {
      const places = placesWith(await io.secrets.places(name), name, holdings);
      const winner = places.find(({ state }) => state === 'value' || state === 'unreadable');
      return {
        name,
        source: winner?.source ?? 'missing',
        unreadable: winner?.state === 'unreadable',
        inKeychain: stored.kind === 'fault' ? null : isKept(name, kept, holdings),
        usedAt: usedAt.get(name) ?? [],
      };
    }),
  );
}

/** A name outside the index was not asked for: the keychain does not have it. */
function isKept(name: string, kept: readonly string[], holdings: KeychainHoldings): boolean | null {
  if (holdings.kind === 'held') return holdings.names.has(name);
  return kept.includes(name) ? null : false;
}
