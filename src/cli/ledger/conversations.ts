/** `svc conversations list`, `show`, `delete` and `export`. */
import type { NoteText } from '../../domain/note.ts';
import type { Page, PageRequest } from '../../domain/page.ts';
import type {
  Takeovers,
  ConversationRow,
  ConversationText,
  TurnText,
  MessageOwner,
} from '../../domain/story.ts';
import { formatModelName } from '../../domain/model-words.ts';
import { plural } from '../../domain/plural.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainJson, plainLine } from '../../lib/plain-text.ts';
import {
  locateLedger,
  withReader,
  locateLedgerStrictly,
  withWrites,
  type LedgerLocation,
} from './access.ts';
import { parsePage, limitRange, pageFlags, runList, reportMore, allRows } from './pages.ts';
import { indented } from './trace.ts';
import {
  left,
  localTime,
  right,
  table,
  agrees,
  canAsk,
  noTerminal,
  resolveChannel,
  parseWhose,
  describeUnknown,
} from './table.ts';
import { once } from 'node:events';

const showFlags = { ...pageFlags, sender: { type: 'string' } } as const;

export const conversationsList: Command = {
  name: 'conversations list',
  summary: 'List the conversations that svc keeps',
  usage: `Usage: svc conversations list [--limit <n>] [--after <next>] [--config <file>] [--json]

Lists conversations by channel and id: how many turns and sessions, the first and the last time,
and how many messages wait. Without storage there are none.

  --limit <n>      at most so many, ${limitRange}
  --after <next>   go on where the list before ended
  --config <file>  the configuration file (default: svc.json)
  --json           print {"rows", "next"}
`,
  flags: pageFlags,
  run: list,
};

export const conversationsShow: Command = {
  name: 'conversations show',
  summary: 'Show the messages and answers of a conversation, or of a sender',
  usage: `Usage: svc conversations show <channel> <conversation> [--limit <n>] [--after <next>]
       svc conversations show <channel> --sender <id> [--limit <n>] [--after <next>]

Shows messages with their answers, oldest first. Before them it shows the notes that an agent keeps
of the conversation.

  --sender <id>    all messages of one sender on the channel, and the answers
  --limit <n>      at most so many turns, ${limitRange}
  --after <next>   go on where the page before ended
  --config <file>  the configuration file (default: svc.json)
  --json           print {"conversation", "notes", "rows", "next"}; of a sender only the last two

An id that begins with a dash goes behind "--".
`,
  flags: showFlags,
  run: show,
};

function list(args: readonly string[], io: Io): Promise<number> {
  const { name } = conversationsList;
  const read = (reader: LedgerReader, page: PageRequest): Promise<Page<ConversationRow>> =>
    reader.conversations(page);
  return runList({ name, read, show: listPage }, args, io);
}

function listPage({ rows }: Page<ConversationRow>, { storage }: LedgerLocation): string {
  if (rows.length === 0) {
    const why = storage === null ? ': there is no storage' : '';
    return `No conversations are kept${why}.\n`;
  }
  return table(
    [
      left('channel'),
      left('conversation'),
      right('turns'),
      right('sessions'),
      right('waiting'),
      left('first'),
      left('last'),
    ],
    rows.map(({ channel, conversation, turns, sessions, waiting, firstAt, lastAt }) => [
      channel,
      conversation,
      String(turns),
      String(sessions),
      String(waiting),
      localTime(firstAt),
      localTime(lastAt),
    ]),
  );
}

async function show(args: readonly string[], io: Io): Promise<number> {
  const name = conversationsShow.name;
  const parsed = parseFlags(args, showFlags, 2);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const { limit, after, config, json, sender } = parsed.flags;
  const page = parsePage(limit, after);
  if (typeof page === 'string') return wrongUsage(io, name, page);
  const requested = parseWhose(parsed.positionals, sender);
  if (typeof requested === 'string') return wrongUsage(io, name, requested);
  const place = await locateLedger(config, io);
  if (typeof place === 'number') return place;
  const whose = await resolveChannel(place, requested);
  if (typeof whose === 'number') return whose;
  return withReader(place, async (reader) => {
    const head = whose.kind === 'conversation' ? await reader.conversation(whose) : null;
    const { rows, next } = await reader.turns(whose, page);
    const notes = whose.kind === 'conversation' ? await reader.notes(whose) : [];
    if (head === null && rows.length === 0 && notes.length === 0) {
      io.stderr.write(describeUnknown(whose));
      return exitCode.failed;
    }
    const about = whose.kind === 'conversation' ? { conversation: head, notes } : {};
    if (json) io.stdout.write(`${plainJson({ ...about, rows, next }, 2)}\n`);
    else {
      const top = head === null ? '' : headPage(head);
      io.stdout.write(`${top}${notesPage(notes)}${turnsPage(rows)}`);
    }
    if (!json) reportMore(io, next);
    return exitCode.fine;
  });
}

function headPage(head: ConversationText): string {
  const { id, channel, conversation, turns, sessions, waiting, firstAt, lastAt, cuts } = head;
  const waits = waiting === 0 ? '' : `, ${plural(waiting, 'message')} waiting`;
  const lines = cuts.map(({ session, at, reason }) => {
    return `session ${session} began ${localTime(at)} (${reason})\n`;
  });
  return [
    `${plainLine(channel)}, conversation ${plainLine(conversation)}: `,
    `${plural(turns, 'turn')} in ${plural(sessions, 'session')}${waits}\n`,
    `${localTime(firstAt)} to ${localTime(lastAt)}${id === null ? '' : `, id ${plainLine(id)}`}\n`,
    ...lines,
  ].join('');
}

