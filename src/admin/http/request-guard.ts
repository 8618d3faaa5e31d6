/**
 * Lets a request through to its route, or refuses it. The checks, in this order: host name (421) →
 * path (404) → method (405) → a write from a foreign page (403) → bearer (401; 403 if the service
 * is read-only) → this machine, for routes that need it (403) → parameters (400) → headers and body
 * (`readRequest`) → the bearer again after waiting for a body → the route.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuditRow } from '../../domain/audit.ts';
import type { BearerFault } from '../../domain/event.ts';
import type { AdminPorts, WarningStatus } from '../admin.ts';
import { problem, type Answer } from './answer.ts';
import {
  bearerStateOf,
  hasProxyLogin,
  isAskedHere,
  isForeign,
  type OperatorAccess,
  type BearerState,
} from './auth.ts';
import { allowedAt, type MatchedPath, type RouteTable } from '../routes/match.ts';
import type {
  Route,
  WriteRoute,
  Parameter,
  Parameters,
  Values,
  Body,
  RequestInput,
} from '../routes/route.ts';
import type { CodeTrade, Withdrawn } from '../application.ts';
import { formatFault } from '../../config/formats.ts';
import { isPlace } from '../../domain/page.ts';
import { isUtf8 } from 'node:buffer';
import { isKnownHost } from '../../lib/known-host.ts';
import { collectBody, isJsonType, isUncompressed } from '../../lib/collect-body.ts';
import { Misshapen, readAny } from '../schemas/schema.ts';
import { problemCodes } from '../../config/problems.ts';
import { storageRemedies } from '../../domain/remedy.ts';

const meanings: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(problemCodes).map(([code, { meaning }]) => [code, meaning.replace(/\.$/, '')]),
  ),
  config_not_applied: 'The configuration file is not in use',
  budget_nearly_used: 'A budget is nearly used for today',
  budget_used_up: 'A call did not fit into what is left of a budget for today',
  storage_full: 'The disk of the database is full',
  storage_locked: 'Another program has the database locked',
  storage_away: 'The database server does not answer',
  storage_low: 'The disk of the database is nearly full',
};

const remedies: Readonly<Record<string, string>> = storageRemedies;
const notToldHere = 'The log says more; so does this to an operator.';

/**
 * A warning for readers. Its own words may name folders of this machine or quote the configuration.
 */
export function redactForReader({ code, path }: WarningStatus): WarningStatus {
  const message = Object.hasOwn(meanings, code) ? meanings[code]! : 'Something may need a person';
  const remedy = Object.hasOwn(remedies, code) ? remedies[code]! : notToldHere;
  return { code, path, message, remedy };
}

// Reads a request's headers and body for its route, or refuses them. The checks, in this order:
// If-Match (428, 400) → content type (415) → declared length (413) → body with a running count
// (413) → UTF-8 (400) → JSON (400) → fields (400).

/** How many bytes of body a route without a body accepts. */
export const strayBytesMax = 65_536;

/** A request and its response. Reading the body may need the response (100 Continue). */
type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse };

type RequestRead =
  | { readonly kind: 'read'; readonly sent: RequestInput }
  | { readonly kind: 'refused'; readonly answer: Answer };

/** The caller, as far as the request shows it. */
type Caller = Pick<RequestInput, 'asker' | 'mayAskWith' | 'isHere'>;

/** Waits for the end of the body, so that the route acts only on a complete body. */
async function readRequest(route: Route, exchange: Exchange, caller: Caller): Promise<RequestRead> {
  const left = leftOf(exchange);
  const wantsEvents = eventStream.test(exchange.request.headers.accept ?? '');
  const sender = { ...caller, left, wantsEvents };
  if (route.kind === 'read') {
    return { kind: 'read', sent: { ...sender, body: null, revision: null } };
  }
  const wanted = route.kind === 'write' && route.ifMatch !== undefined;
  const revision = wanted ? revisionIn(exchange.request) : null;
  if (typeof revision === 'object' && revision !== null) return refused(revision);
  const body = await bodyOf(route.body, exchange);
  if ('answer' in body) return body;
  return { kind: 'read', sent: { ...sender, body: body.value, revision } };
}

