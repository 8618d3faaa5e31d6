/**
 * Random requests for one operation of the API, made only from its description and from the
 * service's earlier answers.
 */
import {
  array,
  boolean,
  constant,
  constantFrom,
  double,
  integer,
  jsonValue,
  oneof,
  record,
  string,
  tuple,
  type Arbitrary,
} from 'fast-check';
import type { OpenApi, Operation, Parameter, Schema } from './open-api.ts';

export type Bearer = 'right' | 'wrong' | 'twice' | 'none';

/** Whether the value matches its description; null: the description alone cannot say. */
type Fits = boolean | null;

export type Fuzzed = {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: FuzzedBody | null;
  readonly bearer: Bearer;
  /** Whether all values of the path and the query match. */
  readonly fits: Fits;
};

export type FuzzedBody = {
  readonly contentType: string | null;
  readonly bytes: Buffer;
  readonly fits: Fits;
};

/** Texts of the service's earlier answers, by field name. */
export type Known = ReadonlyMap<string, ReadonlySet<string>>;

const bearers = oneof(
  { weight: 3, arbitrary: constant<Bearer>('right') },
  { weight: 1, arbitrary: constantFrom<Bearer>('wrong', 'twice', 'none') },
);

export function requestsFor(api: OpenApi, operation: Operation, known: Known): Arbitrary<Fuzzed> {
  const { parameters, requestBody } = operation;
  const values = tuple(...parameters.map((parameter) => valuesFor(parameter, known)));
  const content = requestBody?.content['application/json'];
  const bodies = content === undefined ? constant(null) : bodiesFor(api, content, known);
  return record({ values, body: bodies, bearer: bearers }).map((one) => ({
    method: operation.method,
    ...placed(operation, one.values),
    body: one.body,
    bearer: one.bearer,
  }));
}

/** An encoded value; null: left out. */
type Given = { readonly value: string | null; readonly fits: Fits };

function placed({ path, parameters }: Operation, given: readonly Given[]) {
  let filled = path;
  const query: string[] = [];
  const headers: Record<string, string> = {};
  for (const [at, { name, in: place }] of parameters.entries()) {
    const { value } = given[at]!;
    if (value === null) continue;
    if (place === 'path') filled = filled.replace(`{${name}}`, () => value);
    else if (place === 'query') query.push(`${name}=${value}`);
    else headers[name] = value;
  }
  const all = new Set(given.map(({ fits }) => fits));
  return {
    target: query.length === 0 ? filled : `${filled}?${query.join('&')}`,
    headers,
    fits: all.has(false) ? false : !all.has(null) || null,
  };
}

function valuesFor(parameter: Parameter, known: Known): Arbitrary<Given> {
  const { name, in: place, required, schema } = parameter;
  if (place === 'header') return tagsFor([...(known.get('revision') ?? [])]);
  const left = required ? [] : [constant<Given>({ value: null, fits: true })];
  const broken = constantFrom('%', '%zz', '%ff', '%c0%af', '%ed%a0%80', 'a%2');
  const malformed = broken.map((value): Given => ({ value, fits: false }));
  const right = oneof(...left, ...fitting(schema, [...(known.get(name) ?? [])]));
  return oneof(
    { weight: 8, arbitrary: right },
    { weight: 1, arbitrary: oneof(malformed, ...misfitting(schema)) },
  );
}

const odd = ['.', '..', '\0', '__proto__', "' OR 1=1 --", '\u202E', '🦜', ' ', '+', '/?#', '*'];

/** The service may refuse the content of a text that it never sent itself. */
function fitting(schema: Schema, told: readonly string[]): readonly Arbitrary<Given>[] {
  const { type, enum: words, minimum = 0, maximum = 2 ** 31, maxLength = 1_024 } = schema;
  if (words !== undefined) return [constantFrom(...words.map(String)).map(sent(true))];
  if (type === 'integer') {
    const max = Math.min(maximum, 2 ** 31 - 1);
    return [integer({ min: minimum, max }).map(String).map(sent(true))];
  }
  const any = string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
  const long = constant('x'.repeat(Math.min(maxLength, 6_000)));
  const texts = oneof(any, constantFrom(...odd), long).filter((text) => text.length <= maxLength);
  const untold = texts.map(sent(null));
  if (told.length === 0) return [untold];
  const right = constantFrom(...told).map(sent(true));
  return [untold, right, right, right];
}

