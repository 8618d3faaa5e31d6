import { createInterface } from 'node:readline/promises';
import type { Whose } from '../../domain/story.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../flags.ts';
import { plainLine } from '../plain-text.ts';
import { findPlace, writing } from './access.ts';
import { plural } from './table.ts';
import { parseWhose, sayNobody } from './whose.ts';

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
  run,
};

const table = {
  sender: { type: 'string' },
  yes: { type: 'boolean' },
  config: { type: 'string' },
} as const;

async function run(args: readonly string[], io: Io): Promise<number> {
  const name = conversationsDelete.name;
  const parsed = parseFlags(args, table, 2);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const { flags, positionals } = parsed;
  const whose = parseWhose(positionals, flags.sender);
  if (typeof whose === 'string') return wrongUsage(io, name, whose);
  const atTerminal = io.stdin.isTTY === true && io.stderr.isTTY === true;
  if (!flags.yes && !atTerminal) {
    return wrongUsage(io, name, 'There is no terminal to ask at: say --yes to delete for good.');
  }
  const place = await findPlace(flags.config, io);
  if (typeof place === 'number') return place;
  if (!flags.yes && !(await agrees(io, whose))) {
    io.stderr.write('Nothing was deleted.\n');
    return exitCode.failed;
  }
  return writing(place, async (ledger) => {
    const count = await ledger.forget(whose);
    if (count === 0) io.stderr.write(sayNobody(whose));
    else io.stdout.write(`${plural(count, 'message, reply or turn', things)} deleted\n`);
    return count === 0 ? exitCode.failed : exitCode.fine;
  });
}

const things = 'messages, replies and turns';

/** Only the whole word is a yes; the end of the input is a no. */
async function agrees({ stdin, stderr, stop }: Io, whose: Whose): Promise<boolean> {
  const what =
    whose.kind === 'conversation'
      ? `the conversation ${plainLine(whose.conversation)}`
      : `everything that ${plainLine(whose.sender)} said`;
  const lines = createInterface({ input: stdin, output: stderr });
  const over = new AbortController();
  const end = (): void => over.abort();
  lines.once('close', end);
  lines.once('SIGINT', end);
  stop.addEventListener('abort', end, { once: true });
  try {
    const question = `Delete ${what} on ${plainLine(whose.channel)} for good? Type yes: `;
    return (await lines.question(question, { signal: over.signal })).trim() === 'yes';
  } catch {
    stderr.write('\n');
    return false;
  } finally {
    stop.removeEventListener('abort', end);
    lines.close();
  }
}