/** Matches the type in a list of media types. Format: RFC 9110, section 12.5.1. */
const eventStream = /(?:^|,)\s*text\/event-stream\s*(?:[,;]|$)/i;

function leftOf({ response }: Exchange): AbortSignal {
  const leaving = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) leaving.abort();
  });
  return leaving.signal;
}

/**
 * Reads one strong entity tag. It must be short and ASCII, as every revision is, since it goes into
 * the audit and the log. Format: RFC 9110, sections 8.8.3 and 13.1.1.
 */
function revisionIn({ headersDistinct }: IncomingMessage): string | Answer {
  const given = headersDistinct['if-match'] ?? [];
  if (given.length === 0) return requestBodyRefusals.ifMatchMissing;
  const tag = /^\s*"([\x21\x23-\x7e]{0,100})"\s*$/.exec(given.join());
  return tag?.[1] ?? requestBodyRefusals.ifMatchMalformed;
}

type BodyRead =
  | { readonly value: RequestInput['body'] }
  | Extract<RequestRead, { kind: 'refused' }>;

async function bodyOf(wanted: Body | undefined, exchange: Exchange): Promise<BodyRead> {
  const { request, response } = exchange;
  const types = request.headersDistinct['content-type'] ?? [];
  if (wanted !== undefined && !(types.length === 1 && isJsonType(types[0]))) {
    return refused(requestBodyRefusals.otherType);
  }
  if (wanted !== undefined && !isUncompressed(request.headers['content-encoding'])) {
    return refused(requestBodyRefusals.compressed);
  }
  const bytesMax = wanted?.bytesMax ?? strayBytesMax;
  const end = await collectBody(request, response, bytesMax);
  switch (end.kind) {
    case 'whole':
      return wanted === undefined ? { value: null } : requestBodyValueOf(wanted, end.bytes);
    case 'too_large':
      return refused(problem(413, 'body_too_large', `The body is over ${bytesMax} bytes.`));
    case 'broken_off':
      return refused(requestBodyRefusals.brokenOff);
    default:
      return end satisfies never;
  }
}

function requestBodyValueOf(wanted: Body, bytes: Buffer): BodyRead {
  if (!isUtf8(bytes)) return refused(requestBodyRefusals.notUtf8);
  const text = bytes.toString('utf8');
  if (wanted.kind === 'text') return { value: text };
  try {
    return { value: readAny(wanted.schema.of, JSON.parse(text)) };
  } catch (error) {
    if (error instanceof SyntaxError) return refused(requestBodyRefusals.notJson);
    if (!(error instanceof Misshapen)) throw error;
    return refused(problem(400, 'invalid_field', `Of the body, ${error.message}.`));
  }
}

function refused(answer: Answer): Extract<RequestRead, { kind: 'refused' }> {
  return { kind: 'refused', answer };
}

const requestBodyRefusals = {
  ifMatchMissing: problem(
    428,
    'if_match_required',
    'Say which revision this changes: send If-Match with the ETag that reading it gave.',
  ),
  ifMatchMalformed: problem(
    400,
    'invalid_if_match',
    'If-Match is one ETag in double quotes, as reading it gave, of at most 100 characters; no ' +
      'list, no W/ and no *.',
  ),
  otherType: problem(
    415,
    'unsupported_media_type',
    'Send the header "Content-Type: application/json"; the charset can only be utf-8.',
  ),
  compressed: problem(
    415,
    'unsupported_media_type',
    'Send the body uncompressed, without "Content-Encoding".',
    { 'accept-encoding': 'identity' },
  ),
  notUtf8: problem(400, 'invalid_json', 'The body is not valid UTF-8.'),
  notJson: problem(400, 'invalid_json', 'The body is not JSON.'),
  brokenOff: problem(400, 'bad_request', 'The request ended before its body did.'),
} as const;

export type GuardSettings = {
  /** Whether the server listens on loopback only, where it checks the host name. */
  readonly loopback: boolean;
  /** The host names that the configuration in use allows. */
  readonly allowedHosts: () => readonly string[];
  readonly access: OperatorAccess;
  /** The answers to refused requests, with remedies that fit this server. */
  readonly refusals: Refusals;
};

