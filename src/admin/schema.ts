/**
 * JSON Schemas (2020-12) of what the API answers. `Described` reads a schema back as the type of
 * what it describes, so that the compiler holds each schema and its TypeScript type together.
 */
type Schema = { readonly type: string | readonly [string, 'null'] };

type Plain = {
  readonly string: string;
  readonly integer: number;
  readonly number: number;
  readonly boolean: boolean;
};

/** The type of the values that a schema allows. */
export type Described<S> = S extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : S extends { readonly type: readonly [infer Type, 'null'] }
    ? Described<{ readonly type: Type }> | null
    : S extends { readonly type: 'array'; readonly items: infer Item }
      ? readonly Described<Item>[]
      : S extends { readonly type: 'object'; readonly properties: infer Properties }
        ? { readonly [Key in keyof Properties]: Described<Properties[Key]> }
        : S extends { readonly type: infer Type extends keyof Plain }
          ? Plain[Type]
          : never;

export const text = { type: 'string' } as const;
export const maybeText = { type: ['string', 'null'] } as const;
export const integer = { type: 'integer' } as const;
export const maybeInteger = { type: ['integer', 'null'] } as const;
export const maybeNumber = { type: ['number', 'null'] } as const;

export function oneOf<const Values extends readonly string[]>(...values: Values) {
  return { type: 'string', enum: values } as const;
}

export function list<const Item extends Schema>(items: Item) {
  return { type: 'array', items } as const;
}

/** Every property is there, always; later versions may add others. */
export function object<const Properties extends Readonly<Record<string, Schema>>>(
  properties: Properties,
) {
  return { type: 'object', required: Object.keys(properties), properties } as const;
}
