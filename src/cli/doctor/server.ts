/** What svc has in the database of a server, as a look at it saw it. */
import { failed, ok, warning, type PreflightLine } from '../../app/preflight/lines.ts';
import type { ServerProbe } from '../../app/storage.ts';
import { bytesText } from '../ledger/table.ts';

export function databaseLines(look: ServerProbe): readonly PreflightLine[] {
  return [schemaLine(look), ownerLine(look)];
}

function schemaLine({ schema, stepsBehind, bytes }: ServerProbe): PreflightLine {
  const size = bytesText(bytes);
  if (schema === null) {
    return ok('database', `has no tables of svc yet (${size}); the first start makes them`);
  }
  if (stepsBehind < 0) {
    const message = `was written by a newer svc (version ${schema} of the schema, ${size})`;
    return failed('database', message, 'Run that svc, or a newer one.');
  }
  if (stepsBehind === 0) {
    return ok('database', `is of this version (version ${schema} of the schema, ${size})`);
  }
  const message = `was written by an older svc (version ${schema} of the schema, ${size})`;
  return warning('database', message, 'Nothing to do: the next start brings it up to date.');
}

function ownerLine({ owner }: ServerProbe): PreflightLine {
  if (owner === null) return ok('owner', 'no svc works on the database');
  const seconds = Math.round(owner.heartbeatAgoMs / 1000);
  return ok(
    'owner',
    `a running svc (${owner.version}) works on the database, seen ${seconds} s ago`,
  );
}