export type Refusals = {
  readonly unknownHost: Answer;
  readonly notFound: Answer;
  readonly crossSite: Answer;
  readonly unauthorized: (why: BearerFault, access: OperatorAccess) => Answer;
};

/** A view that lasts longer has another row in the audit. */
const viewMs = 24 * 3_600_000;
const viewsMax = 1_000;

/** Where the guard records requests and acts. */
export type GuardRecords = Pick<AdminPorts, 'now' | 'audit' | 'events'>;

export class RequestGuard {
  readonly #table: RouteTable;
  readonly #records: GuardRecords;
  readonly #settings: GuardSettings;
  /** Writes that are not finished and audited yet. A write goes on when its client has gone. */
  readonly #writes = new Set<Promise<unknown>>();
  /** Views of people's texts with a row in the audit, by route and name; the oldest first. */
  readonly #views = new Map<string, { readonly at: number; readonly isKept: Promise<boolean> }>();

  constructor(table: RouteTable, records: GuardRecords, settings: GuardSettings) {
    this.#table = table;
    this.#records = records;
    this.#settings = settings;
  }

  /** @param bearer of the request */
  async answer(
    request: IncomingMessage,
    response: ServerResponse,
    bearer: BearerState,
  ): Promise<Answer> {
    const target = targetOf(request);
    const { refusals } = this.#settings;
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const place = this.#table.find(target.path, method);
    if (!this.#mayAsk(place, target.host)) return refusals.unknownHost;
    if (place === null) return refusals.notFound;
    const route = [...place.routes.values()].find((one) => one.method === method);
    if (route === undefined) return methodNotAllowed(place);
    const refusal = this.#refusalOf(route, request, target.host, bearer);
    if (refusal !== null) return this.#mayShow(route, refusal, request);
    const { headersDistinct } = request;
    const read = readValues(route.parameters ?? {}, place.captured, target.query, headersDistinct);
    const exchange = { request, response };
    const mayAskWith = (allowed: readonly string[]): boolean =>
      this.#isKnown(target.host, allowed) && !isForeign(request, target.host, allowed);
    const isHere = this.#settings.loopback && isAskedHere(request, target.host);
    const caller = {
      asker: bearer === 'operator' ? bearer : 'reader',
      mayAskWith,
      isHere,
    } as const;
    const refusalNow = (): Answer | null => {
      const now = bearerStateOf(request, this.#settings.access);
      return this.#refusalOf(route, request, target.host, now);
    };
    const answer = (): Promise<Answer> => answerOf(route, read, exchange, caller, refusalNow);
    if (route.kind === 'write') return this.#tracked(this.#write(route, read, answer));
    return request.method === 'GET' ? this.#reveal(route, read, answer) : answer();
  }

  /** Resolves when every write is finished and audited. */
  async untilWritten(): Promise<void> {
    while (this.#writes.size > 0) await Promise.allSettled(this.#writes);
  }

  #tracked(write: Promise<Answer>): Promise<Answer> {
    const end = write.then(({ ends }) => ends);
    this.#writes.add(end);
    const forget = (): void => void this.#writes.delete(end);
    end.then(forget, forget);
    return write;
  }

  /** Beyond loopback the operator's proxy decides, since svc cannot know the names there. */
  #mayAsk(place: MatchedPath | null, host: string | undefined): boolean {
    const routes = [...(place?.routes.values() ?? [])];
    const forProbes = place !== null && routes.every(({ principal }) => principal === 'prober');
    return forProbes || this.#isKnown(host, this.#settings.allowedHosts());
  }

  #isKnown(host: string | undefined, allowed: readonly string[]): boolean {
    return !this.#settings.loopback || isKnownHost(host, allowed);
  }

