/** `svc trace`: shows everything that happened to one message. */
import type { Story, StoryText } from '../../domain/story.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainJson, plainLine, plainText } from '../../lib/plain-text.ts';
import { locateLedger, withReader, type LedgerLocation } from './access.ts';
import { channelName } from '../../channels/registry.ts';
import { messageIdIn } from '../../domain/ids.ts';
import { endingOf, remediesOf } from '../../domain/ending.ts';
import { formatModelName } from '../../domain/model-words.ts';
import { timelineOf, unexplainedIn, type Row } from '../../domain/timeline.ts';
import { modeWords, outcomeWords } from '../../domain/tool-use.ts';
import { describeSpentIn } from '../../domain/trace.ts';
import { formatDuration, localTime } from './table.ts';

const table = {
  text: { type: 'boolean' },
  config: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const trace: Command = {
  name: 'trace',
  summary: 'Show everything that happened to one message',
  usage: `Usage: svc trace <id> [--text] [--config <file>] [--json]

Shows on one clock everything that happened to a message: how long it waited, its session, the
models that the privacy filter dropped, each model with its time and outcome, why the policy picked
this answer, and each delivery.
The id is the "message_id" of the webhook's 200, the id of an answer of the completions API, or the
id of a dead letter.

  --text           also show the message and its answer
  --config <file>  the configuration file (default: svc.json)
  --json           print it as JSON

With storage it reads the database, whether svc runs or not. Without, it asks the running svc.
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
  return withReader(place, async (reader) => {
    const story = await findStory(reader, messageIdIn(id), place);
    if (story === null) return reportUnknown(place);
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

/**
 * Also finds a message by the id of a reply's dead letter. The dead letter of a part has the id of
 * the whole reply.
 */
async function findStory(
  reader: LedgerReader,
  id: string,
  location: LedgerLocation,
): Promise<Story | null> {
  const story = await reader.story(id);
  if (story !== null || location.storage === null) return story;
  const letter = await reader.deadLetter(id.replace(/-\d\d$/, ''));
  return letter === null ? null : reader.story(letter.messageId);
}

function reportUnknown({ io, config, storage }: LedgerLocation): number {
  const days = config.storage?.retentionDays ?? null;
  const kept =
    storage === null || days === null ? 'the last 10,000 are kept' : `kept for ${days} days`;
  io.stderr.write(`No message with this id is known here (${kept}).\n`);
  return exitCode.failed;
}

/**
 * The story of a message for a person at a terminal.
 * @param text the texts of the conversation; null: do not show them
 * @param now milliseconds since 1970
 */
export function storyPage(story: Story, text: StoryText | null, now: number): string {
  const rows = timelineOf(story, now, localTime);
  const lost = formatDuration(unexplainedIn(rows));
  const ends = [story.settledAt ?? 0, ...story.replies.map(({ settledAt }) => settledAt ?? 0)];
  const lastAt = Math.max(story.acceptedAt, ...ends);
  const spent = story.trace === null ? null : describeSpentIn(story.trace.steps);
  const brain = story.trace === null ? '' : `, brain ${plainLine(story.trace.brain)}`;
  return [
    `message ${story.id}: ${plainLine(endingOf(story, now, localTime).words)}\n`,
    `${plainLine(channelName(story.channel))}${brain}, accepted ${localTime(story.acceptedAt)}\n`,
    ...remediesOf(story).map((sentence) => `${plainLine(sentence)}\n`),
    ...(story.diedUnder > 0 ? [`svc ended ${story.diedUnder} × while it was next\n`] : []),
    '\n',
    rowsOf(rows),
    '\n',
    `${formatDuration(lastAt - story.acceptedAt)} in all, ${lost} not accounted for\n`,
    ...(spent === null ? [] : [`${spent}\n`]),
    ...(story.trace === null && story.state !== 'waiting'
      ? ['What happened between its acceptance and its end was not kept.\n']
      : []),
    ...(text === null ? [] : ['\n', textPage(text)]),
  ].join('');
}

function rowsOf(rows: readonly Row[]): string {
  const at = (row: Row): string => String(row.atMs);
  const lasted = (row: Row): string => (row.forMs === null ? '' : String(row.forMs));
  const atWidth = Math.max(5, ...rows.map((row) => at(row).length));
  const forWidth = Math.max(6, ...rows.map((row) => lasted(row).length));
  const lines = rows.map((row) => {
    const what = `${row.deep ? '  ' : ''}${plainLine(row.what)}`;
    return `${at(row).padStart(atWidth)}  ${lasted(row).padStart(forWidth)}  ${what}\n`;
  });
  return `${'at ms'.padStart(atWidth)}  ${'for ms'.padStart(forWidth)}  what\n${lines.join('')}`;
}

function textPage({ sender, conversation, text, media, replies, ...details }: StoryText): string {
  const name = sender.name === null ? '' : ` (${plainLine(sender.name)})`;
  const attached = media === null ? [] : [`[attachment: ${media.type ?? ''} ${media.reference}]`];
  return [
    `conversation ${plainLine(conversation)}\n\n`,
    `${plainLine(sender.id)}${name}:\n`,
    indented([...(text === '' ? [] : [text]), ...attached].join('\n')),
    ...replies.map((reply) => `\nreply ${reply.id}:\n${indented(reply.text)}`),
    detailsPage(details),
  ].join('');
}

/** The other answers, and the calls of tools with their arguments and results. */
function detailsPage({ unsent, tools }: Pick<StoryText, 'unsent' | 'tools'>): string {
  return [
    ...unsent.map(({ model, text }) => {
      const name = plainLine(formatModelName(model));
      return `\n${name} answered, which was not sent:\n${indented(text)}`;
    }),
    ...tools.map(({ tool, mode, outcome, arguments: given, told }) => {
      const what = `tool ${plainLine(tool)}, ${modeWords[mode]}: ${outcomeWords[outcome]}`;
      const result = told === null ? '' : `its model was told:\n${indented(told)}`;
      return `\n${what}\n${indented(given ?? '(not kept)')}${result}`;
    }),
  ].join('');
}

/** Indents text that somebody wrote, so that no line of it looks like a line of svc. */
export function indented(text: string): string {
  return plainText(text)
    .split('\n')
    .map((line) => `  ${line}\n`)
    .join('');
}
