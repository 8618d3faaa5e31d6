/** `svc audit`: lists what operators did. */
import type { AuditRow } from '../../domain/audit.ts';
import type { Page, PageRequest } from '../../domain/page.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import type { Command, Io } from '../cli.ts';
import { limitRange, pageFlags, runList } from './pages.ts';
import { left, localTime, right, table } from './table.ts';

export const audit: Command = {
  name: 'audit',
  summary: 'List the actions of operators',
  usage: `Usage: svc audit [--limit <n>] [--after <next>] [--config <file>] [--json]

Lists the actions of operators, newest first: over the admin API, by commands, or from a page. Each
row has the time, the action, the ids, and the HTTP status of the answer. Reading people's words is
an action, too (read_message, …). svc keeps rows for 365 days; without storage the running svc knows
the last thousand.

  --limit <n>      at most so many, ${limitRange}
  --after <next>   go on where the list before ended
  --config <file>  the configuration file (default: svc.json)
  --json           print {"rows", "next"}
`,
  flags: pageFlags,
  run,
};

function run(args: readonly string[], io: Io): Promise<number> {
  const { name } = audit;
  const read = (reader: LedgerReader, page: PageRequest): Promise<Page<AuditRow>> =>
    reader.audit(page);
  return runList({ name, read, show: listPage }, args, io);
}

function listPage({ rows }: Page<AuditRow>): string {
  if (rows.length === 0) return 'No operator has changed anything.\n';
  return table(
    [left('at'), left('action'), right('status'), left('of'), left('reason')],
    rows.map(({ at, action, status, target, reason }) => {
      const of = Object.entries(target).map(([name, value]) => `${name} ${value}`);
      return [localTime(at), action, String(status), of.join(', '), reason ?? ''];
    }),
  );
}
