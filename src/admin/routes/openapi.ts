import { problemType } from '../../lib/problem.ts';
import { json } from '../answer.ts';
import { problemSchema } from '../status-schema.ts';
import { readRoute } from './route.ts';
import type { Parameter, ReadRoute, Route } from './route.ts';

/** The description of the routes, made from them. Format: OpenAPI 3.1.0. */
export function openApiRoute(routes: readonly Route[], version: string): Route {
  const route: ReadRoute = readRoute({
    path: '/api/v1/openapi.json',
    principal: 'reader',
    summary: 'This description.',
    contentType: 'application/json',
    answer: () => json(200, describe([...routes, route], version)),
  });
  return route;
}

function describe(routes: readonly Route[], version: string): unknown {
  const named = routes.flatMap(({ schema }) => (schema === undefined ? [] : [schema]));
  const schemas = [...named, { name: 'Problem', of: problemSchema }];
  const byPath = Map.groupBy(routes, ({ path }) => path);
  return {
    openapi: '3.1.0',
    info: { title: 'svc admin', version },
    paths: Object.fromEntries([...byPath].map(([path, those]) => [path, pathItemOf(those)])),
    components: {
      schemas: Object.fromEntries(schemas.map(({ name, of }) => [name, of])),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function pathItemOf(routes: readonly Route[]): unknown {
  return Object.fromEntries(
    routes.map((route) => [route.method.toLowerCase(), operationOf(route)]),
  );
}

function operationOf(route: Route): unknown {
  const { summary, contentType, schema } = route;
  const mediaType = contentType.split(';')[0]!;
  const content = { [mediaType]: schema === undefined ? {} : { schema: refTo(schema.name) } };
  const others = Object.entries(route.statuses ?? {}).map(([status, description]) => [
    status,
    { description, content },
  ]);
  const problems = Object.entries(problemsOf(route)).map(([status, description]) => [
    status,
    problemOf(description),
  ]);
  return {
    summary,
    parameters: Object.entries(route.parameters ?? {}).map(parameterOf),
    security: securityOf(route),
    responses: {
      200: { description: summary, content },
      ...Object.fromEntries([...others, ...problems]),
      default: problemOf('An error.'),
    },
  };
}

/** What the checks before a route may answer, and what it answers itself. */
function problemsOf({ principal, method, parameters, problems }: Route): object {
  return {
    ...(parameters !== undefined && { 400: 'A parameter is malformed or over its limit.' }),
    ...(principal !== 'prober' && { 401: 'The bearer is missing or wrong.' }),
    ...(principal === 'operator' && { 403: 'The service is read-only, or a foreign page asked.' }),
    ...(method !== 'GET' && { 413: 'The body is too large.' }),
    ...(principal !== 'prober' && { 421: 'The host name is not known here.' }),
    ...problems,
  };
}

function problemOf(description: string): unknown {
  return { description, content: { [problemType]: { schema: refTo('Problem') } } };
}

/** A reader may come without a bearer, but not with a wrong one. */
function securityOf({ principal }: Route): readonly object[] {
  switch (principal) {
    case 'prober':
      return [];
    case 'reader':
      return [{}, { bearer: [] }];
    case 'operator':
      return [{ bearer: [] }];
    default:
      return principal satisfies never;
  }
}

function parameterOf([name, parameter]: [string, Parameter]): unknown {
  const { kind, summary } = parameter;
  const inPath = kind === 'segment';
  return {
    name,
    in: inPath ? 'path' : kind === 'header' ? 'header' : 'query',
    required: inPath,
    description: summary,
    schema: schemaOf(parameter),
  };
}

function schemaOf(parameter: Parameter): unknown {
  if (parameter.kind !== 'integer') {
    return { type: 'string', maxLength: parameter.charactersMax };
  }
  const { min, max, otherwise } = parameter;
  return { type: 'integer', minimum: min, maximum: max, default: otherwise };
}

function refTo(name: string): unknown {
  return { $ref: `#/components/schemas/${name}` };
}
