/** `svc dead-letters list`, `show`, `replay` and `discard`. */
import { completionsChannel } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/page.ts';
import type { DeadLetter, DeadLetterReason, DeadLetterText } from '../../domain/story.ts';
import { plural } from '../../domain/plural.ts';
import type { LedgerReader, DeadLetterMove } from '../../ledger/ledger.ts';
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
import { limitRange, pageFlags, runList, allRows } from './pages.ts';
import { indented } from './trace.ts';
import { left, localTime, right, table } from './table.ts';
import { reasonCharactersMax } from '../../domain/audit.ts';
import { failureKinds, type FailureKind } from '../../domain/failure.ts';
import { nearest } from '../../config/nearest.ts';

const showTable = { config: { type: 'string' }, json: { type: 'boolean' } } as const;

export const deadLettersList: Command = {
  name: 'dead-letters list',
  summary: 'List the messages and replies that svc gave up, by reason',
  usage: `Usage: svc dead-letters list [--limit <n>] [--after <next>] [--config <file>] [--json]

Lists messages that svc gave up ("in") and replies that it could not deliver ("out"): first how many
there are of each reason, then the dead letters, newest first. It shows no texts.

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

Shows a dead letter: its text, the times of its tries, and why each try failed.

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

async function readPage(reader: LedgerReader, page: PageRequest): Promise<LettersPage> {
  const reasons = await reader.deadLetterReasons();
  const { rows, next } = await reader.deadLetters(page);
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
  return withReader(place, async (reader) => {
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

const replayTable = {
  all: { type: 'boolean' },
  reason: { type: 'string' },
  config: { type: 'string' },
} as const;

const discardTable = { reason: { type: 'string' }, config: { type: 'string' } } as const;

export const deadLettersReplay: Command = {
  name: 'dead-letters replay',
  summary: 'Try dead letters again',
  usage: `Usage: svc dead-letters replay <id>… [--config <file>]
       svc dead-letters replay --all [--reason <kind>] [--config <file>]

Puts dead letters back with their ids. A reply goes out at the end of its conversation, marked late.
A message runs again as if it had come now. While svc is stopped, they wait for its next start.

  --all            every dead letter, the oldest first
  --reason <kind>  with --all: only dead letters of one reason, such as gone or rejected
  --config <file>  the configuration file (default: svc.json)

Exit codes: 0 all of them, 1 at least one could not be, 2 wrong usage, 78 configuration.
`,
  flags: replayTable,
  run: replay,
};

export const deadLettersDiscard: Command = {
  name: 'dead-letters discard',
  summary: 'Delete dead letters, text and all',
  usage: `Usage: svc dead-letters discard <id>… [--reason <text>] [--config <file>]

Deletes dead letters for good.

  --reason <text>  why, for the audit (svc audit); at most ${reasonCharactersMax} characters
  --config <file>  the configuration file (default: svc.json)

Exit codes: 0 all of them, 1 at least one could not be, 2 wrong usage, 78 configuration.
`,
  flags: discardTable,
  run: discard,
};

async function replay(args: readonly string[], io: Io): Promise<number> {
  const name = deadLettersReplay.name;
  const parsed = parseFlags(args, replayTable, Infinity);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const { flags, positionals } = parsed;
  const fault = faultOf(flags, positionals);
  if (fault !== null) return wrongUsage(io, name, fault);
  const place = await locateLedgerStrictly(flags.config, io);
  if (typeof place === 'number') return place;
  if (!flags.all) return replayThese(place, positionals);
  const ids = await collectIds(place, flags.reason as FailureKind | null);
  return typeof ids === 'number' ? ids : moveAll(place, ids, 'replay');
}

/** Refuses the letters of the completions API: no client waits any more. */
async function replayThese(place: LedgerLocation, given: readonly string[]): Promise<number> {
  // Without storage no letter can be moved.
  if (place.storage === null) return moveAll(place, given, 'replay');
  const ids: string[] = [];
  const code = await withReader(place, async (reader) => {
    for (const id of given) {
      const isAwaited = (await reader.deadLetter(id))?.channel !== completionsChannel;
      if (isAwaited) ids.push(id);
      else
        place.io.stderr.write(`${plainLine(id)} can only be discarded: no client waits for it.\n`);
    }
    return ids.length === given.length ? exitCode.fine : exitCode.failed;
  });
  return ids.length === 0 ? code : (await moveAll(place, ids, 'replay')) || code;
}

function faultOf(
  { all, reason }: { readonly all: boolean; readonly reason: string | null },
  ids: readonly string[],
): string | null {
  if (all && ids.length > 0) return '--all and ids exclude each other.';
  if (!all && ids.length === 0) return 'Say which ones: their ids, or --all.';
  if (reason === null) return null;
  if (!all) return '--reason goes with --all.';
  if (failureKinds.some((kind) => kind === reason)) return null;
  const near = nearest(reason, failureKinds);
  const hint = near === null ? `It is one of ${failureKinds.join(', ')}.` : `Did you mean ${near}?`;
  return `There is no reason "${reason}". ${hint}`;
}

/**
 * Collects all ids before the first letter moves: a list that changes has no next page. The oldest
 * comes first, so that a conversation runs again in its order.
 */
async function collectIds(
  location: LedgerLocation,
  reason: FailureKind | null,
): Promise<readonly string[] | number> {
  const ids: string[] = [];
  const code = await withReader(location, async (reader) => {
    const { stop } = location.io;
    for await (const letter of allRows((page) => reader.deadLetters(page), stop)) {
      const { id, channel, failure } = letter;
      // No client of the completions API waits any more.
      if (channel === completionsChannel) continue;
      if (reason === null || failure.kind === reason) ids.push(id);
    }
    return exitCode.fine;
  });
  if (code !== exitCode.fine) return code;
  if (ids.length === 0) location.io.stderr.write('There are no such dead letters.\n');
  return ids.length === 0 ? exitCode.fine : ids.reverse();
}

async function discard(args: readonly string[], io: Io): Promise<number> {
  const name = deadLettersDiscard.name;
  const parsed = parseFlags(args, discardTable, Infinity);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  if (parsed.positionals.length === 0) return wrongUsage(io, name, 'Say which ones: their ids.');
  const { config, reason } = parsed.flags;
  if ((reason?.length ?? 0) > reasonCharactersMax) {
    return wrongUsage(io, name, `--reason is at most ${reasonCharactersMax} characters long.`);
  }
  const place = await locateLedgerStrictly(config, io);
  if (typeof place === 'number') return place;
  return moveAll(place, parsed.positionals, 'discard', reason);
}

const doneWords = { replay: 'will be tried again', discard: 'is deleted' } as const;

/** Prints a line for each letter: on stdout if it moved, on stderr if not. */
function moveAll(
  location: LedgerLocation,
  ids: readonly string[],
  verb: keyof typeof doneWords,
  reason: string | null = null,
): Promise<number> {
  const { io } = location;
  return withWrites(location, async (ledger) => {
    let failed = 0;
    for (const id of new Set(ids)) {
      if (io.stop.aborted) return exitCode.failed;
      const move = await (verb === 'replay' ? ledger.replay(id) : ledger.discard(id, reason));
      if (move === 'done') {
        io.stdout.write(`${plainLine(id)} ${doneWords[verb]}\n`);
        continue;
      }
      failed++;
      io.stderr.write(`${plainLine(id)} ${faults[move]}\n`);
      if (move === 'storage_failed' || move === 'not_kept') break;
    }
    return failed === 0 ? exitCode.fine : exitCode.failed;
  });
}

const faults: Readonly<Record<Exclude<DeadLetterMove, 'done'>, string>> = {
  not_found: 'is no dead letter that is known here.',
  not_kept: 'cannot be moved: without storage dead letters are told, and not kept.',
  storage_failed: 'could not be moved: the storage failed; the log of the service says how.',
};
