/** Reads the API's own description: its operations, and whether an answer matches it. */
import assert from 'node:assert/strict';

export type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  items?: Schema;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
};
export type Parameter = { name: string; in: string; required: boolean; schema: Schema };
type Content = Record<string, { schema?: Schema }>;
export type Operation = {
  path: string;
  method: string;
  security: object[];
  parameters: Parameter[];
  requestBody?: { content: Record<string, { schema?: Schema; example: unknown }> };
  responses: Record<string, { content?: Content }>;
};
export type OpenApi = {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; securitySchemes: object };
};

export function operationsOf({ paths }: OpenApi): readonly Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
    })),
  );
}

/**
 * Whether the description has that method at that path. If several templates match, one with the
 * method is enough, since a conversation's id may be the name of a move.
 */
export function isTaken({ paths }: OpenApi, path: string, method: string): boolean {
  const segments = path.split('/');
  return Object.entries(paths).some(([place, methods]) => {
    const theirs = place.split('/');
    const fits = theirs.every((one, at) => one.startsWith('{') || one === segments[at]);
    return theirs.length === segments.length && fits && method.toLowerCase() in methods;
  });
}

/** The status of a successful operation. */
export const doneOf = ({ responses }: Operation): number => ('204' in responses ? 204 : 200);

/** The header lines and the body that the operation needs. @param revision for If-Match */
export function requestOf(
  { parameters, requestBody }: Operation,
  revision: string,
): { readonly head: readonly string[]; readonly body: string } {
  const wantsMatch = parameters.some(({ name }) => name === 'If-Match');
  const match = wantsMatch ? [`If-Match: "${revision}"`] : [];
  const content = requestBody?.content['application/json'];
  if (content === undefined) return { head: match, body: '' };
  const body = JSON.stringify(content.example);
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  return { head: [...match, 'Content-Type: application/json', length], body };
}

/** Asserts that the status, the content type and the form of a JSON body match the description. */
export function assertDescribed(
  api: OpenApi,
  { path, method, responses }: Operation,
  answer: { readonly status: number; readonly headers: Headers; readonly body: string },
): void {
  const where = `${method} ${path} ${answer.status}`;
  const type = answer.headers.get('content-type');
  const told = responses[answer.status];
  if (told !== undefined && told.content === undefined) {
    assert.deepEqual([type, answer.body], [null, ''], `${where} has no body`);
    return;
  }
  const mediaType = (type ?? '').split(';')[0]!;
  const described = told?.content?.[mediaType];
  assert.ok(described !== undefined, `${where} (${mediaType}) is not described`);
  const { schema } = described;
  if (schema === undefined) return;
  const values =
    mediaType === 'text/event-stream'
      ? [...answer.body.matchAll(/^data: (.*)$/gm)].map(([, data]) => data!)
      : [answer.body];
  for (const value of values) assert.equal(faultOf(api, schema, JSON.parse(value), where), null);
}

/** Where and how a value breaks the schema; null: it does not. An unknown property is a fault. */
function faultOf(api: OpenApi, schema: Schema, value: unknown, where: string): string | null {
  if (schema.$ref !== undefined) {
    const named = api.components.schemas[schema.$ref.replace('#/components/schemas/', '')];
    return named === undefined ? `${schema.$ref} is missing` : faultOf(api, named, value, where);
  }
  if (schema.oneOf !== undefined) {
    const fitting = schema.oneOf.filter((one) => faultOf(api, one, value, where) === null);
    return fitting.length === 1 ? null : `${where} fits ${fitting.length} kinds`;
  }
  if (schema.anyOf !== undefined) {
    const faults = schema.anyOf.map((one) => faultOf(api, one, value, where));
    return faults.includes(null) ? null : faults.join('; ');
  }
  const types = [schema.type].flat();
  assert.ok(types[0] !== undefined, `${where} has a type`);
  if (!types.includes(typeOf(value)) && !(types.includes('number') && Number.isInteger(value))) {
    return `${where} is ${typeOf(value)}, not ${types.join(' or ')}`;
  }
  if (schema.enum !== undefined && !schema.enum.includes(value)) return `${where} is no such value`;
  if (value === null) return null;
  if (Array.isArray(value)) {
    return first(value.map((item) => faultOf(api, schema.items!, item, `${where}[]`)));
  }
  if (typeof value !== 'object') return null;
  const properties = schema.properties ?? {};
  const names = new Set([...Object.keys(properties), ...Object.keys(value)]);
  return first(
    [...names].map((name) => {
      const inner = properties[name] ?? schema.additionalProperties;
      if (inner === undefined) return `${where}.${name} is not described`;
      if (!Object.hasOwn(value, name)) return `${where}.${name} is missing`;
      return faultOf(api, inner, (value as Record<string, unknown>)[name], `${where}.${name}`);
    }),
  );
}

function first(faults: readonly (string | null)[]): string | null {
  return faults.find((fault) => fault !== null) ?? null;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}