function misfitting({ type, enum: words, minimum, maximum, maxLength }: Schema) {
  if (words !== undefined) return [constantFrom('', 'other', '__proto__').map(sent(false))];
  if (type === 'integer') {
    const under = minimum === undefined ? -1 : minimum - 1;
    const beyond = maximum === undefined ? [] : [String(maximum + 1)];
    const texts = ['', ' 1', '1.5', '1e2', '0x1', '+1', 'NaN', '٣', '9'.repeat(30), `${under}`];
    return [constantFrom(...texts, ...beyond).map(sent(false))];
  }
  // A head has 16 KiB.
  if (maxLength === undefined || maxLength > 12_000) return [];
  return [constant('x'.repeat(maxLength + 1)).map(sent(false))];
}

function sent(fits: Fits): (text: string) => Given {
  return (text) => ({ value: encodeURIComponent(text), fits });
}

/** Values of If-Match. An earlier random text may look like a revision here. */
function tagsFor(told: readonly string[]): Arbitrary<Given> {
  const revisions = told.filter((one) => /^[!#-~]+$/.test(one));
  const right = revisions.map((one) => `"${one}"`);
  const other = ['', '*', '""', '"0"', 'W/"1"', '"a", "b"', '"', 'x'.repeat(2_000), null];
  const values: (string | null)[] = [...right, ...right, ...right, ...revisions, ...other];
  return constantFrom(...values).map((value) => ({ value, fits: null }));
}

type Content = NonNullable<Operation['requestBody']>['content'][string];

const json = 'application/json';
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** A schema without a type belongs to a body whose text counts: a configuration. */
function bodiesFor(api: OpenApi, { schema = {}, example }: Content, known: Known) {
  const isText = Object.keys(schema).length === 0;
  const documents = [...(known.get('text') ?? [])].filter((text) => text.startsWith('{'));
  const right = isText
    ? constantFrom(...documents.map((text) => Buffer.from(text)), bytesOf(example))
    : constant(bytesOf(example));
  const described = isText ? right : bodyOf(api, schema).map(bytesOf);
  const halves = right.map((bytes) => bytes.subarray(0, bytes.length / 2));
  const broken = constantFrom('', '{', '[', '{"a":', '\0').map((text) => Buffer.from(text));
  const asJson = (fits: Fits) => (bytes: Buffer) => ({ contentType: json, bytes, fits });
  const otherTypes = constantFrom('text/plain', `${json}x`, `${json}; charset=latin1`, null);
  return oneof<Arbitrary<FuzzedBody>[]>(
    right.map(asJson(isText ? null : true)),
    right.map((bytes) => ({ contentType: `${json}; charset=utf-8`, bytes, fits: null })),
    described.map(asJson(null)),
    jsonValue().map(bytesOf).map(asJson(null)),
    oneof(halves, broken).map(asJson(isText ? null : false)),
    constant(Buffer.from([0x22, 0xff, 0x22])).map(asJson(false)),
    tuple(right, otherTypes).map(([bytes, contentType]) => ({ contentType, bytes, fits: false })),
  );
}

/** Any value that the schema allows. */
function bodyOf(api: OpenApi, schema: Schema): Arbitrary<unknown> {
  const { $ref, oneOf, anyOf, type, enum: words, items = {}, properties = {} } = schema;
  if ($ref !== undefined) {
    return bodyOf(api, api.components.schemas[$ref.replace('#/components/schemas/', '')]!);
  }
  if (words !== undefined) return constantFrom(...words);
  const kinds = oneOf ?? anyOf;
  if (kinds !== undefined) return oneof(...kinds.map((one) => bodyOf(api, one)));
  const inner = Object.entries(properties).map(([key, one]) => [key, bodyOf(api, one)] as const);
  const requiredKeys = (schema.required ?? []) as never[];
  const byType: Readonly<Record<string, () => Arbitrary<unknown>>> = {
    null: () => constant(null),
    string: () => string({ unit: 'grapheme', maxLength: 60 }),
    integer: () => integer(),
    number: () => double({ noNaN: true, noDefaultInfinity: true }),
    boolean: () => boolean(),
    array: () => array(bodyOf(api, items), { maxLength: 5 }),
    object: () => record(Object.fromEntries(inner), { requiredKeys }),
  };
  return oneof(...[type].flat().map((one) => (byType[one ?? ''] ?? jsonValue)()));
}
