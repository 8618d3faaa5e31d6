import { once } from 'node:events';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainJson } from '../../lib/plain-text.ts';
import { locateLedger, reading } from './access.ts';
import { allRows } from './pages.ts';
import { locate, parseWhose, describeNobody } from './whose.ts';

const table = { sender: { type: 'string' }, config: { type: 'string' } } as const;

export const conversationsExport: Command = {
  name: 'conversations export',
  summary: 'Write all turns of a conversation, or of a sender, as JSON Lines',
  usage: `Usage: svc conversations export <channel> <conversation> [--config <file>]
       svc conversations export <channel> --sender <id> [--config <file>]

Writes every turn to standard output, oldest first, one JSON object a line.

  --sender <id>    all that one sender said on the channel, and the answers
  --config <file>  the configuration file (default: svc.json)
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const name = conversationsExport.name;
  const parsed = parseFlags(args, table, 2);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const named = parseWhose(parsed.positionals, parsed.flags.sender);
  if (typeof named === 'string') return wrongUsage(io, name, named);
  const place = await locateLedger(parsed.flags.config, io);
  if (typeof place === 'number') return place;
  const whose = await locate(place, named);
  if (typeof whose === 'number') return whose;
  return reading(place, async (reader) => {
    let written = 0;
    for await (const turn of allRows((page) => reader.turns(whose, page), io.stop)) {
      if (!(await write(io, `${plainJson(turn)}\n`))) return exitCode.failed;
      written++;
    }
    if (io.stop.aborted) return exitCode.failed;
    if (written === 0) io.stderr.write(describeNobody(whose));
    return written === 0 ? exitCode.failed : exitCode.fine;
  });
}

/** @returns false when the reader has gone, or the command was told to stop */
async function write({ stdout, stop }: Io, line: string): Promise<boolean> {
  if (stop.aborted) return false;
  if (stdout.write(line)) return true;
  return once(stdout, 'drain', { signal: stop }).then(
    () => true,
    () => false,
  );
}
