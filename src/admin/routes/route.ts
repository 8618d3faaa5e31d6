/**
 * One entry of the route table. To add a route: write an entry with `readRoute`, `writeRoute` or
 * `askRoute`, and list it in all-routes.ts. The checks before the route follow from the entry:
 * access, 404, 405, 400, headers and body (413, 415, 428). So does the API's description.
 */
import { problem, answerWith, type Answer } from '../http/answer.ts';
import type { Viewer, Principal } from '../http/auth.ts';
import type { Described, Schema } from '../schemas/schema.ts';
import { reasonCharactersMax } from '../../domain/audit.ts';
import { pageRowsMax, pageRowsUsual } from '../../domain/page.ts';
import { channelsAsked } from '../channel-named.ts';
import type { AdminPorts } from '../admin.ts';
import { NotOverwritten } from '../../ledger/ledger.ts';
import { deletedSchema } from '../schemas/story.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * A parameter of a route. If its name is in braces in the path, it is a segment of the path and
 * never empty. A `header` is the header of that name in lower case, as sent. Any other is in the
 * query. Path and query values are percent-decoded once.
 */
export type Parameter =
  | { readonly kind: 'header'; readonly summary: string; readonly charactersMax: number }
  | {
      readonly kind: 'segment';
      readonly summary: string;
      readonly charactersMax: number;
      /** A value that is no variable's name may be a misplaced secret, so no answer repeats it. */
      readonly format?: 'env';
    }
  | { readonly kind: 'text'; readonly summary: string; readonly charactersMax: number }
  /** The `next` of the previous page. */
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
 * The values that a route gets. If left out, a text, place or header is null, and an integer is its
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

/** A schema with its name in the API's description. */
export type Named = { readonly name: string; readonly of: Schema };

/**
 * The body that a route requires: `application/json` in UTF-8, of limited size. A `text` reaches
 * the route as sent, JSON or not. `json` is parsed and checked against its schema first. The
 * example is a valid body.
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

/** The input of a request beside its parameters. */
export type RequestInput<B = Body, M = string | undefined> = {
  /** null if the route declares none. */
  readonly body: BodyOf<B>;
  /** The revision in If-Match, without quotes; null if the route declares none. */
  readonly revision: M extends string ? string : null;
  /** `operator`: the token was sent and is right. */
  readonly asker: Viewer;
  /** Whether the caller could send this request if only these host names were allowed. */
  readonly mayAskWith: (allowedHosts: readonly string[]) => boolean;
  /** Whether the caller is on this machine, as far as svc can see. */
  readonly isHere: boolean;
  /** Aborts when the client leaves before its answer. */
  readonly left: AbortSignal;
  /** Whether its Accept header names an event stream. */
  readonly wantsEvents: boolean;
};

type BodyOf<B> = Body extends B
  ? unknown
  : B extends { readonly kind: 'json'; readonly schema: { readonly of: infer S } }
    ? Described<S>
    : B extends { readonly kind: 'text' }
      ? string
      : null;

/** Problems by status: the meaning of each, and schemas with more fields. */
export type Problems = Readonly<
  Record<number, string | { readonly summary: string; readonly also: readonly Named[] }>
>;

type Entry<P extends Parameters, B = Body, M = string | undefined> = {
  /** Segments. One in braces (`{id}`) is a parameter. A literal segment has precedence. */
  readonly path: string;
  /** One sentence for the API's description. */
  readonly summary: string;
  readonly parameters?: P;
  /**
   * The type of the answers; several if it depends on the request. An empty list: success is 204
   * without a body.
   */
  readonly contentType: string | readonly string[];
  /** Statuses other than 200 with a body of the same kind, and their meanings. */
  readonly statuses?: Readonly<Record<number, string>>;
  /** Problems that the route itself answers. */
  readonly problems?: Problems;
  /** The schema of a JSON answer, or of each event of a stream. */
  readonly schema?: Named;
  /** The schema of each event if the answer may be JSON or a stream. */
  readonly event?: Named;
  answer(values: Values<P>, sent: RequestInput<B, M>): Answer | Promise<Answer>;
};

