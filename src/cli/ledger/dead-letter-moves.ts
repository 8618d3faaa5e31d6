import { reasonCharactersMax } from '../../domain/audit.ts';
import { failureKinds, type FailureKind } from '../../domain/failure.ts';
import { nearest } from '../../config/nearest.ts';
import type { DeadLetterMove } from '../../ledger/ledger.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { locateLedgerStrictly, reading, writing, type LedgerLocation } from './access.ts';
import { allRows } from './pages.ts';

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

Puts dead letters back with their ids: a reply goes out at the end of its conversation, marked late;
a message runs again as if it had come now. When svc is stopped they wait for its next start.

  --all            every dead letter, the oldest first
  --reason <kind>  of these only those of one reason, such as gone or rejected
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
  const ids = flags.all ? await collect(place, flags.reason as FailureKind | null) : positionals;
  return typeof ids === 'number' ? ids : moveAll(place, ids, 'replay');
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
 * All ids are gathered before the first moves: a list that changes has no next page. Oldest first,
 * so that a conversation runs again in its order.
 */
async function collect(
  location: LedgerLocation,
  reason: FailureKind | null,
): Promise<readonly string[] | number> {
  const ids: string[] = [];
  const code = await reading(location, async (reader) => {
    const { stop } = location.io;
    for await (const { id, failure } of allRows((page) => reader.deadLetters(page), stop)) {
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

const done = { replay: 'will be tried again', discard: 'is deleted' } as const;

/** Tells of each on a line of its own: what was done on stdout, what was not on stderr. */
function moveAll(
  location: LedgerLocation,
  ids: readonly string[],
  verb: keyof typeof done,
  reason: string | null = null,
): Promise<number> {
  const { io } = location;
  return writing(location, async (ledger) => {
    let failed = 0;
    for (const id of new Set(ids)) {
      if (io.stop.aborted) return exitCode.failed;
      const move = await (verb === 'replay' ? ledger.replay(id) : ledger.discard(id, reason));
      if (move === 'done') {
        io.stdout.write(`${plainLine(id)} ${done[verb]}\n`);
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
