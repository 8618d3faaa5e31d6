/**
 * JSON Schemas (2020-12) of the API's answers. `Described` turns a schema into the type of its
 * values, so the compiler keeps each schema and its TypeScript type equal. The service writes with
 * `only`; its client reads with `read`.
 */
import { isObject } from '../../lib/json.ts';
declare const brand: unique symbol;
declare const absent: unique symbol;
/** The key of the name of a property whose value counts for one that is left out. */
const fallback: unique symbol = Symbol('fallback');

export type Schema =
  | {
      readonly type: string | readonly [string, 'null'];
      readonly enum?: readonly (string | null)[];
      readonly items?: Schema;
      readonly properties?: Readonly<Record<string, Schema>>;
      readonly required?: readonly string[];
      readonly additionalProperties?: Schema;
      readonly [fallback]?: string;
    }
  | { readonly oneOf: readonly Schema[] };

/** The type of the values that a schema allows. */
export type Described<S> = S extends { readonly oneOf: readonly (infer Kind)[] }
  ? Described<Kind>
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly type: readonly [infer Type extends keyof Shapes<S>, 'null'] }
      ? Shapes<S>[Type] | null
      : S extends { readonly type: infer Type extends keyof Shapes<S> }
        ? Shapes<S>[Type]
        : never;

/** The value type by the schema's type. */
interface Shapes<S> {
  readonly string: S extends { readonly [brand]: infer Id } ? Id : string;
  readonly integer: number;
  readonly number: number;
  readonly boolean: boolean;
  readonly array: S extends { readonly items: infer Item } ? readonly Described<Item>[] : never;
  readonly object: S extends { readonly properties: infer Properties; readonly [absent]: infer May }
    ? {
        readonly [Key in Exclude<keyof Properties, keyof May>]: Described<Properties[Key]>;
      } & { readonly [Key in keyof May]?: Described<May[Key]> }
    : S extends { readonly properties: infer Properties }
      ? { readonly [Key in keyof Properties]: Described<Properties[Key]> }
      : S extends { readonly additionalProperties: infer Value }
        ? Readonly<Record<string, Described<Value>>>
        : never;
}

export const text = { type: 'string' } as const;
export const maybeText = { type: ['string', 'null'] } as const;
export const integer = { type: 'integer' } as const;
export const maybeInteger = { type: ['integer', 'null'] } as const;
export const number = { type: 'number' } as const;
export const maybeNumber = { type: ['number', 'null'] } as const;
export const boolean = { type: 'boolean' } as const;
export const maybeBoolean = { type: ['boolean', 'null'] } as const;

/** A text that an older svc leaves out: the text of the other property counts then. */
export function textLike(other: string) {
  return { type: 'string', [fallback]: other } as const;
}

/** A text with a TypeScript type of its own: `text as IdText<MessageId>`. */
export type IdText<Id> = { readonly type: 'string'; readonly [brand]: Id };

export function oneOf<const Values extends readonly string[]>(...values: Values) {
  return { type: 'string', enum: values } as const;
}

export function list<const Item extends Schema>(items: Item) {
  return { type: 'array', items } as const;
}

/** Every property is always there; later versions may add others. */
export function object<const Properties extends Readonly<Record<string, Schema>>>(
  properties: Properties,
) {
  return { type: 'object', required: Object.keys(properties), properties } as const;
}

/**
 * Like `object`, for requests: an optional property may be left out, and is null then, unless it is
 * a `textLike`.
 */
export function objectWith<
  const Required extends Readonly<Record<string, Schema>>,
  const Optional extends Readonly<
    Record<string, { readonly type: readonly [string, 'null'] } | ReturnType<typeof textLike>>
  >,
>(required: Required, optional: Optional) {
  const properties: Required & Optional = { ...required, ...optional };
  return { type: 'object', required: Object.keys(required), properties } as const;
}

/** Like `objectWith`, for a type that may lack those properties: they are written as null. */
export function objectMay<
  const Required extends Readonly<Record<string, Schema>>,
  const Optional extends Readonly<Record<string, { readonly type: readonly [string, 'null'] }>>,
>(required: Required, optional: Optional) {
  const schema = objectWith(required, optional);
  return schema as typeof schema & { readonly [absent]: Optional };
}

/** Values by names that are not known beforehand. */
export function map<const Value extends Schema>(values: Value) {
  return { type: 'object', additionalProperties: values } as const;
}

/** The value, or null. */
export function maybe<const S extends { readonly type: string }>(schema: S) {
  const { type, ...rest } = schema;
  const nullable = { ...rest, type: [type, 'null'] };
  const values = 'enum' in schema ? { enum: [...(schema.enum as string[]), null] } : {};
  return { ...nullable, ...values } as unknown as Nullable<S>;
}

type Nullable<S extends { readonly type: string }> = Omit<S, 'type' | 'enum'> & {
  readonly type: readonly [S['type'], 'null'];
} & (S extends { readonly enum: readonly (infer Value)[] }
    ? { readonly enum: readonly (Value | null)[] }
    : unknown);

