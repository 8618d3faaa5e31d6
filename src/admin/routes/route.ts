/**
 * One entry of the route table. To add a route: write an entry with `readRoute` or `writeRoute`,
 * put it into table.ts; who may ask, 404, 405, 400 and the API's description follow from it.
 */
import type { Answer } from '../answer.ts';
import type { Principal } from '../auth.ts';
import type { Schema } from '../schema.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * A value that a request gives. One whose name stands in braces in the path is a segment of it,
 * and never empty; a `header` is one of that name (in lower case), as it was sent; any other comes
 * with the query. Those of the path and the query are percent-decoded once.
 */
export type Parameter =
  | { readonly kind: 'header'; readonly summary: string; readonly charactersMax: number }
  | { readonly kind: 'segment'; readonly summary: string; readonly charactersMax: number }
  | { readonly kind: 'text'; readonly summary: string; readonly charactersMax: number }
  | {
      readonly kind: 'integer';
      readonly summary: string;
      readonly min: number;
      readonly max: number;
      readonly otherwise: number;
    };

export type Parameters = Readonly<Record<string, Parameter>>;

/**
 * What a route gets: a text or header is null where it was left out, an integer then is its
 * `otherwise`.
 */
export type Values<P extends Parameters = Parameters> = {
  readonly [Name in keyof P]: ValueOf<P[Name]>;
};

type ValueOf<P> = P extends { readonly kind: 'segment' }
  ? string
  : P extends { readonly kind: 'text' | 'header' }
    ? string | null
    : number;

type Entry<P extends Parameters> = {
  /** Segments; one in braces (`{id}`) is a parameter. A written one is matched before it. */
  readonly path: string;
  /** One sentence for the API's description. */
  readonly summary: string;
  readonly parameters?: P;
  readonly contentType: string;
  /** Other statuses than 200 with a body of the same kind, and what they mean. */
  readonly statuses?: Readonly<Record<number, string>>;
  /** The problems that the route itself answers, by status, and what they mean. */
  readonly problems?: Readonly<Record<number, string>>;
  /** What a JSON answer looks like, and its name in the API's description. */
  readonly schema?: { readonly name: string; readonly of: Schema };
  answer(values: Values<P>): Answer | Promise<Answer>;
};

/** Read with GET or HEAD; changes nothing. */
export type ReadRoute<P extends Parameters = Parameters> = Entry<P> & {
  readonly method: 'GET';
  readonly principal: Principal;
};

/**
 * Changes something, so it is an operator's, and each use is told by `action` and the values of
 * the path in the log: neither may hold text. `action` is a label of a metric as well.
 */
export type WriteRoute<P extends Parameters = Parameters> = Entry<P> & {
  readonly method: Exclude<Method, 'GET'>;
  readonly principal: 'operator';
  readonly action: string;
};

export type Route = ReadRoute | WriteRoute;

/** Only here for the types: `answer` is given the values that `parameters` declares. */
export function readRoute<const P extends Parameters>(
  route: Omit<ReadRoute<P>, 'method'>,
): ReadRoute {
  return { ...route, method: 'GET' };
}

export function writeRoute<const P extends Parameters>(
  route: Omit<WriteRoute<P>, 'principal'>,
): WriteRoute {
  return { ...route, principal: 'operator' };
}
