import { eventStreamType as contentType, problem, unbuffered } from '../http/answer.ts';
import { liveEventSchema } from '../schemas/live-event.ts';
import { listenersMax, readersMax, type LiveListeners } from '../http/live.ts';
import { readRoute, type Route } from './route.ts';

/** What happens, as it happens; frames hold ids, states, codes and times alone. */
export function eventsRoute(live: LiveListeners): Route {
  return readRoute({
    path: '/api/v1/events',
    principal: 'reader',
    summary: 'What happens, as it happens: a stream without an end, each event a Frame.',
    parameters: {
      'last-event-id': {
        kind: 'header',
        summary: 'The id of the last event that came: the stream goes on behind it.',
        charactersMax: 64,
      },
    },
    contentType,
    schema: { name: 'Frame', of: liveEventSchema },
    problems: { 503: `${listenersMax} listen already, or ${readersMax} without the bearer.` },
    answer: ({ 'last-event-id': lastId }, { asker }) => {
      if (live.isFull(asker)) {
        const detail =
          asker === 'operator'
            ? `${listenersMax} listen already; close one of them.`
            : `${readersMax} listen without the bearer already; bring it, or close one of them.`;
        return problem(503, 'too_many_clients', detail, { 'retry-after': '15' });
      }
      return {
        status: 200,
        contentType,
        headers: unbuffered,
        body: live.stream(lastId === '' ? null : lastId, asker),
      };
    },
  });
}
