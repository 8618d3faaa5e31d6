/** `svc notes list` and `svc notes clear`: the notes that an agent keeps. */
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { NotesOf, NoteText } from '../../domain/note.ts';
import { plural } from '../../domain/plural.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainJson, plainLine } from '../../lib/plain-text.ts';
import { locateLedgerStrictly, locateLedger, withReader, withWrites } from './access.ts';
import { agrees, canAsk, noTerminal, localTime, resolveChannel } from './table.ts';
import { indented } from './trace.ts';

const listFlags = {
  brain: { type: 'string' },
  config: { type: 'string' },
  json: { type: 'boolean' },
} as const;

const clearFlags = {
  brain: { type: 'string' },
  yes: { type: 'boolean' },
  config: { type: 'string' },
} as const;

export const notesList: Command = {
  name: 'notes list',
  summary: 'List the notes that an agent keeps',
  usage: `Usage: svc notes list <channel> <conversation> [--config <file>] [--json]
       svc notes list --brain <name> [--config <file>] [--json]

Lists the notes of one conversation, or the notes that a brain keeps of all its conversations
together (memory.scope "brain"), oldest first.

  --brain <name>   the notes of that brain
  --config <file>  the configuration file (default: svc.json)
  --json           print {"rows"}
`,
  flags: listFlags,
  run: list,
};

export const notesClear: Command = {
  name: 'notes clear',
  summary: 'Delete the notes that an agent keeps',
  usage: `Usage: svc notes clear <channel> <conversation> [--yes] [--config <file>]
       svc notes clear --brain <name> [--yes] [--config <file>]

Deletes the notes that "svc notes list" lists, and overwrites them on the disk. At a terminal it
asks first.

  --brain <name>   the notes of that brain
  --yes            do not ask; needed where there is no terminal
  --config <file>  the configuration file (default: svc.json)
`,
  flags: clearFlags,
  run: clear,
};

async function list(args: readonly string[], io: Io): Promise<number> {
  const { name } = notesList;
  const parsed = parseFlags(args, listFlags, 2);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const { brain, config, json } = parsed.flags;
  const requested = parseNotesOf(parsed.positionals, brain);
  if (typeof requested === 'string') return wrongUsage(io, name, requested);
  const place = await locateLedger(config, io);
  if (typeof place === 'number') return place;
  const of = requested.kind === 'brain' ? requested : await resolveChannel(place, requested);
  if (typeof of === 'number') return of;
  return withReader(place, async (reader) => {
    const rows = await reader.notes(of);
    if (json) io.stdout.write(`${plainJson({ rows }, 2)}\n`);
    else
      io.stdout.write(
        rows.length === 0 ? 'There are no notes.\n' : rows.map(noteFormatter(of)).join(''),
      );
    return exitCode.fine;
  });
}

/** A brain's note is shown with the conversation in which it was made. */
function noteFormatter(of: NotesOf): (note: NoteText) => string {
  return ({ at, channel, conversation, text }) => {
    const where = of.kind === 'brain' ? `  ${plainLine(channel)}, ${plainLine(conversation)}` : '';
    return `${localTime(at)}${where}\n${indented(text)}`;
  };
}

async function clear(args: readonly string[], io: Io): Promise<number> {
  const { name } = notesClear;
  const parsed = parseFlags(args, clearFlags, 2);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const { brain, yes, config } = parsed.flags;
  const requested = parseNotesOf(parsed.positionals, brain);
  if (typeof requested === 'string') return wrongUsage(io, name, requested);
  if (!yes && !canAsk(io)) return wrongUsage(io, name, noTerminal);
  const place = await locateLedgerStrictly(config, io);
  if (typeof place === 'number') return place;
  const of = requested.kind === 'brain' ? requested : await resolveChannel(place, requested);
  if (typeof of === 'number') return of;
  if (!yes && !(await agrees(io, question(of)))) return exitCode.failed;
  return withWrites(place, async (ledger) => {
    const count = await ledger.clearNotes(of);
    io.stdout.write(count === 0 ? 'There are no notes.\n' : `${plural(count, 'note')} deleted\n`);
    return exitCode.fine;
  });
}

function question(of: NotesOf): string {
  const whose =
    of.kind === 'brain'
      ? `of the brain ${plainLine(of.brain)}`
      : `of the conversation ${plainLine(of.conversation)} on ${plainLine(of.channel)}`;
  return `Delete the notes ${whose} for good? Type yes: `;
}

/** @returns the conversation or brain whose notes are meant, or a sentence about what is wrong */
function parseNotesOf(positionals: readonly string[], brain: string | null): NotesOf | string {
  const [channel, conversation] = positionals;
  if (brain !== null) {
    if (channel !== undefined) return '--brain and a conversation exclude each other.';
    return { kind: 'brain', brain };
  }
  if (channel === undefined || conversation === undefined) {
    return 'Say which channel and which conversation, or which brain: --brain <name>.';
  }
  return {
    kind: 'conversation',
    channel: channel as ChannelKey,
    conversation: conversation as ConversationId,
  };
}
