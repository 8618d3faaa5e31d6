/**
 * A schema of arguments as one object. JSON Schema lets a server write `anyOf`, `oneOf`, `allOf`,
 * `not`, `if` or `$ref` at its top. Providers refuse that, and with it the whole request
 * (langchainjs#9804, python-sdk#494 of MCP, claude-code#95504). The server itself still checks the
 * arguments by the schema that it wrote.
 */

type Schema = Readonly<Record<string, unknown>>;

type Flat = {
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: ReadonlySet<string>;
  /** Which arguments go together, a sentence each. */
  readonly choices: readonly string[];
};

/** What a provider refuses at the top, or what no longer holds there once it is flat. */
const topKeys = new Set(
  (
    '$ref $dynamicRef allOf anyOf oneOf not if then else enum const dependencies ' +
    'dependentRequired dependentSchemas unevaluatedProperties'
  ).split(' '),
);
/** So that references to references do not grow without end. */
const partsMax = 256;
const choicesMax = 8;
const nothing: Flat = { properties: new Map(), required: new Set(), choices: [] };

/** @returns the schema itself where it is one object already */
export function flatSchema(schema: Schema): Schema {
  if (!Object.keys(schema).some((key) => topKeys.has(key))) return schema;
  const { properties, required, choices } = new Flattening(schema).flat(schema);
  const kept = Object.entries(schema).filter(
    ([key]) => !topKeys.has(key) && key !== 'additionalProperties',
  );
  const { description, ...rest } = Object.fromEntries(kept);
  const words = [...(typeof description === 'string' ? [description] : []), ...choices];
  return {
    ...rest,
    ...(words.length > 0 && { description: words.slice(0, choicesMax).join(' ') }),
    type: 'object',
    properties: Object.fromEntries(properties),
    required: [...required],
  };
}

class Flattening {
  readonly #root: Schema;
  #parts = 0;

  constructor(root: Schema) {
    this.#root = root;
  }

  flat(schema: unknown): Flat {
    if (!isSchema(schema) || ++this.#parts > partsMax) return nothing;
    const { properties, required, $ref, allOf, dependentSchemas } = schema;
    const own: Flat = {
      properties: new Map(isSchema(properties) ? Object.entries(properties) : []),
      required: new Set(listOf(required).filter((name) => typeof name === 'string')),
      choices: [],
    };
    const all = [own, this.flat(this.#at($ref)), ...listOf(allOf).map((part) => this.flat(part))];
    for (const key of ['anyOf', 'oneOf']) {
      const branches = listOf(schema[key]).map((part) => this.flat(part));
      if (branches.length > 0) all.push(oneOf(branches));
    }
    // What depends on other arguments may be given, and need not be.
    const dependent = isSchema(dependentSchemas) ? Object.values(dependentSchemas) : [];
    for (const part of [schema['then'], schema['else'], ...dependent]) {
      all.push({ ...this.flat(part), required: new Set() });
    }
    return all.reduce(both);
  }

  /** Only what stands in the schema itself is found. */
  #at(ref: unknown): unknown {
    if (typeof ref !== 'string' || !ref.startsWith('#/')) return undefined;
    let found: unknown = this.#root;
    for (const part of ref.slice(2).split('/')) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      found = isSchema(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    }
    return found;
  }
}

/** Both hold. */
function both(one: Flat, other: Flat): Flat {
  const properties = new Map(one.properties);
  for (const [name, schema] of other.properties) {
    const before = properties.get(name);
    const isNarrowed = isSchema(before) && isSchema(schema);
    properties.set(name, isNarrowed ? { ...before, ...schema } : (before ?? schema));
  }
  const required = new Set([...one.required, ...other.required]);
  return { properties, required, choices: [...one.choices, ...other.choices] };
}

/** One of them holds: what all require is required, and the rest is told in words. */
function oneOf(branches: readonly Flat[]): Flat {
  const found = new Map<string, unknown[]>();
  for (const { properties } of branches) {
    for (const [name, schema] of properties) found.set(name, [...(found.get(name) ?? []), schema]);
  }
  const properties = new Map(Array.from(found, ([name, all]) => [name, anyOf(all)] as const));
  const required = new Set(
    [...branches[0]!.required].filter((name) => branches.every((one) => one.required.has(name))),
  );
  const choices = branches.flatMap((one) => one.choices);
  const ways = new Set(branches.map((one) => wayOf(one, required)));
  ways.delete('');
  if (ways.size > 1) choices.push(`Give either ${[...ways].slice(0, choicesMax).join(', or ')}.`);
  return { properties, required, choices };
}

/** What a branch wants beside what all want: `kind "file" with path`. */
function wayOf({ properties, required }: Flat, common: ReadonlySet<string>): string {
  const fixed = Array.from(properties, ([name, schema]) => {
    const value = isSchema(schema) ? schema['const'] : undefined;
    return value === undefined ? '' : `${name} ${JSON.stringify(value)}`;
  }).filter((one) => one !== '');
  const isFixed = (name: string): boolean => {
    const schema = properties.get(name);
    return isSchema(schema) && schema['const'] !== undefined;
  };
  const wanted = [...required].filter((name) => !common.has(name) && !isFixed(name));
  return [fixed.join(' and '), wanted.join(' and ')].filter((one) => one !== '').join(' with ');
}

/** One schema for an argument that several branches have. */
function anyOf(schemas: readonly unknown[]): unknown {
  const different = [...new Map(schemas.map((one) => [JSON.stringify(one), one])).values()];
  if (different.length === 1) return different[0];
  const values = different.map(valuesOf);
  if (values.some((one) => one === null)) return { anyOf: different };
  const { const: _, ...first } = different[0] as Schema;
  return { ...first, enum: [...new Set(values.flatMap((one) => one ?? []))] };
}

function valuesOf(schema: unknown): readonly unknown[] | null {
  if (!isSchema(schema)) return null;
  if (schema['const'] !== undefined) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : null;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
