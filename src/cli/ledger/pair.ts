/** `svc pair`: lets people in on messengers, by the code that svc gave to the stranger. */
import { unknownCode, type Admission, type Admissions } from '../../domain/gate.ts';
import { registeredName } from '../../config/config.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { withPairings, locateLedgerStrictly, withAdmissions } from './access.ts';
import { left, localTime, table } from './table.ts';

const flagTable = {
  list: { type: 'boolean' },
  remove: { type: 'string' },
  channel: { type: 'string' },
  config: { type: 'string' },
} as const;

export const pair: Command = {
  name: 'pair',
  summary: 'Let someone in on a messenger, by their code',
  usage: `Usage: svc pair <code> [--config <file>]
       svc pair --list [--config <file>]
       svc pair --remove <user id> [--channel <name>] [--config <file>]

With "pairing": true in a messenger's access block, svc gives a stranger a code, good for an hour.
When the person brings you the code, this command lets them in, until you remove them. svc takes a
code from this command, from the admin API or from the live view, and never from a chat.

  --list            people who came in by a code, and people who have a code
  --remove <id>     make a person a stranger again; a code that they have counts no more
  --channel <name>  remove the person on this channel only (default: on every channel)
  --config <file>   the configuration file (default: svc.json)

--list reads the database, whether svc runs or not. While svc runs, letting in and removing go over
its admin address, with the admin token.
Exit codes: 0 done, 1 not done, 2 wrong usage, 78 configuration.
`,
  flags: flagTable,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, flagTable, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, pair.name, parsed.message);
  const { flags, positionals } = parsed;
  const [code] = positionals;
  const asked = [code !== undefined, flags.list, flags.remove !== null].filter((is) => is);
  if (asked.length !== 1) {
    return wrongUsage(io, pair.name, 'Say one thing: a code, --list, or --remove with an id.');
  }
  if (flags.channel !== null && flags.remove === null) {
    return wrongUsage(io, pair.name, '--channel goes with --remove only.');
  }
  const place = await locateLedgerStrictly(flags.config, io);
  if (typeof place === 'number') return place;
  if (flags.list) return withPairings(place, (admissions) => reportAll(admissions, io));
  return withAdmissions(place, (admissions) => {
    return flags.remove === null
      ? admit(admissions, code ?? '', io)
      : remove(admissions, flags.remove, flags.channel && registeredName(flags.channel), io);
  });
}

async function admit(admissions: Admissions, code: string, io: Io): Promise<number> {
  const admission = await admissions.admit(code);
  if (admission.kind !== 'admitted') {
    io.stderr.write(`${faults[admission.kind]}\n`);
    return exitCode.failed;
  }
  const { channel, sender, name } = admission.pairing;
  const who = name === null ? sender : `${name} (${sender})`;
  io.stdout.write(`${plainLine(who)} may talk on ${channel} from now on.\n`);
  return exitCode.fine;
}

/** @param on the name of a channel; null: every channel */
async function remove(
  admissions: Admissions,
  sender: string,
  on: string | null,
  io: Io,
): Promise<number> {
  const rows = (await admissions.list()).filter((row) => {
    return row.sender === sender && (on === null || row.channel === on);
  });
  if (rows.length === 0) {
    const where = on === null ? '' : ` on ${plainLine(on)}`;
    const nobody = `was not let in by a code, and asks for nothing${where}`;
    io.stderr.write(`${plainLine(sender)} ${nobody}; svc pair --list tells who did.\n`);
    return exitCode.failed;
  }
  for (const { channel } of rows) {
    if ((await admissions.remove(channel, sender)) === 'storage_failed') {
      io.stderr.write(`${faults.storage_failed}\n`);
      return exitCode.failed;
    }
    io.stdout.write(`${plainLine(sender)} is a stranger on ${channel} again.\n`);
  }
  return exitCode.fine;
}

async function reportAll(admissions: Pick<Admissions, 'list'>, io: Io): Promise<number> {
  const rows = await admissions.list();
  if (rows.length === 0) {
    io.stdout.write('Nobody was let in by a code, and nobody asks to be.\n');
    return exitCode.fine;
  }
  const columns = [left('channel'), left('user id'), left('name'), left('state')];
  const cells = rows.map(({ channel, sender, name, state, at }) => [
    channel,
    sender,
    name ?? '',
    state === 'admitted' ? `let in ${localTime(at)}` : `has a code until ${localTime(at)}`,
  ]);
  io.stdout.write(table(columns, cells));
  return exitCode.fine;
}

const faults: Readonly<Record<Exclude<Admission['kind'], 'admitted'>, string>> = {
  not_found: unknownCode,
  full: 'As many people as may be are let in already: remove somebody first.',
  storage_failed: 'Nobody was let in or out: the storage failed; the log of the service says how.',
};
