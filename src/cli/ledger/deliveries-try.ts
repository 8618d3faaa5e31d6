/** `svc deliveries try`: tries replies at once that wait for another try. */
import { setTimeout as pause } from 'node:timers/promises';
import { channelsAsked } from '../../admin/channel-named.ts';
import type { LedgerWrites } from '../../app/config/audited.ts';
import { plural } from '../../domain/plural.ts';
import type { DeferredFilter } from '../../domain/records.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';
import { locateLedgerStrictly, withWrites } from './access.ts';

const flagTable = {
  all: { type: 'boolean' },
  channel: { type: 'string' },
  config: { type: 'string' },
} as const;

/**
 * The most replies that move at once. While svc is busy, the command asks again after the pause.
 */
const stepMax = 500;
const pauseMs = 1_000;

export const deliveriesTry: Command = {
  name: 'deliveries try',
  summary: 'Try waiting replies now, before their schedule',
  usage: `Usage: svc deliveries try <id>… [--config <file>]
       svc deliveries try --all [--channel <name>] [--config <file>]

Tries replies at once after a failed try. So you need not wait for the schedule when a receiver is
back. Each reply keeps its place in its conversation. A try that fails counts as an attempt, and the
pause before the next try begins anew. While svc is stopped, it tries them at its next start.

  --all             all replies that wait for another try, once each
  --channel <name>  with --all: only replies of one channel
  --config <file>   the configuration file (default: svc.json)

Exit codes: 0 all of them, 1 at least one could not be, 2 wrong usage, 78 configuration.
`,
  flags: flagTable,
  run,
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const { name } = deliveriesTry;
  const parsed = parseFlags(args, flagTable, Infinity);
  if (parsed.kind === 'wrong') return wrongUsage(io, name, parsed.message);
  const { flags, positionals } = parsed;
  const { all, channel, config } = flags;
  if (all && positionals.length > 0) {
    return wrongUsage(io, name, '--all and ids exclude each other.');
  }
  if (!all && positionals.length === 0) {
    return wrongUsage(io, name, 'Say which ones: their ids, or --all.');
  }
  if (!all && channel !== null) return wrongUsage(io, name, '--channel goes with --all.');
  const place = await locateLedgerStrictly(config, io);
  if (typeof place === 'number') return place;
  const { channels } = place.config;
  const channelFilter = channel === null ? null : channelsAsked(channel, channels);
  if (channelFilter?.kind === 'unknown') {
    return wrongUsage(io, name, `--${channelFilter.message}`);
  }
  const filter = { channel: channelFilter?.channel ?? null, failure: null, status: null };
  return withWrites(place, (ledger) =>
    all ? tryAll(ledger, filter, io) : tryEach(ledger, new Set(positionals), io),
  );
}

async function tryEach(ledger: LedgerWrites, ids: ReadonlySet<string>, io: Io): Promise<number> {
  let failed = 0;
  for (const id of ids) {
    if (io.stop.aborted) return exitCode.failed;
    const result = await ledger.tryNow({ kind: 'one', id }, 1);
    if (result.kind === 'storage_failed') return describeFailed(io);
    if (result.moved === 1) {
      io.stdout.write(`${plainLine(id)} is tried now\n`);
      continue;
    }
    failed++;
    io.stderr.write(`${plainLine(id)} waits for no other try, as far as is known here.\n`);
  }
  return failed === 0 ? exitCode.fine : exitCode.failed;
}

async function tryAll(ledger: LedgerWrites, filter: DeferredFilter, io: Io): Promise<number> {
  const before = Date.now();
  for (let moved = 0; ;) {
    if (io.stop.aborted) return exitCode.failed;
    const result = await ledger.tryNow({ kind: 'all', filter, before }, stepMax);
    if (result.kind === 'storage_failed') return describeFailed(io);
    moved += result.moved;
    if (!result.more) {
      const words = moved === 1 ? 'is tried now' : 'are tried now';
      io.stdout.write(`${plural(moved, 'reply', 'replies')} ${words}\n`);
      return exitCode.fine;
    }
    if (result.moved === 0) await pause(pauseMs, undefined, { signal: io.stop }).catch(() => {});
  }
}

function describeFailed({ stderr }: Io): number {
  stderr.write('The storage failed; the log of the service says how.\n');
  return exitCode.failed;
}
