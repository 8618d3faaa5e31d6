import { failureKinds } from '../../domain/failure.ts';
import type { AdminPorts } from '../admin.ts';
import type { RetriedNow, WhichDeferred } from '../../domain/records.ts';
import { json, problem, answerWith, type Answer } from '../http/answer.ts';
import { deferredGroupsSchema, triedNowSchema } from '../schemas/story.ts';
import {
  ofChannel,
  onChannels,
  segment,
  unread,
  readRoute,
  writeRoute,
  type Parameter,
  type Route,
} from './route.ts';

type Ports = Pick<AdminPorts, 'runningConfig' | 'writes' | 'now'>;

const contentType = 'application/json';
/** How many replies one request moves. The client repeats it for more. */
const stepMax = 500;

const ofGroup = {
  channel: ofChannel,
  failure: { kind: 'word', summary: 'Only those that failed so.', words: failureKinds },
  status: {
    kind: 'integer',
    summary: 'Only those that were answered with this status; 0: with any, or none.',
    min: 0,
    max: 999,
    otherwise: 0,
  },
  before: {
    kind: 'time',
    summary:
      'Only those whose last try began before then, in milliseconds since 1970; left out: before ' +
      'now. An answer tells it, so that a request that goes on moves none of them twice.',
  },
} as const satisfies Record<string, Parameter>;

const failed = { 503: 'The storage failed.' };
const unknown =
  'No reply with this id waits for another try: it has arrived, is being tried just now, waits ' +
  'for its turn, or is not known.';

/** Replies that wait for another try: the reasons, and trying them now. */
export function deliveryRoutes(ports: Ports): Route[] {
  return [reasons(ports), tryOne(ports), tryAll(ports)];
}

function reasons({ writes }: Ports): Route {
  return readRoute({
    path: '/api/v1/deliveries/reasons',
    principal: 'reader',
    summary:
      'How many replies wait for another try, by channel and reason, most frequent first; at ' +
      'most a hundred groups.',
    contentType,
    problems: unread,
    schema: { name: 'DeferredGroups', of: deferredGroupsSchema },
    answer: async () => {
      return answerWith(deferredGroupsSchema, { rows: await writes.deferred.groups() });
    },
  });
}

function tryOne({ writes, now }: Ports): Route {
  return writeRoute({
    method: 'POST',
    path: '/api/v1/deliveries/{id}/try',
    action: 'try_delivery',
    summary:
      'Tries a waiting reply now. It keeps its place in its conversation. A try that fails ' +
      'counts as an attempt, and the same pause begins again.',
    parameters: { id: segment('The id of the reply, as the list shows it.') },
    contentType,
    problems: { ...failed, 404: unknown },
    schema: { name: 'TriedNow', of: triedNowSchema },
    answer: async ({ id }) => {
      const result = await writes.deferred.tryNow({ kind: 'one', id }, 1);
      if (result.kind === 'moved' && result.moved === 0) return problem(404, 'not_found', unknown);
      return answered(result, now());
    },
  });
}

function tryAll(ports: Ports): Route {
  const { writes, now } = ports;
  return writeRoute({
    method: 'POST',
    path: '/api/v1/deliveries/try',
    action: 'try_deliveries',
    summary:
      `Tries waiting replies now: up to ${stepMax} with one request, fewer while many are on ` +
      'their way. `more` says whether such replies still wait.',
    parameters: ofGroup,
    contentType,
    problems: failed,
    schema: { name: 'TriedNow', of: triedNowSchema },
    answer: ({ channel: named, failure, status, before }) =>
      onChannels(named, ports, async (channel) => {
        // If the client's clock is ahead, the same replies would be tried again and again.
        const began = Math.min(before ?? now(), now());
        const filter = {
          channel,
          failure,
          status: status === 0 ? null : status,
        };
        const which: WhichDeferred = { kind: 'all', filter, before: began };
        const answer = answered(await writes.deferred.tryNow(which, stepMax), began);
        return { ...answer, auditDetails: namesIn({ channel, failure }) };
      }),
  });
}

/** The filters of the query, for the audit. */
function namesIn(given: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}

function answered(result: RetriedNow, before: number): Answer {
  switch (result.kind) {
    case 'moved':
      return json(200, { moved: result.moved, more: result.more, before });
    case 'storage_failed':
      return problem(503, result.kind, 'The storage failed; the log says how.');
    default:
      return result satisfies never;
  }
}
