/** What agents and operators did, and what svc could not read. */
import type { AdminPorts } from '../admin.ts';
import { counter, gauge, one, type Family } from '../../telemetry/prometheus/exposition.ts';

export function toolFamilies({ meters }: AdminPorts): Family[] {
  const samples = [...meters.tools.values()].map(({ count, tool, mode, outcome }) =>
    one(count, { tool, mode, outcome }),
  );
  const help = 'Calls of tools that agents asked for, by the grant and what became of them.';
  const { byVerdict, waiting } = meters.approvals;
  const decided = Object.entries(byVerdict).map(([verdict, count]) => one(count, { verdict }));
  return [
    counter('svc_tool_calls_total', help, samples),
    counter('svc_approvals_total', 'Calls that waited for a yes, by what was decided.', decided),
    gauge('svc_approvals_waiting', 'Calls that wait for a yes.', [one(waiting)]),
  ];
}

export function attachmentFamily({ meters }: AdminPorts): Family {
  const samples = [...meters.unread.values()].map(({ count, channel, part, reason }) =>
    one(count, { channel, part, reason }),
  );
  const help = 'Pictures, files and voice messages that were not read, by what failed and why.';
  return counter('svc_attachments_unread_total', help, samples);
}

export function operatorFamilies({ meters }: AdminPorts): Family[] {
  return [
    counter(
      'svc_admin_writes_total',
      'Uses of the writes of the admin API, by the status of their answer.',
      [...meters.writes].flatMap(([action, statuses]) =>
        [...statuses].map(([status, { count }]) => one(count, { action, status: `${status}` })),
      ),
    ),
    counter(
      'svc_config_reloads_total',
      'Configurations that were to be taken while svc runs, by how that ended.',
      [...meters.configs].map(([result, { count }]) => one(count, { result })),
    ),
    counter(
      'svc_admin_bearers_refused_total',
      'Requests to the admin server with a missing or a wrong bearer.',
      Object.entries(meters.bearersRefused).map(([why, { count }]) => one(count, { why })),
    ),
  ];
}