  #refusalOf(
    route: Route,
    request: IncomingMessage,
    host: string | undefined,
    bearer: BearerState,
  ): Answer | null {
    const { access, allowedHosts, refusals } = this.#settings;
    if (route.principal === 'prober') return null;
    if (route.method !== 'GET' && isForeign(request, host, allowedHosts())) {
      return refusals.crossSite;
    }
    if (bearer === 'operator') return null;
    if (route.principal === 'operator' && access.kind === 'none') return readOnly(access.remedy);
    if (bearer === 'without') {
      return route.principal === 'reader' ? null : this.#unauthorized('missing', access);
    }
    return this.#unauthorized('wrong', access);
  }

  /**
   * A browser shows the body of a 401 with an unknown scheme, so it can be a page to sign in on.
   * The page comes with 200 to a browser that has logged in at a proxy: at a 401 it would drop that
   * login, and could not load the page's scripts.
   */
  async #mayShow(route: Route, refusal: Answer, request: IncomingMessage): Promise<Answer> {
    const signIn = route.kind === 'read' ? route.signIn : undefined;
    if (signIn === undefined || refusal.status !== 401) return refusal;
    const page = await signIn();
    if (page.status !== 200 || hasProxyLogin(request)) return page;
    const { status, headers = {} } = refusal;
    return { ...page, status, headers };
  }

  #unauthorized(why: BearerFault, access: OperatorAccess): Answer {
    this.#records.events.bearerRefused({ why });
    return this.#settings.refusals.unauthorized(why, access);
  }

  /** Logs a write whatever its result, and audits it before the answer goes out. */
  async #write(route: WriteRoute, values: ValuesRead, act: () => Promise<Answer>): Promise<Answer> {
    let status = 500;
    let details = {};
    try {
      const answer = await act();
      ({ status, auditDetails: details = {} } = answer);
      return answer;
    } finally {
      const target = { ...idsIn(route, values), ...details };
      const use = { action: route.action, target, status };
      this.#records.events.operatorWrote(use);
      await this.#audit({ ...use, at: this.#records.now(), reason: reasonIn(values) });
    }
  }

  /** Audits a read of people's texts before they are shown. */
  async #reveal(route: Route, values: ValuesRead, ask: () => Promise<Answer>): Promise<Answer> {
    const answer = await ask();
    const { status, auditDetails: details = {} } = answer;
    if (route.kind !== 'read' || route.reveals === undefined || status !== 200) return answer;
    const target = { ...idsIn(route, values), ...details };
    const at = this.#records.now();
    const row: AuditRow = { action: route.reveals, target, status, at, reason: null };
    const view = values.kind === 'read' ? (values.values[route.revealsOncePer ?? ''] ?? '') : '';
    await (view === '' ? this.#audit(row) : this.#auditOnce(`${row.action} ${view}`, row));
    return answer;
  }

  /** The row of a view is stored before any of its answers goes out. */
  async #auditOnce(view: string, row: AuditRow): Promise<void> {
    const known = this.#views.get(view);
    if (known !== undefined && row.at - known.at < viewMs && (await known.isKept)) return;
    const isKept = this.#audit(row);
    this.#views.delete(view);
    this.#views.set(view, { at: row.at, isKept });
    // A view that is forgotten is audited once more.
    if (this.#views.size > viewsMax) this.#views.delete(this.#views.keys().next().value!);
    await isKept;
  }

  /** The answer stays the same if the audit row could not be stored. */
  async #audit(row: AuditRow): Promise<boolean> {
    const { audit, events } = this.#records;
    const where = `the audit of ${row.action}`;
    try {
      if (await audit(row)) return true;
      events.faulted({ where, error: new Error('it was not kept') });
    } catch (error) {
      events.faulted({ where, error });
    }
    return false;
  }
}

/** @param refusedNow returns a refusal if the bearer is no longer right */
async function answerOf(
  route: Route,
  values: ValuesRead,
  exchange: Exchange,
  caller: Caller,
  refusalNow: () => Answer | null,
): Promise<Answer> {
  if (route.kind !== 'read' && route.onlyHere === true && !caller.isHere) return notHere;
  if (values.kind === 'fault') return problem(400, 'invalid_parameter', values.what);
  const read = await readRequest(route, exchange, caller);
  if (read.kind === 'refused') return read.answer;
  const refusal = route.kind === 'read' ? null : refusalNow();
  if (refusal !== null) return refusal;
  return route.answer(values.values, read.sent);
}

