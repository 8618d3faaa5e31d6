import type { AdminPorts } from '../admin.ts';
import { json } from '../http/answer.ts';
import { healthSchema } from '../schemas/status.ts';
import { readRoute, type Route } from './route.ts';

/**
 * Alive and able to work: 200. A channel that is down is told, and is no reason for a 503. It is of
 * this instance alone: who asks it sends messages here, or elsewhere.
 */
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
      const { status } = health;
      return json(status === 'ok' ? 200 : 503, {
        status,
        ...(status === 'failing' ? { reason: health.reason } : {}),
        version: ports.version,
        uptimeMs: Math.max(0, ports.now() - ports.startedAt),
        channels: ports
          .plan()
          .channels.filter(({ isHeld }) => isHeld)
          .map(({ type, state }) => ({ type, state })),
      });
    },
  });
}
