import type { Whose } from '../../domain/story.ts';
import { plural } from '../../domain/plural.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { locateLedgerStrictly, writing } from './access.ts';
import { agrees, canAsk, noTerminal } from './consent.ts';
import { locate, parseWhose, describeNobody } from './whose.ts';

const table = {
  sender: { type: 'string' },
  yes: { type: 'boolean' },
  config: { type: 'string' },
} as const;

export const conversationsDelete: Command = {
  name: 'conversations delete',
  summary: 'Delete a conversation, or all that a sender said',
  usage: `Usage: svc conversations delete <channel> <conversation> [--yes] [--config <file>]
       svc conversations delete <channel> --sender <id> [--yes] [--config <file>]

Deletes what was said and what was answered to it, also what waits, and overwrites it on the disk.
At a terminal it asks first.

  --sender <id>    all that one sender said on the channel, and the answers
  --yes            do not ask; needed where there is no terminal
  --config <file>  the configuration file (default: svc.json)
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const name = conversationsDelete.name;
  const parsed = parseFlags(args, table, 2);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const { flags, positionals } = parsed;
  const named = parseWhose(positionals, flags.sender);
  if (typeof named === 'string') return wrongUsage(io, name, named);
  if (!flags.yes && !canAsk(io)) return wrongUsage(io, name, noTerminal);
  const place = await locateLedgerStrictly(flags.config, io);
  if (typeof place === 'number') return place;
  const whose = await locate(place, named);
  if (typeof whose === 'number') return whose;
  if (!flags.yes && !(await agrees(io, question(whose)))) return exitCode.failed;
  return writing(place, async (ledger) => {
    const count = await ledger.forget(whose);
    if (count === 0) io.stderr.write(describeNobody(whose));
    else io.stdout.write(`${plural(count, 'message, reply or turn', things)} deleted\n`);
    return count === 0 ? exitCode.failed : exitCode.fine;
  });
}

const things = 'messages, replies and turns';

function question(whose: Whose): string {
  const what =
    whose.kind === 'conversation'
      ? `the conversation ${plainLine(whose.conversation)}`
      : `everything that ${plainLine(whose.sender)} said`;
  return `Delete ${what} on ${plainLine(whose.channel)} for good? Type yes: `;
}
