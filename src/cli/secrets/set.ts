/** `svc secrets set`: stores a secret in the keychain of the operating system. */
import { secretCharactersMax, faultOfSecretValue } from '../../config/secret-value.ts';
import type { PlaceOfSecret } from '../../secrets/secrets.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { readFirstLine, askHidden } from '../frame/console.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { auditWrite, isName, keychainOf, noName, refuse, usedSecrets, warn } from './secrets.ts';

const table = { config: { type: 'string' } } as const;

export const secretsSet: Command = {
  name: 'secrets set',
  summary: "Keep a secret in the system's keychain",
  usage: `Usage: svc secrets set <name> [--config <file>]

Keeps the value of a secret in the keychain of the operating system, for your user: the Secret
Service of a Linux desktop, the keychain of macOS, the Credential Manager of Windows. At a terminal
it asks for the value, and shows nothing of it. Else it takes the first line of its input:

  pass show webhook | svc secrets set WEBHOOK_SECRET

The configuration has the name in a field that ends in _env. A value in the environment, in a file
or in a credential of systemd comes before one in the keychain. A running service has the new value
from its next start on.

  --config <file>  the configuration file (default: as for svc serve); it is only looked at

Exit codes: 0 kept, 1 not kept, 2 wrong usage.
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table, 1);
  // The wrong argument may be a value, so the message does not repeat it.
  if (parsed.kind === 'wrong') return wrongUsage(io, secretsSet.name, inArguments(args));
  const { flags, positionals } = parsed;
  const [name] = positionals;
  if (!isName(name)) {
    const message = name === undefined ? noName : inArguments([...args, name]);
    return wrongUsage(io, secretsSet.name, message);
  }
  const value = await readValue(name, io);
  if (value === null) return exitCode.failed;
  const done = await keychainOf(io).set(name, value, io.stop);
  const used = await usedSecrets(flags.config, io);
  const status = done.kind === 'done' ? 204 : 503;
  await auditWrite({ action: 'secret_set', name, status }, used, io);
  if (done.kind === 'fault') return refuse(io, `${name} was not kept.`, done);
  io.stdout.write(`${name} is in the keychain. A service that runs has it after a restart.\n`);
  for (const one of shadowsOf(await io.secrets.places(name))) warn(io, one);
  if (!used.usedAt.has(name)) warn(io, describeUnused(name, used));
  return exitCode.fine;
}

/** @param args the arguments; the message repeats none of them */
function inArguments(args: readonly string[]): string {
  if (args.length < 2) return noName;
  return (
    'A value is never given as an argument: other users of this machine could read it there, and ' +
    'the history of the shell may keep it now. If one was, replace it where it was issued. The ' +
    'name alone stands here; svc asks for the value, or reads it from its input.'
  );
}

/** Longer than any value, so that a value that is too long is reported as such. */
const inputCharactersMax = secretCharactersMax * 50;

/** @returns null: there is no valid value, and the reason was printed */
async function readValue(name: string, io: Io): Promise<string | null> {
  const given =
    io.stdin.isTTY === true ? await askHidden(io, `Value of ${name}: `) : await readPiped(io);
  const value = given?.trim() ?? null;
  const fault = value === null ? 'No value was given.' : faultOfSecretValue(value);
  if (fault === null) return value;
  io.stderr.write(`${fault} Nothing was kept.\n`);
  return null;
}

async function readPiped(io: Io): Promise<string | null> {
  const { line, hasMore } = await readFirstLine(io.stdin, inputCharactersMax, io.stop);
  // An input that was not read to its end is no value.
  if (io.stop.aborted) return null;
  if (hasMore) warn(io, 'Only the first line of the input is taken; there are more.');
  return line ?? 'x'.repeat(inputCharactersMax);
}

/** A sentence for each place that comes before the keychain, as far as this process sees them. */
function shadowsOf(places: readonly PlaceOfSecret[]): readonly string[] {
  return places
    .filter(({ source, state }) => source !== 'keychain' && /^(?:value|unreadable)$/.test(state))
    .map(
      ({ text }) =>
        `${text} comes first: where svc is started as here, the keychain is not asked for it.`,
    );
}

function describeUnused(
  name: string,
  { file, config, fault }: Awaited<ReturnType<typeof usedSecrets>>,
) {
  if (config !== null) return `${file} names no ${name}, so nothing uses it yet.`;
  if (fault !== null) return `${file} cannot be used, so whether it names ${name} is not known.`;
  return `There is no configuration here yet that names ${name}.`;
}