function notesPage(notes: readonly NoteText[]): string {
  if (notes.length === 0) return '';
  return `\nnotes\n${notes.map(({ text }) => indented(text)).join('')}`;
}

/** A line with the time and the speaker of each turn; the texts stand indented below it. */
function turnsPage(rows: readonly TurnText[]): string {
  const blocks = rows.map(({ session, at, sender, conversation, text, reply, model, byHand }) => {
    const who = sender === null ? 'from the session before' : plainLine(sender);
    const where = `session ${session} of ${plainLine(conversation)}`;
    const by =
      byHand !== null
        ? ' by hand'
        : model === null
          ? ''
          : ` by ${plainLine(formatModelName(model))}`;
    const answer =
      reply === null ? `${describeUnanswered(byHand)}\n` : `reply${by}\n${indented(reply)}`;
    return `\n${localTime(at)}  ${who}, ${where}\n${indented(text)}${answer}`;
  });
  return blocks.join('');
}

function describeUnanswered(byHand: Takeovers | null): string {
  if (byHand === null) return 'no reply';
  const { answeredWith } = byHand;
  const which = answeredWith === null ? 'a later one' : plainLine(answeredWith);
  return `answered by hand, together with ${which}`;
}

const deleteFlags = {
  sender: { type: 'string' },
  yes: { type: 'boolean' },
  config: { type: 'string' },
} as const;

export const conversationsDelete: Command = {
  name: 'conversations delete',
  summary: 'Delete a conversation, or all messages of a sender',
  usage: `Usage: svc conversations delete <channel> <conversation> [--yes] [--config <file>]
       svc conversations delete <channel> --sender <id> [--yes] [--config <file>]

Deletes messages and their answers, also waiting ones, and overwrites them on the disk. At a
terminal it asks first.

  --sender <id>    all messages of one sender on the channel, and the answers
  --yes            do not ask; needed where there is no terminal
  --config <file>  the configuration file (default: svc.json)
`,
  flags: deleteFlags,
  run: runDelete,
};

async function runDelete(args: readonly string[], io: Io): Promise<number> {
  const name = conversationsDelete.name;
  const parsed = parseFlags(args, deleteFlags, 2);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const { flags, positionals } = parsed;
  const requested = parseWhose(positionals, flags.sender);
  if (typeof requested === 'string') return wrongUsage(io, name, requested);
  if (!flags.yes && !canAsk(io)) return wrongUsage(io, name, noTerminal);
  const place = await locateLedgerStrictly(flags.config, io);
  if (typeof place === 'number') return place;
  const whose = await resolveChannel(place, requested);
  if (typeof whose === 'number') return whose;
  if (!flags.yes && !(await agrees(io, question(whose)))) return exitCode.failed;
  return withWrites(place, async (ledger) => {
    const count = await ledger.forget(whose);
    if (count === 0) io.stderr.write(describeUnknown(whose));
    else io.stdout.write(`${plural(count, 'message, reply or turn', things)} deleted\n`);
    return count === 0 ? exitCode.failed : exitCode.fine;
  });
}

const things = 'messages, replies and turns';

function question(whose: MessageOwner): string {
  const what =
    whose.kind === 'conversation'
      ? `the conversation ${plainLine(whose.conversation)}`
      : `everything that ${plainLine(whose.sender)} said`;
  return `Delete ${what} on ${plainLine(whose.channel)} for good? Type yes: `;
}

const exportFlags = {
  sender: { type: 'string' },
  config: { type: 'string' },
} as const;

export const conversationsExport: Command = {
  name: 'conversations export',
  summary: 'Write all turns of a conversation, or of a sender, as JSON Lines',
  usage: `Usage: svc conversations export <channel> <conversation> [--config <file>]
       svc conversations export <channel> --sender <id> [--config <file>]

Writes every turn to standard output, oldest first, one JSON object a line.

  --sender <id>    all messages of one sender on the channel, and the answers
  --config <file>  the configuration file (default: svc.json)
`,
  flags: exportFlags,
  run: runExport,
};

async function runExport(args: readonly string[], io: Io): Promise<number> {
  const name = conversationsExport.name;
  const parsed = parseFlags(args, exportFlags, 2);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const requested = parseWhose(parsed.positionals, parsed.flags.sender);
  if (typeof requested === 'string') return wrongUsage(io, name, requested);
  const place = await locateLedger(parsed.flags.config, io);
  if (typeof place === 'number') return place;
  const whose = await resolveChannel(place, requested);
  if (typeof whose === 'number') return whose;
  return withReader(place, async (reader) => {
    let written = 0;
    for await (const turn of allRows((page) => reader.turns(whose, page), io.stop)) {
      if (!(await write(io, `${plainJson(turn)}\n`))) return exitCode.failed;
      written++;
    }
    if (io.stop.aborted) return exitCode.failed;
    if (written === 0) io.stderr.write(describeUnknown(whose));
    return written === 0 ? exitCode.failed : exitCode.fine;
  });
}

/** @returns false if the reader of standard output is gone, or the command was stopped */
async function write({ stdout, stop }: Io, line: string): Promise<boolean> {
  if (stop.aborted) return false;
  if (stdout.write(line)) return true;
  return once(stdout, 'drain', { signal: stop }).then(
    () => true,
    () => false,
  );
}
