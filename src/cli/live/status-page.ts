/** The status for a person: a line for each part, with a sign at its beginning. */
import { describeWarning } from '../../config/place-words.ts';
import { completionsChannel } from '../../domain/ids.ts';
import { channelName } from '../../channels/registry.ts';
import type {
  BacklogStatus,
  ChannelStatus,
  CountsStatus,
  InstanceStatus,
  Status,
} from '../../admin/admin.ts';
import type { DeliveryStatus } from '../../admin/deliveries.ts';
import { plural } from '../../domain/plural.ts';
import { formatDuration, localTime } from '../ledger/table.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { signOf, type Mark } from '../frame/report.ts';
import { answeringLines, isTrouble, type Line } from './answering-lines.ts';

/** @param coloured whether the signs have a colour, for a terminal */
export function statusPage(status: Status, coloured: boolean): string {
  const now = status.startedAt + status.uptimeMs;
  const lines: readonly Line[] = [
    serviceLine(status),
    configurationLine(status),
    ...(status.instances ?? []).map((instance) => instanceLine(instance, status, now)),
    ...status.channels.map((channel) => channelLine(channel, now)),
    ...answeringLines(status, now),
    ...receiverLines(status.deliveries ?? [], now),
    ...mcpLines(status),
    ...backlogLines(status.backlog, now),
    ...heldLines(status),
    ...approvalLines(status),
    countsLine(status),
    deadLettersLine(status.counts),
    ...status.warnings.map((warning) => {
      const { remedy, instances } = warning;
      const { where, message } = describeWarning(warning, status);
      const subject = where === '' ? 'configuration' : where;
      const who = instances === null ? '' : ` (instance ${instances.join(', ')})`;
      return { mark: 'warning', subject, message: `${message}. ${remedy}${who}` } as const;
    }),
    ...leftOutLines(status),
  ];
  return lines
    .map(({ mark, subject, message }) => {
      return `${signOf(mark, coloured)} ${plainLine(subject)}: ${plainLine(message)}\n`;
    })
    .join('');
}

/** Lines about channels whose replies do not arrive, or not all. */
function receiverLines(deliveries: readonly DeliveryStatus[], now: number): Line[] {
  return deliveries.flatMap((one) => {
    const { channel, state, since, someArrive, minute, reasons, waiting, oldestAt } = one;
    const [reason] = reasons;
    if (state !== 'failing') return [];
    const answered = reason?.status == null ? '' : `, status ${reason.status}`;
    const why = reason === undefined ? '' : ` (${reason.code}${answered})`;
    const began = since === null ? '' : ` for ${formatDuration(Math.max(0, now - since))}`;
    const oldest =
      oldestAt === null ? '' : `, the oldest for ${formatDuration(Math.max(0, now - oldestAt))}`;
    const isPart = someArrive === true;
    const share = `${minute.failed} of ${plural(minute.tried, 'try', 'tries')} failed in a minute`;
    const message =
      `${isPart ? `some do not arrive: ${share}` : 'do not arrive'}${began}${why}; ` +
      `${plural(waiting, 'waits', 'wait')}${oldest}. ` +
      'Once the receiver is mended, try them now at Deliveries';
    const mark = isPart ? 'warning' : 'failed';
    return [{ mark, subject: `replies on ${channelName(channel)}`, message }];
  });
}

/**
 * Lines for servers that are not down. A server that is down has a warning, which stands with the
 * other warnings.
 */
function mcpLines({ mcp }: Status): readonly Line[] {
  return (mcp ?? []).flatMap(({ brain, server, state, tools }) => {
    if (state === 'down') return [];
    const ready = tools.filter((tool) => tool.state === 'announced').length;
    const others = tools.flatMap((tool) =>
      tool.state === 'announced' || state === 'starting'
        ? []
        : [`${tool.tool}: ${tool.state.replace('_', ' ')}`],
    );
    const why = others.length === 0 ? '' : ` (${others.join(', ')})`;
    const message = `${state}; ${ready} of ${plural(tools.length, 'listed tool')} announced${why}`;
    return [{ mark: 'ok', subject: `MCP server ${server} of ${brain}`, message } as const];
  });
}

function leftOutLines({ warningsLeftOut }: Status): readonly Line[] {
  if (warningsLeftOut === 0) return [];
  const message = `${plural(warningsLeftOut, 'warning')} beside these; the log has them all`;
  return [{ mark: 'warning', subject: 'more', message }];
}

function serviceLine({ status, reason, version, uptimeMs, storage, answering }: Status): Line {
  const since = `up for ${formatDuration(uptimeMs)}, everything in ${wordsOf[storage]}`;
  const subject = `svc ${version}`;
  const troubled = (answering ?? []).filter(({ standing }) => isTrouble(standing));
  if (status === 'ok' && troubled.length > 0) {
    const isRed = troubled.some(({ standing }) => standing === 'failing');
    const message = `leaves ${isRed ? '' : 'some '}messages unanswered; ${since}`;
    return { mark: isRed ? 'failed' : 'warning', subject, message };
  }
  if (status === 'ok') return { mark: 'ok', subject, message: `works; ${since}` };
  return { mark: 'failed', subject, message: `is failing: ${reason}; ${since}` };
}

const wordsOf: Readonly<Record<Status['storage'], string>> = {
  memory: 'memory',
  sqlite: 'an SQLite file',
  postgres: 'a PostgreSQL database',
};

