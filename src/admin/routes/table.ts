import type { AdminPorts } from '../admin.ts';
import { json } from '../answer.ts';
import { expositionType } from '../exposition.ts';
import type { MetricsPage } from '../metrics.ts';
import { statusOf } from '../status.ts';
import { statusSchema } from '../status-schema.ts';
import { agentRoutes } from './agents.ts';
import { configRoutes } from './config.ts';
import { conversationRoutes } from './conversations.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { gateRoutes } from './gate.ts';
import { healthRoute } from './health.ts';
import { RouteTable } from './match.ts';
import { messageRoutes } from './messages.ts';
import { openApiRoute } from './openapi.ts';
import { pageRoutes, type Pages } from './pages.ts';
import { questionRoutes } from './questions.ts';
import { readRoute, type Route } from './route.ts';

/** Every path of the admin server, its methods, and who may use them. */
export function routesOf(ports: AdminPorts, metrics: MetricsPage, pages: Pages): RouteTable {
  const routes: readonly Route[] = [
    healthRoute(ports),
    metricsRoute(metrics),
    statusRoute(ports),
    ...messageRoutes(ports),
    ...deadLetterRoutes(ports),
    ...conversationRoutes(ports),
    ...gateRoutes(ports),
    ...agentRoutes(ports),
    ...configRoutes(ports),
    ...questionRoutes(ports),
    ...pageRoutes(pages),
  ];
  return new RouteTable([...routes, openApiRoute(routes, ports.version)]);
}

function metricsRoute(metrics: MetricsPage): Route {
  return readRoute({
    path: '/metrics',
    principal: 'prober',
    summary: 'Metrics in the Prometheus text format.',
    contentType: expositionType,
    answer: async () => ({
      status: 200,
      contentType: expositionType,
      body: await metrics.text(),
    }),
  });
}

function statusRoute(ports: AdminPorts): Route {
  return readRoute({
    path: '/api/v1/status',
    principal: 'reader',
    summary: 'States, times and counts of the service.',
    contentType: 'application/json',
    schema: { name: 'Status', of: statusSchema },
    answer: () => json(200, statusOf(ports)),
  });
}
