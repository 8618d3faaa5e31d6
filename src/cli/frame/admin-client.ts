/**
 * Asks the running service over its admin address, and reads what it answers. A failure to answer
 * is thrown as a sentence for the person who asked.
 */
import {
  Misshapen,
  object,
  read,
  type Described,
  type Schema,
} from '../../admin/schemas/schema.ts';
import { problemSchema } from '../../admin/schemas/status.ts';
import type { ListenAddress } from '../../config/config.ts';
import { addressFlags } from '../../config/own-addresses.ts';
import { later, steadyNow } from '../../lib/clock.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import {
  createHttpClient,
  type HttpClient,
  type HttpFault,
  type HttpRequest,
} from '../../lib/http-client.ts';
import { originOf } from '../../lib/own-address.ts';
import { stopOf } from '../../lib/stop.ts';
import { plainLine } from '../../lib/plain-text.ts';

/**
 * Why the service gave no answer, in sentences for the person who asked. Thrown, since neither the
 * reader's contract nor the writer's knows a refusal; `ledger/access.ts` alone catches it.
 */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
}

export type Bearer =
  | { readonly kind: 'token'; readonly variable: string; readonly token: string }
  /** What is missing, and what to do about it. */
  | { readonly kind: 'none'; readonly message: string };

export type AdminClientOptions = {
  readonly address: ListenAddress;
  readonly bearer: Bearer;
  readonly version: string;
  /** Ends the question under way. */
  readonly stop: AbortSignal;
  /** How long an answer may take, in milliseconds; else 30 s. */
  readonly answerMs?: number;
};

const answerMsUsual = 30_000;
/** The service keeps its pages well below this. */
const bodyBytesMax = 128 * 1024 * 1024;

export type AdminRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly principal: 'reader' | 'operator';
  /** Goes out as JSON. */
  readonly body?: object | null;
};

export type AdminResponse = { readonly status: number; readonly body: unknown };

export class AdminClient implements AsyncDisposable {
  readonly #origin: URL;
  readonly #options: AdminClientOptions;
  readonly #http: HttpClient = createHttpClient(createDeadlines());

  constructor(options: AdminClientOptions) {
    this.#options = options;
    this.#origin = originOf(options.address);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#http.close();
  }

  /** Null where the service says that there is no such thing. */
  async find<const S>(principal: AdminRequest['principal'], path: string, schema: S & Schema) {
    const given = await this.ask({ method: 'GET', path, principal });
    return isNotFound(given) ? null : this.take<S>(given, schema);
  }

  /** The answer, as the schema describes it; a refusal is thrown. */
  async read<const S>(principal: AdminRequest['principal'], path: string, schema: S & Schema) {
    return this.take<S>(await this.ask({ method: 'GET', path, principal }), schema);
  }

  /** A given answer, held to the schema; a refusal is thrown. */
  take<const S>(given: AdminResponse, schema: S & Schema): Described<S> {
    if (given.status !== 200) return this.refused(given);
    try {
      return read<S>(schema, given.body);
    } catch (error) {
      if (!(error instanceof Misshapen)) throw error;
      const what = `What answers at ${this.#origin.host} is no svc of this version`;
      throw new Unanswered(`${what}: ${error.message}.`);
    }
  }

  /** Whatever the service answers, a refusal too. */
  async ask({ method, path, principal, body = null }: AdminRequest): Promise<AdminResponse> {
    const { bearer, version, stop, answerMs = answerMsUsual } = this.#options;
    if (principal === 'operator' && bearer.kind === 'none') throw new Unanswered(bearer.message);
    const authorization =
      principal === 'operator' && bearer.kind === 'token'
        ? { authorization: `Bearer ${bearer.token}` }
        : {};
    const request: HttpRequest = {
      method,
      url: new URL(`/api/v1/${path}`, this.#origin),
      headers: {
        accept: 'application/json',
        'user-agent': `svc/${version}`,
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...authorization,
      },
      body: body === null ? null : JSON.stringify(body),
      deadlineAt: later(steadyNow(), answerMs),
      bodyBytesMax,
    };
    const result = await this.#http.send(request, stopOf(stop));
    if (result.kind === 'fault') throw new Unanswered(this.#sayFault(result.fault, method));
    return { status: result.status, body: parse(result.body) };
  }

  #sayFault(fault: HttpFault, method: AdminRequest['method']): string {
    const where = this.#origin.host;
    const { answerMs = answerMsUsual } = this.#options;
    if (fault === 'connect_failed' || fault === 'connect_timeout') {
      return (
        `No running svc answers at ${where}, its admin address (observability.addr; ` +
        `${addressFlags.admin} may have given it another).`
      );
    }
    if (fault === 'timeout')
      return `The svc at ${where} gave no answer within ${answerMs / 1000} s.`;
    if (fault === 'cancelled') {
      return method === 'GET' ? 'Given up.' : 'Given up; it may have been done all the same.';
    }
    if (fault === 'answer_too_large') return 'That page is too large; ask with a smaller --limit.';
    return `The connection to the svc at ${where} broke before its answer was whole.`;
  }

  /** Throws what the service said. */
  refused({ status, body }: AdminResponse): never {
    const { bearer } = this.#options;
    if (status === 401 && bearer.kind === 'token') {
      throw new Unanswered(
        `The running svc does not accept the value of ${bearer.variable}: ` +
          'set it here to what the service was started with.',
      );
    }
    const detail = detailOf(body);
    if (detail !== null) throw new Unanswered(`The running svc refused: ${detail}`);
    const what = `What answers at ${this.#origin.host} is no svc of this version`;
    throw new Unanswered(`${what}: it answered ${status}.`);
  }
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return null;
  }
}

export const isNotFound = ({ status, body }: AdminResponse): boolean =>
  status === 404 && codeOf(body) === 'not_found';

export const codeOf = (body: unknown): string | null => problemOf(body)?.code ?? null;

function detailOf(body: unknown): string | null {
  const found = problemOf(body);
  return found === null ? null : plainLine(found.detail);
}

function problemOf(body: unknown) {
  const { code, detail } = problemSchema.properties;
  try {
    return read(object({ code, detail }), body);
  } catch {
    return null;
  }
}
