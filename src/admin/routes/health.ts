import type { AdminPorts } from '../admin.ts';
import {
  json,
  eventStreamType as contentType,
  problem,
  unbuffered,
  answerWith,
} from '../http/answer.ts';
import { healthSchema, modelProbeSchema, modelNameSchema } from '../schemas/status.ts';
import { readRoute, askRoute, type Route } from './route.ts';
import { liveEventSchema } from '../schemas/live-event.ts';
import { listenersMax, readersMax, type LiveListeners } from '../http/live.ts';

/**
 * Answers 200 if svc is alive and able to work. A channel that is down is listed, but is no reason
 * for a 503. It is about this process alone, since a load balancer decides by it.
 */
export function healthRoute(ports: AdminPorts): Route {
  return readRoute({
    path: '/healthz',
    principal: 'prober',
    summary: '200 while svc can work. 503 with the reason if it cannot, or stops.',
    contentType: 'application/json',
    schema: { name: 'Health', of: healthSchema },
    statuses: { 503: 'It cannot work; the body says why.' },
    answer: () => {
      const health = ports.health();
      const { status } = health;
      return json(status === 'ok' ? 200 : 503, {
        status,
        ...(status === 'failing' ? { reason: health.reason } : {}),
        version: ports.version,
        uptimeMs: Math.max(0, ports.now() - ports.startedAt),
        channels: ports
          .runningConfig()
          .channels.filter(({ isHeld }) => isHeld)
          .map(({ type, state }) => ({ type, state })),
      });
    },
  });
}

/** The stream of live events, which have only ids, states, codes and times. */
export function eventsRoute(live: LiveListeners): Route {
  return readRoute({
    path: '/api/v1/events',
    principal: 'reader',
    summary: 'A stream of events as they happen. Each event is a Frame.',
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

export function modelRoutes({ models }: Pick<AdminPorts, 'models'>): Route[] {
  return [
    askRoute({
      path: '/api/v1/models/look',
      summary: 'Whether a model of the configuration in use is there. It gets no message.',
      contentType: 'application/json',
      body: {
        kind: 'json',
        summary: 'The name of the model: its provider and its id, with a slash between.',
        bytesMax: 4_096,
        example: { model: 'local_runtime/llama3.2' },
        schema: { name: 'ModelNamed', of: modelNameSchema },
      },
      problems: { 404: 'No brain may ask such a model.', 429: 'Four are under way.' },
      schema: { name: 'ModelLook', of: modelProbeSchema },
      answer: async (_values, { body }) => {
        const probed = await models.probe(body.model);
        switch (probed.kind) {
          case 'looked':
            return answerWith(modelProbeSchema, probed.probe);
          case 'none':
            return problem(404, 'not_found', 'No brain of the configuration may ask such a model.');
          case 'busy':
            return problem(429, 'busy', 'Four are looked at already; ask again in a moment.', {
              'retry-after': '2',
            });
          default:
            return probed satisfies never;
        }
      },
    }),
  ];
}