/** The ids in the path, for the log and the audit. */
function idsIn(route: Route, read: ValuesRead): Readonly<Record<string, string>> {
  if (read.kind === 'fault') return {};
  const names = Object.entries(route.parameters ?? {}).filter(([, { kind }]) => kind === 'segment');
  return Object.fromEntries(names.map(([name]) => [name, String(read.values[name])]));
}

function reasonIn(read: ValuesRead): string | null {
  const reason = read.kind === 'read' ? read.values['reason'] : null;
  return typeof reason === 'string' && reason !== '' ? reason : null;
}

/**
 * The host, path and query of a request. A target with a host (`GET http://…`) outweighs the Host
 * header. With two Host headers there is no host. Format: RFC 9112, section 3.2.
 */
function targetOf({ url = '', headersDistinct }: IncomingMessage) {
  const hosts = headersDistinct['host'] ?? [];
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url);
  const host = absolute === null ? hosts[0] : absolute[1];
  const target = absolute === null ? url : absolute[2]!;
  const mark = target.indexOf('?');
  return {
    host: hosts.length > 1 ? undefined : host,
    path: mark < 0 ? target : target.slice(0, mark),
    query: mark < 0 ? '' : target.slice(mark + 1),
  };
}

function methodNotAllowed(place: MatchedPath): Answer {
  const allow = allowedAt(place);
  return problem(405, 'method_not_allowed', `This path takes ${allow}.`, { allow });
}

function readOnly(remedy: string): Answer {
  return problem(403, 'read_only', `The service is read-only. ${remedy}`);
}

const notHere = problem(
  403,
  'loopback_only',
  'This is done from the machine of svc alone, at 127.0.0.1 or localhost, and only while the ' +
    'admin server listens there. From elsewhere, go there by SSH, and use the svc command.',
);

/**
 * The refusals of the admin server.
 * @param signIn of the application around it, which may have withdrawn a token; null: there is none
 */
export const adminRefusals = (signIn: Pick<CodeTrade, 'withdrawn'> | null): Refusals => ({
  unknownHost: problem(
    421,
    'unknown_host',
    'This host name is not known here. Use 127.0.0.1 or localhost, or list the name in ' +
      'observability.allowed_hosts.',
  ),
  notFound: problem(404, 'not_found', 'There is nothing at this path; the live view is at /ui.'),
  crossSite: problem(
    403,
    'cross_site',
    'A page from elsewhere may not write here. Behind a proxy, list its host name in ' +
      'observability.allowed_hosts.',
  ),
  unauthorized: (why, access) => {
    const withdrawn = signIn?.withdrawn ?? null;
    if (why === 'wrong' && withdrawn !== null) return signedOut(withdrawn, openAgain);
    const wanted = 'Send the administrator token as Authorization: Bearer <token>.';
    const remedy = access.kind === 'none' ? `No bearer is right here. ${access.remedy}` : wanted;
    return unauthorized(remedy);
  },
});

/** How to get a signed-in page if there is an application. */
export const openAgain = 'Open svc again from the desktop.';

/** @param again how to get a signed-in page: a sentence */
export function signedOut(why: Withdrawn, again: string): Answer {
  return unauthorized(`${describeWithdrawn[why]} ${again}`, `signed_out_${why}`);
}

const describeWithdrawn: Readonly<Record<Withdrawn, string>> = {
  code_used_twice:
    'The link of this page was used a second time, so somebody else may have it: this page is ' +
    'signed out.',
  moved: 'This goes on in another page that was opened after this one.',
  idle: 'This page was not in use for long, so it is signed out.',
};

/** A 401 that asks for a bearer. Format: RFC 6750, section 3. */
export function unauthorized(detail: string, code = 'unauthorized'): Answer {
  return problem(401, code, detail, { 'www-authenticate': 'Bearer' });
}

/** Reads and checks a request's parameters from its path, query and headers. */
type Value = Values[string];

/** `what` is one sentence that names the parameter. */
type ValuesFault = { readonly kind: 'fault'; readonly what: string };
type ValuesRead = { readonly kind: 'read'; readonly values: Values } | ValuesFault;

