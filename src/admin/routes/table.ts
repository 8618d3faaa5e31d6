import type { AdminPorts } from '../admin.ts';
import { json } from '../answer.ts';
import { expositionType } from '../exposition.ts';
import type { MetricsPage } from '../metrics.ts';
import { statusOf } from '../status.ts';
import { statusSchema } from '../status-schema.ts';
import { healthRoute } from './health.ts';
import { livePageRoutes } from './live-page.ts';
import { openApiRoute } from './openapi.ts';
import type { Route } from './route.ts';

/** Every path of the admin server, and who may ask for it. */
export function routesOf(
  ports: AdminPorts,
  metrics: MetricsPage,
  webRoot: string,
): ReadonlyMap<string, Route> {
  const routes: Route[] = [
    healthRoute(ports),
    {
      path: '/metrics',
      principal: 'prober',
      summary: 'Metrics in the Prometheus text format.',
      contentType: expositionType,
      answer: async () => ({
        status: 200,
        contentType: expositionType,
        body: await metrics.text(),
      }),
    },
    {
      path: '/api/v1/status',
      principal: 'reader',
      summary: 'States, times and counts of the service.',
      contentType: 'application/json',
      schema: { name: 'Status', of: statusSchema },
      answer: () => json(200, statusOf(ports)),
    },
    ...livePageRoutes(webRoot),
  ];
  routes.push(openApiRoute(routes, ports.version));
  return new Map(routes.map((route) => [route.path, route]));
}
