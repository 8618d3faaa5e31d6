import { problemType } from '../../lib/problem.ts';
import { json } from '../answer.ts';
import { problemSchema } from '../status-schema.ts';
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
  const named = routes.flatMap(({ schema }) => (schema === undefined ? [] : [schema]));
  const schemas = [...named, { name: 'Problem', of: problemSchema }];
  return {
    openapi: '3.1.0',
    info: { title: 'svc admin', version },
    paths: Object.fromEntries(routes.map((route) => [route.path, { get: operationOf(route) }])),
    components: { schemas: Object.fromEntries(schemas.map(({ name, of }) => [name, of])) },
  };
}

function operationOf({ summary, contentType, statuses, schema }: Route): unknown {
  const mediaType = contentType.split(';')[0]!;
  const content = { [mediaType]: schema === undefined ? {} : { schema: refTo(schema.name) } };
  const others = Object.entries(statuses ?? {}).map(([status, description]) => [
    status,
    { description, content },
  ]);
  const problem = { schema: refTo('Problem') };
  return {
    summary,
    responses: {
      200: { description: summary, content },
      ...Object.fromEntries(others),
      default: { description: 'An error.', content: { [problemType]: problem } },
    },
  };
}

function refTo(name: string): unknown {
  return { $ref: `#/components/schemas/${name}` };
}
