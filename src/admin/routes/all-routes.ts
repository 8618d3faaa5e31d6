import type { Access, AdminPorts } from '../admin.ts';
import { expositionType } from '../../telemetry/prometheus/exposition.ts';
import type { OperatorAccess } from '../http/auth.ts';
import type { LiveListeners } from '../http/live.ts';
import type { MetricsPage } from '../metrics/metrics.ts';
import { applicationRoutes } from './application.ts';
import { agentRoutes } from './agents.ts';
import { approvalRoutes } from './approvals.ts';
import { configRoutes } from './config.ts';
import { conversationRoutes } from './conversations.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { deliveryRoutes } from './deliveries.ts';
import { figuresRoute, spendRoutes } from './spend.ts';
import { gateRoutes } from './gate.ts';
import { healthRoute, eventsRoute, modelRoutes } from './health.ts';
import { takeoverRoutes } from './takeovers.ts';
import { RouteTable } from './match.ts';
import { messageRoutes, searchRoutes } from './messages.ts';
import { openApiRoute } from './openapi.ts';
import { runningConfigRoutes } from './running-config.ts';
import { pageRoutes } from './pages.ts';
import { recordRoutes } from './records.ts';
import { secretRoutes } from './secrets.ts';
import { trialRoutes } from './trials.ts';
import { readRoute, type Route } from './route.ts';

export type TableParts = {
  readonly metrics: MetricsPage;
  readonly live: LiveListeners;
  readonly access: OperatorAccess['kind'];
  /** The folder of the pages. */
  readonly webRoot: string;
};

/** Every path of the admin server, its methods, and who may use them. */
export function routesOf(ports: AdminPorts, parts: TableParts): RouteTable {
  const access: Access = parts.access === 'none' ? 'read_only' : 'operator';
  const routes: readonly Route[] = [
    healthRoute(ports),
    metricsRoute(parts.metrics),
    ...runningConfigRoutes(ports, access),
    eventsRoute(parts.live),
    ...messageRoutes(ports),
    ...recordRoutes(ports),
    figuresRoute(ports),
    ...spendRoutes(ports),
    ...searchRoutes(ports),
    ...deliveryRoutes(ports),
    ...deadLetterRoutes(ports),
    ...conversationRoutes(ports),
    ...takeoverRoutes(ports),
    ...approvalRoutes(ports),
    ...gateRoutes(ports),
    ...agentRoutes(ports),
    ...configRoutes(ports),
    ...trialRoutes(ports),
    ...modelRoutes(ports),
    ...secretRoutes(ports),
    ...applicationRoutes(ports.application, access),
    ...pageRoutes({ folder: parts.webRoot, builder: access === 'operator' }),
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
      body: await metrics.whole(),
    }),
  });
}
