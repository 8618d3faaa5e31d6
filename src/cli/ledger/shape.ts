/**
 * Shapes of JSON that came over the wire: each reads `unknown` into a trusted value, or says where
 * it is something else. Fields that a shape does not name are left out.
 */
export type Shape<T> = (value: unknown, at: string) => T;

/** What came is not what was agreed; `message` names the place. */
export class Misshapen extends Error {
  override readonly name = 'Misshapen';
}

function wrong(at: string, wanted: string): never {
  throw new Misshapen(`${at === '' ? 'the answer' : at} is not ${wanted}`);
}

export const text: Shape<string> = (value, at) =>
  typeof value === 'string' ? value : wrong(at, 'a text');

export const number: Shape<number> = (value, at) =>
  typeof value === 'number' ? value : wrong(at, 'a number');

export const flag: Shape<boolean> = (value, at) =>
  typeof value === 'boolean' ? value : wrong(at, 'true or false');

/** A text that is one of a branded kind; whoever sent it has made it. */
export function id<T extends string>(): Shape<T> {
  return (value, at) => text(value, at) as T;
}

export function maybe<T>(shape: Shape<T>): Shape<T | null> {
  return (value, at) => (value === null ? null : shape(value, at));
}

export function list<T>(shape: Shape<T>): Shape<readonly T[]> {
  return (value, at) =>
    Array.isArray(value)
      ? value.map((item, index) => shape(item, `${at}[${index}]`))
      : wrong(at, 'a list');
}

export function oneOf<const T extends string>(...words: readonly T[]): Shape<T> {
  return (value, at) =>
    words.find((word) => word === value) ?? wrong(at, `one of ${words.join(', ')}`);
}

export function object<T extends object>(shapes: { readonly [Key in keyof T]: Shape<T[Key]> }) {
  return (value: unknown, at: string): T => {
    if (typeof value !== 'object' || value === null) return wrong(at, 'an object');
    const given = value as Record<string, unknown>;
    const entries = Object.entries<Shape<unknown>>(shapes).map(([key, shape]) => {
      return [key, shape(given[key], at === '' ? key : `${at}.${key}`)];
    });
    return Object.fromEntries(entries) as T;
  };
}

/** Objects told apart by their `kind`. */
export function byKind<T extends { readonly kind: string }>(shapes: {
  readonly [Kind in T['kind']]: Shape<Extract<T, { readonly kind: Kind }>>;
}): Shape<T> {
  return (value, at) => {
    const { kind } = object<{ kind: string }>({ kind: text })(value, at);
    if (!Object.hasOwn(shapes, kind)) return wrong(`${at}.kind`, 'known to this version');
    return (shapes as Record<string, Shape<T>>)[kind]!(value, at);
  };
}
