/** `svc messages`: lists messages and how their turns ended. */
import { dayMs, hourMs, minuteMs } from '../../lib/durations.ts';
import { formatModelName } from '../../domain/model-words.ts';
import { botExample, channelsAsked } from '../../admin/channel-named.ts';
import { channelTypes, channelName } from '../../channels/registry.ts';
import { nearest } from '../../config/nearest.ts';
import type { Page } from '../../domain/page.ts';
import { stateFilters, type MessageFilter, type MessageRow } from '../../domain/records.ts';
import { turnOutcomes } from '../../domain/trace.ts';
import type { Command, Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainLine } from '../../lib/plain-text.ts';
import type { LedgerLocation } from './access.ts';
import { fullPage, limitRange, pageFlags, printList } from './pages.ts';
import { left, formatDuration, localTime, right, table } from './table.ts';

const flagTable = {
  ...pageFlags,
  channel: { type: 'string' },
  brain: { type: 'string' },
  state: { type: 'string' },
  outcome: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
} as const;

export const messages: Command = {
  name: 'messages',
  summary: 'List messages and how their turns ended',
  usage: `Usage: svc messages [--channel <channel>] [--brain <name>] [--state <state>]
                    [--outcome <outcome>] [--since <time>] [--until <time>]
                    [--limit <n>] [--after <next>] [--config <file>] [--json]

Lists messages, newest first: the brain, how the turn ended and by which model, how many replies svc
delivered, and the time in all. It shows no texts. "svc trace <id>" shows everything about one
message.

  --channel <channel>  only of ${channelTypes.join(', ')} or completions, of the
                       channel with that name, or of a bot (${botExample})
  --brain <name>       only of that brain
  --state <state>      only ${stateFilters.join(', ')}
                       (unanswered: dead, or ended with an apology)
  --outcome <outcome>  only ${turnOutcomes.join(', ')}
  --since <time>       accepted then or later: 30m, 2h, 7d (ago), 2026-11-21 or 2026-11-21T18:30
  --until <time>       accepted before then
  --limit <n>          at most so many, ${limitRange}
  --after <next>       go on where the list before ended
  --config <file>      the configuration file (default: svc.json)
  --json               print {"rows", "next"}

With storage it reads the database, whether svc runs or not. Without, it asks the running svc.
`,
  flags: flagTable,
  run,
};

type FilterFlags = Readonly<Record<keyof MessageFilter, string | null>>;

async function run(args: readonly string[], io: Io): Promise<number> {
  const { name } = messages;
  const parsed = parseFlags(args, flagTable);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const now = Date.now();
  const asWritten = filterOf(parsed.flags, now, null);
  if (typeof asWritten === 'string') return wrongUsage(io, name, asWritten);
  let filter: MessageFilter = asWritten;
  const { brain } = filter;
  const list = {
    name,
    check: ({ source, config }: LedgerLocation) => {
      if (source === 'nothing') return null;
      const checked = filterOf(parsed.flags, now, config.channels);
      if (typeof checked === 'string') return checked;
      filter = checked;
      return null;
    },
    read: fullPage<MessageRow>((reader, asked) => reader.messages(filter, asked), io.stop),
    show: (found: Page<MessageRow>, location: LedgerLocation) => {
      if (found.rows.length === 0 && brain !== null) hintAtBrain(brain, location);
      return listPage(found);
    },
  };
  return printList(list, parsed.flags, io);
}

/** @returns the filter, or a sentence about what is wrong */
function filterOf(
  { channel, brain, state, outcome, since, until }: FilterFlags,
  now: number,
  channels: Parameters<typeof channelsAsked>[1],
) {
  const channelFilter = channel === null ? null : channelsAsked(channel, channels);
  if (channelFilter?.kind === 'unknown') return `--${channelFilter.message}`;
  const stateWord = wordOf('state', state, stateFilters);
  if (stateWord.kind === 'unknown') return stateWord.message;
  const outcomeWord = wordOf('outcome', outcome, turnOutcomes);
  if (outcomeWord.kind === 'unknown') return outcomeWord.message;
  const [from, to] = [since, until].map((text) => (text === null ? null : timeOf(text, now)));
  if (Number.isNaN(from)) return notATime('since', since!);
  if (Number.isNaN(to)) return notATime('until', until!);
  return {
    channel: channelFilter?.channel ?? null,
    brain,
    state: stateWord.word,
    outcome: outcomeWord.word,
    since: from ?? null,
    until: to ?? null,
  } satisfies MessageFilter;
}

type WordRead<Word> =
  | { readonly kind: 'known'; readonly word: Word | null }
  | { readonly kind: 'unknown'; readonly message: string };

function wordOf<Word extends string>(
  flag: string,
  given: string | null,
  words: readonly Word[],
): WordRead<Word> {
  const word = words.find((one) => one === given) ?? null;
  if (given === null || word !== null) return { kind: 'known', word };
  const near = nearest(given, words);
  const hint = near === null ? `It is one of ${words.join(', ')}.` : `Did you mean ${near}?`;
  return { kind: 'unknown', message: `There is no ${flag} "${given}". ${hint}` };
}

const agoMs = { m: minuteMs, h: hourMs, d: dayMs } as const;

/**
 * @returns milliseconds since 1970; NaN: it is no time. A date without a zone is in the zone of
 * this machine.
 */
function timeOf(text: string, now: number): number {
  const ago = /^(\d{1,6})([mhd])$/.exec(text);
  if (ago !== null) {
    return Math.max(0, now - Number(ago[1]) * agoMs[ago[2] as keyof typeof agoMs]);
  }
  const date = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/.test(text);
  return date ? Date.parse(text.includes('T') ? text : `${text}T00:00`) : Number.NaN;
}

function notATime(flag: string, text: string): string {
  return `--${flag} is a time such as 2h, 7d, 2026-11-21 or 2026-11-21T18:30; "${text}" is none.`;
}

/**
 * Prints that the file has no such brain. An earlier file may have had it, so this is no refusal.
 */
function hintAtBrain(brain: string, { io, config, source, file }: LedgerLocation): void {
  const names = config.brains.map(({ name }) => name);
  if (source === 'nothing' || names.includes(brain)) return;
  const near = nearest(brain, names) ?? names.join(', ');
  io.stderr.write(`${file} has no brain "${plainLine(brain)}"; it has ${near}.\n`);
}

function listPage({ rows }: Page<MessageRow>): string {
  if (rows.length === 0) return 'There are no such messages.\n';
  return table(
    [
      left('id'),
      left('channel'),
      left('brain'),
      left('accepted'),
      left('state'),
      left('outcome'),
      left('model'),
      right('delivered'),
      right('in all'),
    ],
    rows.map((row) => [
      row.id,
      channelName(row.channel),
      row.brain ?? '',
      localTime(row.acceptedAt),
      row.state,
      row.outcome ?? '',
      row.model === null ? '' : formatModelName(row.model),
      deliveredCount(row),
      row.totalMs === null ? '' : formatDuration(row.totalMs),
    ]),
  );
}

/** How many of the message's replies were delivered. */
function deliveredCount({ state, replies }: MessageRow): string {
  if (state === 'waiting') return '';
  const all = replies.waiting + replies.delivered + replies.dead;
  return `${replies.delivered} of ${all}`;
}