function configurationLine({ revision, plan, access }: Status): Line {
  const who = access === 'operator' ? 'an operator may write' : 'read-only';
  const message = `${revision}, in use since ${localTime(plan.usedAt)}; ${who}`;
  return { mark: 'ok', subject: 'configuration', message };
}

const instanceMarks: Readonly<Record<InstanceStatus['state'], Mark>> = {
  starting: 'ok',
  up: 'ok',
  failing: 'failed',
  stopping: 'warning',
  late: 'warning',
};

/**
 * An instance whose configuration differs from the one that answers either takes it soon, or
 * cannot.
 */
function instanceLine(instance: InstanceStatus, { revision }: Status, now: number): Line {
  const { id, state, reason, startedAt, toldAt, host, version, posts } = instance;
  const isOther = instance.revision !== null && instance.revision !== revision;
  const ago = toldAt === null ? 'it told nothing yet' : `told ${formatDuration(now - toldAt)} ago`;
  const why = state === 'late' ? `: ${ago}` : reason === null ? '' : `: ${reason}`;
  const { perMinute, inHand, waiting } = instance;
  const load = `${perMinute} in the last minute, ${inHand} in hand, ${waiting} waiting`;
  const where = host === null ? '' : ` on ${host}`;
  const message = [
    `${state}${why}`,
    `began ${formatDuration(Math.max(0, now - startedAt))} ago${where}`,
    `svc ${version}`,
    ...(isOther ? [`its configuration is ${instance.revision}`] : []),
    ...(posts.length === 0 ? [] : [`has ${posts.map(({ name }) => name).join(', ')}`]),
    ...(perMinute === null ? [] : [load]),
  ].join('; ');
  const mark = isOther && instanceMarks[state] === 'ok' ? 'warning' : instanceMarks[state];
  return { mark, subject: `instance ${id}`, message };
}

const channelMarks: Readonly<Record<ChannelStatus['state'], Mark>> = {
  starting: 'ok',
  up: 'ok',
  degraded: 'warning',
  unrouted: 'warning',
  failed: 'failed',
  stopped: 'warning',
};

function channelLine(channel: ChannelStatus, now: number): Line {
  const { name, state, since, reason, brain, address, instance } = channel;
  const subject = channelName(name);
  const where = instance === null ? '' : ` at instance ${instance}`;
  const lasts = since === null ? '' : ` for ${formatDuration(Math.max(0, now - since))}`;
  // A person writes it into each client.
  const at = name === completionsChannel && address !== null ? `, at ${address}` : '';
  const stands = `${state}${where}${lasts}${at}`;
  return {
    mark: channelMarks[state],
    subject: brain === null ? subject : `${subject} → ${brain}`,
    message: reason === null ? stands : `${stands}: ${reason}`,
  };
}

function backlogLines(backlog: readonly BacklogStatus[], now: number): Line[] {
  if (backlog.length === 0) {
    return [{ mark: 'ok', subject: 'backlog', message: 'nothing waits' }];
  }
  return backlog.map(({ channel, inbox, outbox, unroutable, oldestAt }) => {
    const rows = [plural(inbox, 'message'), plural(outbox, 'reply', 'replies')].join(', ');
    const oldest =
      oldestAt === null ? '' : `, the oldest for ${formatDuration(Math.max(0, now - oldestAt))}`;
    const lost = unroutable === 0 ? '' : `; ${unroutable} of a channel that is not configured`;
    const mark = unroutable === 0 ? 'ok' : 'warning';
    return {
      mark,
      subject: `backlog of ${channelName(channel)}`,
      message: `${rows}${oldest}${lost}`,
    };
  });
}

function heldLines({ held }: Status): readonly Line[] {
  if (held === null || held === 0) return [];
  const message = `${held} ${held === 1 ? 'is' : 'are'} answered by hand`;
  return [{ mark: 'warning', subject: 'conversations', message }];
}

function approvalLines({ approvals }: Status): readonly Line[] {
  if (approvals === null || approvals.waiting === 0) return [];
  const { waiting } = approvals;
  const [what, them] = waiting === 1 ? ['1 waits', 'it'] : [`${waiting} wait`, 'them'];
  const message = `${what} for a yes; svc approvals list shows ${them}`;
  return [{ mark: 'warning', subject: 'tool calls', message }];
}

function countsLine({ counts, perMinute, times }: Status): Line {
  const p95 = times.endToEnd.p95Ms;
  const within = p95 === null ? '' : `; 95 in 100 answered within ${formatDuration(p95)}`;
  const { accepted, refused, delivered } = counts;
  const message =
    `${perMinute} in the last minute, ${accepted} since the start ` +
    `(${refused} refused), ${plural(delivered, 'reply', 'replies')} delivered${within}`;
  return { mark: 'ok', subject: 'messages', message };
}

function deadLettersLine({ deadLettersKept, deadLetters }: CountsStatus): Line {
  const subject = 'dead letters';
  if (deadLettersKept + deadLetters === 0) return { mark: 'ok', subject, message: 'none' };
  const message = `${deadLettersKept} kept, ${deadLetters} since the start`;
  const hint = deadLettersKept === 0 ? '' : '; svc dead-letters list shows them';
  return { mark: deadLettersKept === 0 ? 'ok' : 'warning', subject, message: message + hint };
}
