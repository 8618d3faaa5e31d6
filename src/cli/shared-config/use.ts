import { replaceShared } from '../../app/config/replace.ts';
import { isMade } from '../../app/storage.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { useConfigFile } from '../frame/config-file.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { openOwnLedger } from '../ledger/own-ledger.ts';
import { findShared, tellNone, tellProblem, type SharedPlace } from './place.ts';

const table = {} as const;

export const configUse: Command = {
  name: 'config use',
  summary: 'Make a file the configuration that several svc share',
  usage: `Usage: svc config use [<file>]

Makes a file (default: svc.json) the configuration in use in the database, while no svc runs on it:
the next start takes it. It is for what needs a restart, and for a configuration that no svc could
start with. While svc runs, send one that has the file a SIGHUP, or PUT it to /api/v1/config: then
every svc is asked first whether it can use it.

Secrets are looked for by the starts, each on its machine.

Exit codes: 0 in use, 1 not changed, 2 wrong usage, 78 the file has a problem.
`,
  flags: table,
  takes: 'file',
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, configUse.name, parsed.message);
  const file = useConfigFile(parsed.positionals[0] ?? null, io);
  const place = await findShared(file, io);
  if (typeof place === 'number') return place;
  const made = await isMade(place.at);
  if (made === true) return use(place, file.name, io);
  return made === false ? tellNone(place.said, io) : tellProblem(made, io);
}

async function use({ at, inspection, said }: SharedPlace, name: string, io: Io): Promise<number> {
  const { validation, text } = inspection;
  if (validation.kind === 'invalid') return exitCode.config;
  const store = await openOwnLedger(validation.config, at, () => {});
  if ('kind' in store) return tellProblem(store, io);
  await using configs = store.configs!;
  await using _reader = store.reader;
  await using ledger = store.ledger;
  if (store.peers.share() > 1) {
    const how = 'Send one that has the file a SIGHUP, or PUT it to /api/v1/config; or stop them.';
    return tellProblem({ message: `The ${said} is in use by another svc. ${how}` }, io);
  }
  const replaced = await replaceShared(configs, ledger, text, store.now);
  if (replaced.kind === 'failed') return tellProblem(replaced, io);
  const { kind, revision } = replaced;
  io.stdout.write(
    kind === 'same'
      ? `${name} is in use already: revision ${revision}.\n`
      : `${name} is in use in the ${said} from the next start on: revision ${revision}.\n`,
  );
  return exitCode.fine;
}