/** `next` null: this was the last page. */
export function pageOf<const Row extends Schema>(row: Row) {
  return object({ rows: list(row), next: maybeText });
}

/** Objects that are told apart by their `kind`, each a `oneOf` with one value. */
export function kinds<const Kinds extends readonly Schema[]>(...schemas: Kinds) {
  return { oneOf: schemas } as const;
}

/** Copies only the parts that the schema describes, so that no other field leaves the process. */
export function only(schema: Schema, value: unknown): unknown {
  if ('oneOf' in schema) {
    const kind = schema.oneOf.find((one) => isOfKind(one, value));
    return kind === undefined ? null : only(kind, value);
  }
  const { items, properties, additionalProperties: values } = schema;
  if (items !== undefined && Array.isArray(value)) return value.map((item) => only(items, item));
  if (values !== undefined && isObject(value)) return mapped(value, (one) => only(values, one));
  if (properties === undefined || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(properties).map(([key, inner]) => [key, only(inner, value[key] ?? null)]),
  );
}

function isOfKind(schema: Schema, value: unknown): boolean {
  if ('oneOf' in schema || typeof value !== 'object' || value === null) return false;
  const kind = schema.properties?.['kind'];
  if (kind === undefined || 'oneOf' in kind) return false;
  return kind.enum?.includes((value as { readonly kind?: string }).kind ?? null) ?? false;
}

/** The value does not match the schema; `message` names the place. */
export class Misshapen extends Error {
  override readonly name = 'Misshapen';
}

/**
 * Checks a received value against the schema, and leaves out fields that it does not name.
 * @throws Misshapen if it does not match
 */
export function read<const S>(schema: S & Schema, value: unknown): Described<S> {
  return readAny(schema, value) as Described<S>;
}

/** The same as `read`, for a schema that is known only at run time. */
export function readAny(schema: Schema, value: unknown): unknown {
  return readAt(schema, value, '');
}

function readAt(schema: Schema, value: unknown, at: string): unknown {
  if ('oneOf' in schema) {
    const kind = schema.oneOf.find((one) => isOfKind(one, value));
    if (kind !== undefined) return readAt(kind, value, at);
    return isObject(value)
      ? wrong(at === '' ? 'kind' : `${at}.kind`, 'known to this version')
      : wrong(at, 'an object');
  }
  const { type, enum: values, items, properties, required } = schema;
  const { additionalProperties: named } = schema;
  if (value === null && typeof type !== 'string') return null;
  if (values !== undefined) return readWord(values, value, at);
  if (items !== undefined) {
    if (!Array.isArray(value)) return wrong(at, 'a list');
    return value.map((item, index) => readAt(items, item, `${at}[${index}]`));
  }
  if (named !== undefined) {
    if (!isObject(value)) return wrong(at, 'an object');
    return mapped(value, (one, name) => readAt(named, one, `${at}.${name}`));
  }
  if (properties === undefined)
    return readPlain(typeof type === 'string' ? type : type[0], value, at);
  if (!isObject(value)) return wrong(at, 'an object');
  return Object.fromEntries(
    Object.entries(properties).map(([key, inner]) => {
      const isLeftOut = value[key] === undefined && required?.includes(key) === false;
      const other = 'oneOf' in inner ? undefined : inner[fallback];
      if (isLeftOut && other === undefined) return [key, null];
      const found = isLeftOut ? value[other!] : value[key];
      return [key, readAt(inner, found, at === '' ? key : `${at}.${key}`)];
    }),
  );
}

function readWord(values: readonly (string | null)[], value: unknown, at: string): string {
  const words = values.filter((word) => word !== null);
  return words.find((word) => word === value) ?? wrong(at, `one of ${words.join(', ')}`);
}

function readPlain(type: string, value: unknown, at: string): unknown {
  const plain = plainTypes[type];
  if (plain === undefined) throw new Error(`no value of the type ${type} can be read`);
  return plain.fits(value) ? value : wrong(at, plain.wanted);
}

type PlainType = { readonly fits: (value: unknown) => boolean; readonly wanted: string };

/** The JavaScript type by the schema's type. */
const plainTypes: Readonly<Record<string, PlainType>> = {
  string: { fits: (value) => typeof value === 'string', wanted: 'a text' },
  integer: { fits: Number.isSafeInteger, wanted: 'a whole number' },
  number: { fits: Number.isFinite, wanted: 'a number' },
  boolean: { fits: (value) => typeof value === 'boolean', wanted: 'true or false' },
};

function mapped(
  values: Readonly<Record<string, unknown>>,
  change: (value: unknown, name: string) => unknown,
): unknown {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, change(value, name)]),
  );
}

function wrong(at: string, wanted: string): never {
  throw new Misshapen(`${at === '' ? 'the whole' : at} is not ${wanted}`);
}
