import type { Story } from '../../domain/story.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainJson } from '../../lib/plain-text.ts';
import { locateLedger, reading, type LedgerLocation } from './access.ts';
import { storyPage } from './story-page.ts';

const table = {
  text: { type: 'boolean' },
  config: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const trace: Command = {
  name: 'trace',
  summary: 'Tell everything that happened to one message',
  usage: `Usage: svc trace <id> [--text] [--config <file>] [--json]

Tells on one clock what happened to a message: how long it waited, its session, what the shield
dropped, each model with its time and outcome, why the policy chose as it did, and each delivery.
The id is the "message_id" that the webhook's 200 gave, or that of a dead letter.

  --text           also show what was said and answered
  --config <file>  the configuration file (default: svc.json)
  --json           print it as JSON

With storage it is read from the database, whether svc runs or not; without, from the running svc.
`,
  flags: table,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'trace', parsed.message);
  const { flags, positionals } = parsed;
  const [id] = positionals;
  if (id === undefined) return wrongUsage(io, 'trace', 'Say which message: its id is missing.');
  const place = await locateLedger(flags.config, io);
  if (typeof place === 'number') return place;
  return reading(place, async (reader) => {
    const story = await find(reader, id, place);
    if (story === null) return unknown(place);
    const text = flags.text ? await reader.storyText(story.id) : null;
    if (flags.text && text === null) {
      io.stderr.write('What was said is not kept, or not any more.\n');
    }
    const whole = flags.text ? { ...story, text } : story;
    const page = flags.json ? `${plainJson(whole, 2)}\n` : storyPage(story, text, Date.now());
    io.stdout.write(page);
    return exitCode.fine;
  });
}

/** A reply's dead letter is found by its own id; that of a part, by the whole reply's. */
async function find(
  reader: LedgerReader,
  id: string,
  location: LedgerLocation,
): Promise<Story | null> {
  const story = await reader.story(id);
  if (story !== null || location.storage === null) return story;
  const letter = await reader.deadLetter(id.replace(/-\d\d$/, ''));
  return letter === null ? null : reader.story(letter.messageId);
}

function unknown({ io, config, storage }: LedgerLocation): number {
  const days = config.storage?.retentionDays ?? null;
  const kept =
    storage === null || days === null ? 'the last 10,000 are kept' : `kept for ${days} days`;
  io.stderr.write(`No message with this id is known here (${kept}).\n`);
  return exitCode.failed;
}
