/**
 * One entry of the route table. To add a route: write an entry with `readRoute`, `writeRoute` or
 * `askRoute`, list it in all-routes.ts. Who may ask, 404, 405, 400, what a request must bring (413,
 * 415, 428) and the API's description follow from it.
 */
import { problem, tell, type Answer } from '../http/answer.ts';
import type { Viewer, Principal } from '../http/auth.ts';
import type { Described, Schema } from '../schemas/schema.ts';
import { reasonCharactersMax } from '../../domain/audit.ts';
import { pageRowsMax, pageRowsUsual } from '../../domain/page.ts';
import { channelsAsked } from '../channel-named.ts';
import type { AdminPorts } from '../admin.ts';
import { deletedSchema } from '../schemas/story.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * A value that a request gives. When its name stands in braces in the path, it is a segment of the
 * path, and never empty. A `header` is the header of that name (in lower case), as it was sent. Any
 * other comes with the query. Values of the path and the query are percent-decoded once.
 */
export type Parameter =
  | { readonly kind: 'header'; readonly summary: string; readonly charactersMax: number }
  | {
      readonly kind: 'segment';
      readonly summary: string;
      readonly charactersMax: number;
      /** What is no name of a variable may be a secret in the wrong place: it is told nowhere. */
      readonly format?: 'env';
    }
  | { readonly kind: 'text'; readonly summary: string; readonly charactersMax: number }
  /** The `next` of a page before. */
  | { readonly kind: 'place'; readonly summary: string; readonly charactersMax: number }
  | { readonly kind: 'word'; readonly summary: string; readonly words: readonly string[] }
  /** Milliseconds since 1970. */
  | { readonly kind: 'time'; readonly summary: string }
  | {
      readonly kind: 'integer';
      readonly summary: string;
      readonly min: number;
      readonly max: number;
      readonly otherwise: number;
    };

export type Parameters = Readonly<Record<string, Parameter>>;

/**
 * What a route gets. For what was left out, a text, place or header is null, and an integer is its
 * `otherwise`.
 */
export type Values<P extends Parameters = Parameters> = {
  readonly [Name in keyof P]: ValueOf<P[Name]>;
};

type ValueOf<P> = P extends { readonly kind: 'segment' }
  ? string
  : P extends { readonly kind: 'text' | 'header' | 'place' }
    ? string | null
    : P extends { readonly kind: 'word'; readonly words: readonly (infer Word)[] }
      ? Word | null
      : P extends { readonly kind: 'time' }
        ? number | null
        : number;

/** A schema, and its name in the API's description. */
export type Named = { readonly name: string; readonly of: Schema };

/**
 * What a request must bring as its body: `application/json` in UTF-8, at most so many bytes. A
 * `text` comes to the route as it is, JSON or not; `json` is parsed and held to its schema before.
 * The example is one that the route takes.
 */
export type Body =
  | {
      readonly kind: 'text';
      readonly summary: string;
      readonly bytesMax: number;
      readonly example: string;
    }
  | {
      readonly kind: 'json';
      readonly summary: string;
      readonly bytesMax: number;
      readonly example: unknown;
      readonly schema: Named;
    };

/** What a request brings beside its values. */
export type RequestInput<B = Body, M = string | undefined> = {
  /** null where the route declares none. */
  readonly body: BodyOf<B>;
  /** The revision between the quotes of If-Match; null where the route declares none. */
  readonly revision: M extends string ? string : null;
  /** `operator`: the bearer is there and right. */
  readonly asker: Viewer;
  /** Whether the caller could ask the same with these host names allowed. */
  readonly mayAskWith: (allowedHosts: readonly string[]) => boolean;
  /** The caller is on this machine, as far as can be seen. */
  readonly isHere: boolean;
  /** Aborts when the client leaves before it has its answer. */
  readonly left: AbortSignal;
  /** Its Accept names a stream of events. */
  readonly wantsEvents: boolean;
};

type BodyOf<B> = Body extends B
  ? unknown
  : B extends { readonly kind: 'json'; readonly schema: { readonly of: infer S } }
    ? Described<S>
    : B extends { readonly kind: 'text' }
      ? string
      : null;

/** Problems by status: what each means, and those that have members of their own. */
export type Problems = Readonly<
  Record<number, string | { readonly summary: string; readonly also: readonly Named[] }>
>;

type Entry<P extends Parameters, B = Body, M = string | undefined> = {
  /** Segments; one in braces (`{id}`) is a parameter. A literal segment is matched before it. */
  readonly path: string;
  /** One sentence for the API's description. */
  readonly summary: string;
  readonly parameters?: P;
  /**
   * The type of the answers; several where the type depends on what is asked for. An empty list:
   * what is done is answered with 204 and no body, not with 200.
   */
  readonly contentType: string | readonly string[];
  /** Other statuses than 200 with a body of the same kind, and what they mean. */
  readonly statuses?: Readonly<Record<number, string>>;
  /** The problems that the route itself answers. */
  readonly problems?: Problems;
  /** What a JSON answer looks like, or each event of a stream. */
  readonly schema?: Named;
  /** What each event looks like where the answer may be JSON or a stream. */
  readonly event?: Named;
  answer(values: Values<P>, sent: RequestInput<B, M>): Answer | Promise<Answer>;
};

