import type { Page, PageAsked } from '../../domain/page.ts';
import type { DeadLetter, DeadLetterReason, DeadLetterText } from '../../domain/story.ts';
import { plural } from '../../domain/plural.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainJson, plainLine } from '../../lib/plain-text.ts';
import { locateLedger, reading, type LedgerLocation } from './access.ts';
import { limitRange, pageFlags, runList } from './pages.ts';
import { indented } from './story-page.ts';
import { left, localTime, right, table } from './table.ts';

const showTable = { config: { type: 'string' }, json: { type: 'boolean' } } as const;

export const deadLettersList: Command = {
  name: 'dead-letters list',
  summary: 'List what was given up, by reason',
  usage: `Usage: svc dead-letters list [--limit <n>] [--after <next>] [--config <file>] [--json]

Lists messages that were given up ("in") and replies that could not be delivered ("out"): first how
many there are of each reason, then the letters themselves, newest first. No texts are shown.

  --limit <n>      at most so many letters, ${limitRange}
  --after <next>   go on where the list before ended
  --config <file>  the configuration file (default: svc.json)
  --json           print {"reasons", "rows", "next"}
`,
  flags: pageFlags,
  run: list,
};

export const deadLettersShow: Command = {
  name: 'dead-letters show',
  summary: 'Show one dead letter with its text and its tries',
  usage: `Usage: svc dead-letters show <id> [--config <file>] [--json]

Shows a dead letter: what it says, when it was tried, and why each try failed.

  --config <file>  the configuration file (default: svc.json)
  --json           print it as JSON
`,
  flags: showTable,
  run: show,
};

function list(args: readonly string[], io: Io): Promise<number> {
  const { name } = deadLettersList;
  return runList({ name, read: readPage, show: listPage }, args, io);
}

type LettersPage = { readonly reasons: readonly DeadLetterReason[] } & Page<DeadLetter>;

async function readPage(reader: LedgerReader, asked: PageAsked): Promise<LettersPage> {
  const reasons = await reader.deadLetterReasons();
  const { rows, next } = await reader.deadLetters(asked);
  return { reasons, rows, next };
}

function listPage({ reasons, rows }: LettersPage): string {
  if (reasons.length === 0 && rows.length === 0) return 'There are no dead letters.\n';
  const all = reasons.reduce((sum, { count }) => sum + count, 0);
  const byReason = table(
    [right('count'), left('box'), left('reason'), right('status'), left('whose'), left('what')],
    reasons.map(({ count, box, kind, status, whose, detail }) => {
      return [String(count), box, kind, describeStatus(status), whose, detail];
    }),
  );
  const letters = table(
    [
      left('id'),
      left('box'),
      left('channel'),
      left('died'),
      right('tries'),
      left('reason'),
      left('message'),
    ],
    rows.map(({ id, box, channel, diedAt, attempts, failure, messageId }) => {
      return [id, box, channel, localTime(diedAt), String(attempts), failure.kind, messageId];
    }),
  );
  return `${plural(all, 'dead letter')}\n\n${byReason}\n${letters}`;
}

async function show(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, showTable, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, deadLettersShow.name, parsed.message);
  const [id] = parsed.positionals;
  if (id === undefined) return wrongUsage(io, deadLettersShow.name, 'The id is missing.');
  const place = await locateLedger(parsed.flags.config, io);
  if (typeof place === 'number') return place;
  return reading(place, async (reader) => {
    const letter = await reader.deadLetter(id);
    if (letter === null) return describeUnknownLetter(place);
    io.stdout.write(parsed.flags.json ? `${plainJson(letter, 2)}\n` : letterPage(letter));
    return exitCode.fine;
  });
}

function describeUnknownLetter({ io, config }: LedgerLocation): number {
  const days = config.storage?.retentionDays ?? null;
  const kept = days === null ? '' : ` (kept for ${days} days)`;
  io.stderr.write(`No dead letter with this id is known here${kept}.\n`);
  return exitCode.failed;
}

function letterPage(letter: DeadLetterText): string {
  const { id, box, channel, conversation, messageId, failure, attempts, tries, text } = letter;
  const what = box === 'in' ? 'a message' : 'a reply';
  const parts = letter.parts > 1 ? ` in ${letter.parts} parts` : '';
  const status = failure.status === null ? '' : ` (status ${failure.status})`;
  const rows = tries.map(({ startedAt, ms, failed, status: answered }) => {
    return [localTime(startedAt), String(ms), failed ?? 'delivered', describeStatus(answered)];
  });
  const columns = [left('at'), right('for ms'), left('outcome'), right('status')];
  return [
    `dead letter ${id}: ${what}${parts}\n`,
    `${plainLine(channel)}, conversation ${plainLine(conversation)}, message ${messageId}\n`,
    `accepted ${localTime(letter.acceptedAt)}, given up ${localTime(letter.diedAt)} `,
    `after ${plural(attempts, 'try', 'tries')}\n`,
    `${failure.kind}${status}: ${plainLine(failure.detail)} (${failure.whose})\n`,
    ...(rows.length === 0 ? [] : ['\n', table(columns, rows)]),
    text === null ? '\nIts text is not kept.\n' : `\n${indented(text)}`,
  ].join('');
}

function describeStatus(status: number | null): string {
  return status === null ? '' : String(status);
}
