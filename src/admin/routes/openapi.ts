import { problemType } from '../../lib/problem.ts';
import { eventStreamType, json, type Answer } from '../http/answer.ts';
import { problemSchema } from '../schemas/status.ts';
import {
  readRoute,
  type Body,
  type Named,
  type Parameter,
  type Problems,
  type ReadRoute,
  type Route,
} from './route.ts';

/** The description of the routes, made from the table. Format: OpenAPI 3.1.0. */
export function openApiRoute(routes: readonly Route[], version: string): Route {
  // Anybody may ask for it, and making it takes milliseconds, so it is made once.
  let answer: Answer | null = null;
  const route: ReadRoute = readRoute({
    path: '/api/v1/openapi.json',
    principal: 'reader',
    summary: 'The description of the API, in OpenAPI 3.1.',
    contentType: 'application/json',
    answer: () => (answer ??= json(200, describe([...routes, route], version))),
  });
  return route;
}

function describe(routes: readonly Route[], version: string): unknown {
  const named = routes.flatMap(schemasOf);
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

function schemasOf(route: Route): readonly Named[] {
  const body = bodyOf(route);
  const problems = Object.values(route.problems ?? {});
  return [
    ...[route.schema, route.event].filter((one) => one !== undefined),
    ...(body?.kind === 'json' ? [body.schema] : []),
    ...problems.flatMap((one) => (typeof one === 'string' ? [] : one.also)),
  ];
}

function bodyOf(route: Route): Body | undefined {
  return route.kind === 'read' ? undefined : route.body;
}

function pathItemOf(routes: readonly Route[]): unknown {
  return Object.fromEntries(
    routes.map((route) => [route.method.toLowerCase(), operationOf(route)]),
  );
}

function operationOf(route: Route): unknown {
  const { summary, contentType, schema, event = schema } = route;
  const described = (one = schema) => (one === undefined ? {} : { schema: refTo(one.name) });
  const mediaTypes = [contentType].flat().map((type) => type.split(';')[0]!);
  const content = Object.fromEntries(
    mediaTypes.map((type) => [type, described(type === eventStreamType ? event : schema)]),
  );
  const others = Object.entries(route.statuses ?? {}).map(([status, description]) => [
    status,
    { description, content },
  ]);
  const problems = Object.entries(problemsOf(route)).map(([status, one]) => [
    status,
    typeof one === 'string' ? problemOf(one) : problemOf(one.summary, one.also),
  ]);
  const body = bodyOf(route);
  return {
    summary,
    parameters: [...Object.entries(route.parameters ?? {}).map(parameterOf), ...headersOf(route)],
    ...(body !== undefined && { requestBody: requestOf(body) }),
    security: securityOf(route),
    responses: {
      ...(mediaTypes.length === 0
        ? { 204: { description: summary } }
        : { 200: { description: summary, content } }),
      ...Object.fromEntries([...others, ...problems]),
      ...signInOf(route, content),
      default: problemOf('An error.'),
    },
  };
}

/** The problems that the checks before a route may answer, and those of the route itself. */
function problemsOf(route: Route): Problems {
  const { principal, method, parameters, problems } = route;
  const malformed = parameters !== undefined || method !== 'GET';
  return {
    ...(malformed && { 400: 'What was sent is malformed, over its limit, or breaks off.' }),
    ...(principal !== 'prober' && { 401: 'The bearer is missing or wrong.' }),
    ...(principal === 'operator' && { 403: 'The service is read-only, or a foreign page asked.' }),
    ...(method !== 'GET' && { 413: 'The body is too large.' }),
    ...(bodyOf(route) !== undefined && { 415: 'The body is not said to be plain JSON in UTF-8.' }),
    ...(principal !== 'prober' && { 421: 'The host name is not known here.' }),
    ...(route.kind === 'write' && route.ifMatch !== undefined && { 428: 'If-Match is missing.' }),
    ...problems,
  };
}

/** The 401 of a page with sign-in is the sign-in page itself. */
function signInOf(route: Route, content: object): object {
  if (route.kind !== 'read' || route.signIn === undefined) return {};
  return { 401: { description: 'The bearer is missing or wrong: the place to sign in.', content } };
}

function headersOf(route: Route): readonly object[] {
  if (route.kind !== 'write' || route.ifMatch === undefined) return [];
  const schema = { type: 'string', pattern: '^"[!#-~]*"$' };
  return [{ name: 'If-Match', in: 'header', required: true, description: route.ifMatch, schema }];
}

function requestOf(body: Body): unknown {
  const { summary: description, example } = body;
  const schema = body.kind === 'json' ? refTo(body.schema.name) : {};
  // A `text` body has its example as sent, which is a JSON document.
  const shown = body.kind === 'json' ? example : JSON.parse(body.example);
  return {
    required: true,
    description: `${description} At most ${body.bytesMax} bytes.`,
    content: { 'application/json': { schema, example: shown } },
  };
}

function problemOf(description: string, also: readonly Named[] = []): unknown {
  const refs = ['Problem', ...also.map(({ name }) => name)].map(refTo);
  const schema = also.length === 0 ? refs[0] : { anyOf: refs };
  return { description, content: { [problemType]: { schema } } };
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
  switch (parameter.kind) {
    case 'integer': {
      const { min, max, otherwise } = parameter;
      return { type: 'integer', minimum: min, maximum: max, default: otherwise };
    }
    case 'time':
      return { type: 'integer', minimum: 0, maximum: 999_999_999_999_999 };
    case 'word':
      return { type: 'string', enum: parameter.words };
    case 'segment': {
      const pattern = parameter.format === 'env' ? { pattern: envPattern } : {};
      return { type: 'string', maxLength: parameter.charactersMax, ...pattern };
    }
    case 'header':
    case 'place':
    case 'text':
      return { type: 'string', maxLength: parameter.charactersMax };
    default:
      return parameter satisfies never;
  }
}

/** The minimum that `formatFault` demands of a name. */
const envPattern = '^[A-Za-z_][A-Za-z0-9_]*$';

function refTo(name: string): unknown {
  return { $ref: `#/components/schemas/${name}` };
}