/**
 * @param captured the parameters of the path, as sent
 * @param query as sent, without its question mark; ignored for a route without query parameters
 * @param headers each with all of its lines
 */
function readValues(
  parameters: Parameters,
  captured: ReadonlyMap<string, string>,
  query: string,
  headers: IncomingMessage['headersDistinct'] = {},
): ValuesRead {
  const entries = Object.entries(parameters);
  const pairs = entries.some(([, { kind }]) => isOfQuery(kind)) ? pairsOf(query) : [];
  if (pairs === null) return fault('The query has a malformed percent-encoding.');
  const known = entries.filter(([, { kind }]) => isOfQuery(kind)).map(([name]) => name);
  // Otherwise a mistyped filter would filter nothing.
  if (pairs.some(([key]) => !known.includes(key))) {
    return fault(`The query has a name that means nothing here; it may have ${known.join(', ')}.`);
  }
  const values: Record<string, Value> = {};
  for (const [name, parameter] of entries) {
    const given = isOfQuery(parameter.kind)
      ? pairs.filter(([key]) => key === name).map(([, value]) => value)
      : parameter.kind === 'segment'
        ? [decoded(captured.get(name) ?? '')]
        : (headers[name] ?? []);
    if (given.length > 1) return fault(`${name} is given more than once.`);
    const [one] = given;
    if (one === null) return fault(`${name} has a malformed percent-encoding.`);
    const value = valueOf(parameter, one);
    if (value === undefined) return fault(`${name} is ${limitOf(parameter)}.`);
    values[name] = value;
  }
  return { kind: 'read', values };
}

function isOfQuery(kind: Parameter['kind']): boolean {
  return kind !== 'segment' && kind !== 'header';
}

/** undefined: the value is outside its limits. */
function valueOf(parameter: Parameter, given: string | undefined): Value | undefined {
  if (given === undefined) return parameter.kind === 'integer' ? parameter.otherwise : null;
  switch (parameter.kind) {
    case 'integer': {
      const value = /^\d{1,9}$/.test(given) ? Number(given) : -1;
      return value >= parameter.min && value <= parameter.max ? value : undefined;
    }
    case 'time':
      return /^\d{1,15}$/.test(given) ? Number(given) : undefined;
    case 'word':
      return parameter.words.find((word) => word === given);
    case 'place':
      return given.length <= parameter.charactersMax && isPlace(given) ? given : undefined;
    case 'segment': {
      const isWrong = parameter.format !== undefined && formatFault(parameter.format, given);
      return given.length <= parameter.charactersMax && !isWrong ? given : undefined;
    }
    case 'header':
    case 'text':
      return given.length <= parameter.charactersMax ? given : undefined;
    default:
      return parameter satisfies never;
  }
}

function limitOf(parameter: Parameter): string {
  switch (parameter.kind) {
    case 'integer':
      return `a whole number from ${parameter.min} to ${parameter.max}`;
    case 'time':
      return 'a time in milliseconds since 1970';
    case 'word':
      return `one of ${parameter.words.join(', ')}`;
    case 'place':
      return 'the "next" of a page, as it was given';
    case 'segment':
      if (parameter.format === 'env') return 'not the name of an environment variable';
      return `at most ${parameter.charactersMax} characters long`;
    case 'header':
    case 'text':
      return `at most ${parameter.charactersMax} characters long`;
    default:
      return parameter satisfies never;
  }
}

/** null: the query has a malformed encoding. A `+` is a space: URL Standard, section 5.1. */
function pairsOf(query: string): readonly (readonly [string, string])[] | null {
  const pairs: (readonly [string, string])[] = [];
  for (const part of query.split('&')) {
    if (part === '') continue;
    const [key, ...rest] = part.replaceAll('+', ' ').split('=');
    const name = decoded(key!);
    const value = decoded(rest.join('='));
    if (name === null || value === null) return null;
    pairs.push([name, value]);
  }
  return pairs;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function fault(what: string): ValuesFault {
  return { kind: 'fault', what };
}