/** Read with GET or HEAD; changes nothing. */
export type ReadRoute<P extends Parameters = Parameters> = Entry<P> & {
  readonly kind: 'read';
  readonly method: 'GET';
  readonly principal: Principal;
  /** A page on which one signs in: a caller without the bearer gets it, too, as the 401's body. */
  readonly signIn?: () => Promise<Answer>;
  /** It shows what people wrote: each time that it does is kept in the audit, by this word. */
  readonly reveals?: string;
};

/**
 * Changes something, so it is an operator's, and each use is told by `action` and the values of
 * the path in the log and the audit: neither may hold text. `action` is a label of a metric as
 * well. A parameter `reason` is what the operator says of it, for the audit alone.
 */
export type WriteRoute<P extends Parameters = Parameters, B = Body, M = string | undefined> = Entry<
  P,
  B,
  M
> & {
  readonly kind: 'write';
  readonly method: Exclude<Method, 'GET'>;
  readonly principal: 'operator';
  readonly action: string;
  /** From another machine it is refused, before anything of it is read. */
  readonly onlyHere?: boolean;
  readonly body?: B;
  /** Declared: the request must name in If-Match what it changes; the sentence says what. */
  readonly ifMatch?: M;
};

/**
 * A question that comes with a body; it changes nothing, so no line tells of it. It is an
 * operator's, but for signing in, when nobody has a bearer yet.
 */
export type AskRoute<P extends Parameters = Parameters, B = Body, M = string | undefined> = Entry<
  P,
  B,
  M
> & {
  readonly kind: 'ask';
  readonly method: 'POST';
  readonly principal: 'operator' | 'reader';
  /** From another machine it is refused, before anything of it is read. */
  readonly onlyHere?: boolean;
  readonly body: B;
};

type Wanted = Body | undefined;

export type Route = ReadRoute | WriteRoute | AskRoute;

/** Only here for the types: `answer` is given the values that `parameters` declares. */
export function readRoute<const P extends Parameters>(
  route: Omit<ReadRoute<P>, 'kind' | 'method'>,
): ReadRoute {
  return { ...route, kind: 'read', method: 'GET' };
}

export function writeRoute<
  const P extends Parameters,
  const B extends Wanted = undefined,
  const M extends string | undefined = undefined,
>(route: Omit<WriteRoute<P, B, M>, 'kind' | 'principal'>): WriteRoute {
  // The checks before a route give it exactly what it declares, so its types are right.
  return { ...route, kind: 'write', principal: 'operator' } as unknown as WriteRoute;
}

export function askRoute<const P extends Parameters, const B extends Body>(
  route: Omit<AskRoute<P, B, undefined>, 'kind' | 'method' | 'principal'>,
): AskRoute {
  return askedBy('operator', route);
}

/** For whoever may read; a page from elsewhere may not ask it. */
export function signInRoute<const B extends Body>(
  route: Omit<AskRoute<Parameters, B, undefined>, 'kind' | 'method' | 'principal'>,
): AskRoute {
  return askedBy('reader', route);
}

function askedBy(principal: AskRoute['principal'], route: object): AskRoute {
  // The checks before a route give it exactly what it declares, so its types are right.
  return { ...route, kind: 'ask', method: 'POST', principal } as unknown as AskRoute;
}

// What several routes share: parameters, and what may go wrong.

/** As long as a sender's or a conversation's id may be on the webhook. */
const charactersMax = 1_024;

export function segment(summary: string) {
  return { kind: 'segment', summary, charactersMax } as const satisfies Parameter;
}

/** Parameters of a list: where it goes on, and how many rows. */
export const page = {
  after: { kind: 'place', summary: 'The `next` of the page before.', charactersMax: 8_192 },
  limit: {
    kind: 'integer',
    summary: 'How many rows at most.',
    min: 1,
    max: pageRowsMax,
    otherwise: pageRowsUsual,
  },
} as const satisfies Record<string, Parameter>;

/** The parameter of a write. */
export const reason = {
  kind: 'text',
  summary: 'Why, in a few words, for the audit.',
  charactersMax: reasonCharactersMax,
} as const satisfies Parameter;

export const ofChannel = {
  kind: 'text',
  summary: 'Only of this channel: a bot of a messenger by its key, or all of them by its type.',
  charactersMax: 256,
} as const satisfies Parameter;

/** Answers for what that parameter names; where that is no channel, it says so. */
export async function onChannels(
  named: string | null,
  answer: (channel: string | null) => Promise<Answer>,
): Promise<Answer> {
  const asked = named === null ? ({ kind: 'found', channel: null } as const) : channelsAsked(named);
  return asked.kind === 'found'
    ? answer(asked.channel)
    : problem(400, 'invalid_parameter', asked.message);
}

/** A problem of every route that asks the ledger's reader. */
export const unread = { 503: 'It cannot be read now: too many ask, or the storage failed.' };

/** What every route that deletes what people wrote says of itself. */
export const deletion = {
  schema: { name: 'Deleted', of: deletedSchema },
  problems: { 503: 'The storage failed: not all of it is deleted.' },
} as const;

/**
 * Fails when the storage has failed, so that nobody believes that something is gone which is not.
 * @param act how many went; rejects when the storage has failed
 */
export async function deleted(
  ports: Pick<AdminPorts, 'health'>,
  act: () => Promise<number>,
): Promise<Answer> {
  try {
    return tell(deletedSchema, { deleted: await act() });
  } catch (error) {
    const state = ports.health();
    if (state.status === 'ok') throw error;
    const detail = `svc cannot work: ${state.reason}. Not all of it is deleted; ask again later.`;
    return problem(503, 'storage_failed', detail);
  }
}