/** Read with GET or HEAD; changes nothing. */
export type ReadRoute<P extends Parameters = Parameters> = Entry<P> & {
  readonly kind: 'read';
  readonly method: 'GET';
  readonly principal: Principal;
  /** A sign-in page, which a caller without the token gets as the body of the 401. */
  readonly signIn?: () => Promise<Answer>;
  /** The route shows people's texts. Each use is audited under this word. */
  readonly reveals?: string;
  /**
   * A parameter that names what the reading is for, such as one load of a page. Further uses with
   * the same value within a day are not audited; a use without a value always is.
   */
  readonly revealsOncePer?: string;
};

/**
 * Changes something, so only an operator may use it. The log and the audit have `action` and the
 * values of the path, so neither may contain text of people. `action` is also a metric label. A
 * parameter `reason` is the operator's remark, for the audit alone.
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
  /** From another machine the request is refused before it is read. */
  readonly onlyHere?: boolean;
  readonly body?: B;
  /**
   * If declared, the request must name in If-Match the revision that it changes; the sentence says
   * which.
   */
  readonly ifMatch?: M;
};

/**
 * A question with a body. It changes nothing, so it is not logged. Only an operator may ask, except
 * to sign in, when nobody has a token yet.
 */
export type AskRoute<P extends Parameters = Parameters, B = Body, M = string | undefined> = Entry<
  P,
  B,
  M
> & {
  readonly kind: 'ask';
  readonly method: 'POST';
  readonly principal: 'operator' | 'reader';
  /** From another machine the request is refused before it is read. */
  readonly onlyHere?: boolean;
  readonly body: B;
};

type Wanted = Body | undefined;

export type Route = ReadRoute | WriteRoute | AskRoute;

/** Only for the types: `answer` gets the values that `parameters` declares. */
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

/** For readers, but not from a foreign page. */
export function signInRoute<const B extends Body>(
  route: Omit<AskRoute<Parameters, B, undefined>, 'kind' | 'method' | 'principal'>,
): AskRoute {
  return askedBy('reader', route);
}

function askedBy(principal: AskRoute['principal'], route: object): AskRoute {
  // The checks before a route give it exactly what it declares, so its types are right.
  return { ...route, kind: 'ask', method: 'POST', principal } as unknown as AskRoute;
}

// Parameters and problems that several routes share.

/** The limit of a sender's or a conversation's id on the webhook. */
const charactersMax = 1_024;

export function segment(summary: string) {
  return { kind: 'segment', summary, charactersMax } as const satisfies Parameter;
}

/** The parameters of a list: where to continue, and how many rows. */
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

/** An optional parameter of a write. */
export const reason = {
  kind: 'text',
  summary: 'Why, in a few words, for the audit.',
  charactersMax: reasonCharactersMax,
} as const satisfies Parameter;

export const ofChannel = {
  kind: 'text',
  summary: 'Only of this channel: its name, its type without a name, or one bot by its key.',
  charactersMax: 256,
} as const satisfies Parameter;

/** Answers for the named channels; an unknown name is a 400. */
export async function onChannels(
  named: string | null,
  { runningConfig }: Pick<AdminPorts, 'runningConfig'>,
  answer: (channel: string | null) => Promise<Answer>,
): Promise<Answer> {
  const filter =
    named === null
      ? ({ kind: 'found', channel: null } as const)
      : channelsAsked(named, runningConfig().config.channels);
  return filter.kind === 'found'
    ? answer(filter.channel)
    : problem(400, 'invalid_parameter', filter.message);
}

/** The problem of every route that asks the ledger's reader. */
export const unread = { 503: 'It cannot be read now: too many ask, or the storage failed.' };

/** Shared by every route that deletes people's texts. */
export const deletion = {
  schema: { name: 'Deleted', of: deletedSchema },
  problems: {
    503:
      'The storage failed: not all of it is deleted. Or `not_overwritten`: the rows are deleted, ' +
      'but another program keeps their bytes on the disk.',
  },
} as const;

/**
 * Answers 503 if the storage has failed, so that nobody believes that data is gone which is not.
 * @param act returns how many rows were deleted; rejects if the storage has failed
 */
export async function deleted(
  ports: Pick<AdminPorts, 'health'>,
  act: () => Promise<number>,
): Promise<Answer> {
  try {
    return answerWith(deletedSchema, { deleted: await act() });
  } catch (error) {
    if (error instanceof NotOverwritten) return problem(503, 'not_overwritten', error.message);
    const state = ports.health();
    if (state.status === 'ok') throw error;
    const detail = `svc cannot work: ${state.reason}. Not all of it is deleted; ask again later.`;
    return problem(503, 'storage_failed', detail);
  }
}
