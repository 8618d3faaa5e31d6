import { json } from '../answer.ts';
import type { Route } from './route.ts';

/** The description of the routes, made from them. Format: OpenAPI 3.1.0. */
export function openApiRoute(routes: readonly Route[], version: string): Route {
  const route: Route = {
    path: '/api/v1/openapi.json',
    principal: 'reader',
    summary: 'This description.',
    contentType: 'application/json',
    answer: () => json(200, describe([...routes, route], version)),
  };
  return route;
}

function describe(routes: readonly Route[], version: string): unknown {
  const paths = routes.map(({ path, summary, contentType, statuses }) => {
    const mediaType = contentType.split(';')[0]!;
    const others = Object.entries(statuses ?? {}).map(([status, description]) => [
      status,
      { description, content: { [mediaType]: {} } },
    ]);
    const responses = {
      200: { description: summary, content: { [mediaType]: {} } },
      ...Object.fromEntries(others),
    };
    return [path, { get: { summary, responses } }];
  });
  return {
    openapi: '3.1.0',
    info: { title: 'svc admin', version },
    paths: Object.fromEntries(paths),
  };
}
