/** `svc search`: finds messages by their words. */
import { channelName } from '../../channels/registry.ts';
import { searchCharactersMax, type FoundText, type FoundTexts } from '../../domain/search.ts';
import { plainLine } from '../../lib/plain-text.ts';
import type { Command, Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import type { PageRequest } from '../../domain/page.ts';
import { limitRange, pageFlags, printList } from './pages.ts';
import { localTime } from './table.ts';

export const search: Command = {
  name: 'search',
  summary: 'Find messages by their words',
  usage: `Usage: svc search <words> [--limit <n>] [--after <next>] [--config <file>] [--json]

Finds messages, newest first. Each word must begin a word of the message, of its answer, or of the
ids of sender and conversation. Case and accents do not count. "svc search /new" finds the commands
of that name. Without storage svc keeps no text, so it finds nothing.

  --limit <n>      at most so many, ${limitRange}
  --after <next>   go on where the list before ended
  --config <file>  the configuration file (default: svc.json)
  --json           print {"rows", "next", "complete", "indexedSince"}

It reads the database, whether svc runs or not. "svc trace <id> --text" shows the whole of one
message.
`,
  flags: pageFlags,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const { name } = search;
  const parsed = parseFlags(args, pageFlags, Number.MAX_SAFE_INTEGER);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const words = parsed.positionals.join(' ').trim();
  if (words === '') return wrongUsage(io, name, 'Say what to look for: the words are missing.');
  if (words.length > searchCharactersMax) {
    return wrongUsage(io, name, `At most ${searchCharactersMax} characters can be looked for.`);
  }
  const read = (reader: LedgerReader, page: PageRequest) => fullTexts(reader, words, page, io.stop);
  return printList({ name, read, show }, parsed.flags, io);
}

/** Reads on until there are enough rows: a page may have fewer rows than asked for. */
async function fullTexts(
  reader: LedgerReader,
  words: string,
  { after, limit }: PageRequest,
  stop: AbortSignal,
): Promise<FoundTexts> {
  const rows: FoundText[] = [];
  for (let next = after; ;) {
    const page = await reader.foundTexts(words, { after: next, limit: limit - rows.length });
    rows.push(...page.rows);
    ({ next } = page);
    if (next === null || rows.length >= limit || stop.aborted) return { ...page, rows };
  }
}

function show({ rows, complete, indexedSince }: FoundTexts): string {
  const blocks = rows.length === 0 ? ['Nothing was found.\n'] : rows.map(rowText);
  const since = indexedSince === null ? '' : `, those since ${localTime(indexedSince)} are`;
  const unfinished = complete ? [] : [`Not every text is in the index yet${since}.\n`];
  return [...blocks, ...unfinished].join('\n');
}

function rowText(row: FoundText): string {
  const { id, kind, channel, conversation, sender, at, excerpt } = row;
  const what = id === null ? 'a conversation' : kind === 'dead_letter' ? `dead letter ${id}` : id;
  const who = sender === null ? '' : `, ${plainLine(sender)}`;
  const where = `${channelName(channel)}, conversation ${plainLine(conversation)}${who}`;
  const head = `${localTime(at)}  ${what}\n  ${where}\n`;
  return excerpt === null ? head : `${head}  ${plainLine(excerpt.text)}\n`;
}
