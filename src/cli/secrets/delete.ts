import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { tellAudit } from './audit.ts';
import { isName, keychainOf, noName, refuse, usedSecrets, warn } from './secrets.ts';

const table = { config: { type: 'string' } } as const;

export const secretsDelete: Command = {
  name: 'secrets delete',
  summary: "Take a secret out of the system's keychain",
  usage: `Usage: svc secrets delete <name> [--config <file>]

Takes what svc secrets set has kept out of the keychain. A service that runs has the value until it
ends; values in the environment, in files and in credentials stay where they are.

  --config <file>  the configuration file (default: as for svc serve); it is only looked at

Exit codes: 0 deleted, 1 there is none or it was not deleted, 2 wrong usage.
`,
  flags: table,
  run,
};

const statuses = { done: 204, absent: 404, fault: 503 } as const;

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table, 1);
  const [name] = parsed.kind === 'wrong' ? [] : parsed.positionals;
  if (parsed.kind === 'wrong' || !isName(name)) return wrongUsage(io, secretsDelete.name, noName);
  const done = await keychainOf(io).delete(name, io.stop);
  const used = await usedSecrets(parsed.flags.config, io);
  const write = { action: 'secret_deleted', name, status: statuses[done.kind] } as const;
  await tellAudit(write, used, io);
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
