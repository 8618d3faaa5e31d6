import type { AdminPorts } from '../admin.ts';
import { json } from '../http/answer.ts';
import { healthSchema } from '../schemas/status.ts';
import { readRoute, type Route } from './route.ts';

/** Alive and able to work: 200. A channel that is down is told, and is no reason for a 503. */
export function healthRoute(ports: AdminPorts): Route {
  return readRoute({
    path: '/healthz',
    principal: 'prober',
    summary: 'Whether the service can work.',
    contentType: 'application/json',
    schema: { name: 'Health', of: healthSchema },
    statuses: { 503: 'It cannot work; the body says why.' },
    answer: () => {
      const health = ports.health();
      return json(health.status === 'ok' ? 200 : 503, {
        ...health,
        version: ports.version,
        uptimeMs: Math.max(0, ports.now() - ports.startedAt),
        channels: ports.plan().channels.map(({ type, state }) => ({ type, state })),
      });
    },
  });
}
