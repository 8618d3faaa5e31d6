import type { KeychainHoldings, PlaceOfSecret } from '../../secrets/secrets.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { isName, keychainOf, noName, warn } from './secrets.ts';

export const secretsWhere: Command = {
  name: 'secrets where',
  summary: 'Show where a secret comes from',
  usage: `Usage: svc secrets where <name>

Shows every place where svc looks for a secret, in order, and the one that wins: NAME in the
environment, the file that NAME_FILE names, the credential NAME of systemd, the keychain. The value
is not shown, and not read from the keychain. It is the environment of this command that is looked
at; a service may be started with another.

Exit codes: 0 it stands somewhere, 1 it stands nowhere or cannot be read, 2 wrong usage.
`,
  flags: {},
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, {}, 1);
  const [name] = parsed.kind === 'wrong' ? [] : parsed.positionals;
  if (!isName(name)) return wrongUsage(io, secretsWhere.name, noName);
  const held = await keychainOf(io).holds([name], io.stop);
  const places = placesWith(await io.secrets.places(name), name, held);
  const winner = places.find(({ state }) => state === 'value' || state === 'unreadable');
  const width = Math.max(...places.map(({ text }) => text.length));
  for (const [at, place] of places.entries()) {
    const told = place === winner ? wins[place.state] : (beside[place.state] ?? '');
    io.stdout.write(`${at + 1}. ${place.text.padEnd(width)}  ${told}\n`);
  }
  if (held.kind === 'fault') warn(io, `${held.message} ${held.remedy}`);
  if (winner === undefined) io.stderr.write(`${name} stands nowhere.\n`);
  return winner?.state === 'value' ? exitCode.fine : exitCode.failed;
}

/** The index says what was put into the keychain; the keychain itself may have lost it. */
export function placesWith(
  places: readonly PlaceOfSecret[],
  name: string,
  held: KeychainHoldings,
): readonly PlaceOfSecret[] {
  return places.map((place) => {
    if (place.source !== 'keychain' || place.state !== 'value' || held.kind === 'fault') {
      return place;
    }
    return held.names.has(name) ? place : { ...place, state: 'absent' };
  });
}

const wins: Readonly<Record<PlaceOfSecret['state'], string>> = {
  value: 'has it, and wins',
  unreadable: 'cannot be read, and no later place is asked',
  empty: '',
  absent: '',
};

const beside: Readonly<Record<PlaceOfSecret['state'], string>> = {
  value: 'has one that is not used',
  unreadable: 'cannot be read, and is not asked',
  empty: 'is empty',
  absent: 'has none',
};
