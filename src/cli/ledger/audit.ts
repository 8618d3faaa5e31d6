/** `svc audit`: lists what operators did. */
import type { AuditRow } from '../../domain/audit.ts';
import type { Page, PageRequest } from '../../domain/page.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import type { Command, Io } from '../cli.ts';
import { limitRange, pageFlags, runList } from './pages.ts';
import { left, localTime, right, table } from './table.ts';

export const audit: Command = {
  name: 'audit',
  summary: 'List what operators did',
  usage: `Usage: svc audit [--limit <n>] [--after <next>] [--config <file>] [--json]

Lists what operators did over the admin API, with commands or from a page, newest first: when, what,
to which ids, and how it ended (the HTTP status of the answer). To have read what people wrote
counts (read_message, …). Rows are kept for 365 days; without storage the running svc knows the last
thousand.

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
