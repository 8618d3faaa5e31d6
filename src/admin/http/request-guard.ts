/**
 * Lets a request through to its route, or says why not. The checks, in their order: host name (421)
 * → path (404) → method (405) → a write from a foreign page (403) → bearer (401; 403 where the
 * service is read-only) → this machine, where it is for this machine alone (403) → parameters (400)
 * → what the request must bring (request-body.ts) → the bearer again, where a body was waited for →
 * the route itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuditRow } from '../../domain/audit.ts';
import type { BearerFault } from '../../domain/event.ts';
import type { AdminPorts } from '../admin.ts';
import { problem } from './answer.ts';
import type { Answer } from './answer.ts';
import { bearerStateOf, isAskedHere, isForeign, isKnownHost } from './auth.ts';
import type { OperatorAccess, BearerState } from './auth.ts';
import { allowedAt } from '../routes/match.ts';
import type { MatchedPath, RouteTable } from '../routes/match.ts';
import type { Route, WriteRoute } from '../routes/route.ts';
import { readRequest, type Caller, type Exchange } from './request-body.ts';
import type { CodeTrade, Withdrawn } from '../application.ts';
import { readValues, type ValuesRead } from './values.ts';

export type GuardSettings = {
  /** Bound to this machine only: then the host name counts. */
  readonly loopback: boolean;
  /** The names of now: a new configuration may allow others. */
  readonly allowedHosts: () => readonly string[];
  readonly access: OperatorAccess;
  /** What is said of what is not let through: what would help there. */
  readonly refusals: Refusals;
};

export type Refusals = {
  readonly unknownHost: Answer;
  readonly notFound: Answer;
  readonly crossSite: Answer;
  readonly unauthorized: (why: BearerFault, access: OperatorAccess) => Answer;
};

/** Where the guard tells who came, and what was done. */
export type GuardRecords = Pick<AdminPorts, 'now' | 'audit' | 'events'>;

export class RequestGuard {
  readonly #table: RouteTable;
  readonly #records: GuardRecords;
  readonly #settings: GuardSettings;
  /** The writes that are not over, and kept. One goes on when its client has gone. */
  readonly #writes = new Set<Promise<unknown>>();

  constructor(table: RouteTable, records: GuardRecords, settings: GuardSettings) {
    this.#table = table;
    this.#records = records;
    this.#settings = settings;
  }

  /** @param bearer what the request shows of one */
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
    if (refusal !== null) return this.#mayShow(route, refusal);
    const { headersDistinct } = request;
    const read = readValues(route.parameters ?? {}, place.captured, target.query, headersDistinct);
    const exchange = { request, response };
    const mayAskWith = (allowed: readonly string[]): boolean =>
      this.#isKnown(target.host, allowed) && !isForeign(request, target.host, allowed);
    const isHere = this.#settings.loopback && isAskedHere(request, target.host);
    const asking = {
      asker: bearer === 'operator' ? bearer : 'reader',
      mayAskWith,
      isHere,
    } as const;
    const refusedNow = (): Answer | null => {
      const now = bearerStateOf(request, this.#settings.access);
      return this.#refusalOf(route, request, target.host, now);
    };
    const answer = (): Promise<Answer> => answerOf(route, read, exchange, asking, refusedNow);
    if (route.kind === 'write') return this.#followed(this.#write(route, read, answer));
    return request.method === 'GET' ? this.#reveal(route, read, answer) : answer();
  }

  /** Resolves when every write that has begun is over, and kept. */
  async untilWritten(): Promise<void> {
    while (this.#writes.size > 0) await Promise.allSettled(this.#writes);
  }

  #followed(write: Promise<Answer>): Promise<Answer> {
    const over = write.then(({ ends }) => ends);
    this.#writes.add(over);
    const forget = (): void => void this.#writes.delete(over);
    over.then(forget, forget);
    return write;
  }

  /** When bound beyond loopback the operator's proxy decides, since names cannot be known here. */
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

  /** A browser shows the body of a 401 whose scheme it does not know. */
  async #mayShow(route: Route, refusal: Answer): Promise<Answer> {
    const signIn = route.kind === 'read' ? route.signIn : undefined;
    if (signIn === undefined || refusal.status !== 401) return refusal;
    const page = await signIn();
    if (page.status !== 200) return page;
    const { status, headers = {} } = refusal;
    return { ...page, status, headers };
  }

  #unauthorized(why: BearerFault, access: OperatorAccess): Answer {
    this.#records.events.bearerRefused({ why });
    return this.#settings.refusals.unauthorized(why, access);
  }

  /** The use of a write is told whatever it leads to, and kept before its answer goes out. */
  async #write(route: WriteRoute, values: ValuesRead, act: () => Promise<Answer>): Promise<Answer> {
    let status = 500;
    let told = {};
    try {
      const answer = await act();
      ({ status, told = {} } = answer);
      return answer;
    } finally {
      const target = { ...idsIn(route, values), ...told };
      const use = { action: route.action, target, status };
      this.#records.events.operatorWrote(use);
      await this.#keep({ ...use, at: this.#records.now(), reason: reasonIn(values) });
    }
  }

  /** Tells who reads what people wrote, before it is shown. */
  async #reveal(route: Route, values: ValuesRead, ask: () => Promise<Answer>): Promise<Answer> {
    const answer = await ask();
    const { status, told = {} } = answer;
    if (route.kind !== 'read' || route.reveals === undefined || status !== 200) return answer;
    const target = { ...idsIn(route, values), ...told };
    const at = this.#records.now();
    await this.#keep({ action: route.reveals, target, status, at, reason: null });
    return answer;
  }

  /** An answer does not change when the audit of what was done could not be written down. */
  async #keep(row: AuditRow): Promise<void> {
    const { audit, events } = this.#records;
    const where = `the audit of ${row.action}`;
    try {
      if (!(await audit(row))) events.faulted({ where, error: new Error('it was not kept') });
    } catch (error) {
      events.faulted({ where, error });
    }
  }
}

/** @param refusedNow whether the bearer is no longer right */
async function answerOf(
  route: Route,
  values: ValuesRead,
  exchange: Exchange,
  asking: Caller,
  refusedNow: () => Answer | null,
): Promise<Answer> {
  if (route.kind !== 'read' && route.onlyHere === true && !asking.isHere) return notHere;
  if (values.kind === 'fault') return problem(400, 'invalid_parameter', values.what);
  const read = await readRequest(route, exchange, asking);
  if (read.kind === 'refused') return read.answer;
  const refusal = route.kind === 'read' ? null : refusedNow();
  if (refusal !== null) return refusal;
  return route.answer(values.values, read.sent);
}

/** What the path names, for the log. */
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
 * Whom and what a request is for. A target that names its host (`GET http://…`) outweighs the Host
 * header; with two Host headers it is for nobody. Format: RFC 9112, section 3.2.
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
 * Of the admin server.
 * @param signIn of the application around it, whose tokens may be withdrawn; null: there is none
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

/** How one comes to a page that is signed in, where there is an application. */
export const openAgain = 'Open svc again from the desktop.';

/** @param again how one comes to a page that is signed in: a sentence */
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
