/**
 * The one way out over HTTP. It follows no redirect, reads no proxy setting from the environment,
 * and bounds time and size. A reply of any status is an answer; only what kept an answer from
 * coming whole is a fault.
 *
 * Format: HTTP/1.1 by undici with an Agent of our own. By its `dispatch`, not its `request`: a body
 * that is read whole needs no stream, and a call that ends early no signal (docs/speed.md).
 */
import { Agent, type Dispatcher } from 'undici';
import type { Deadline, Deadlines } from './deadlines.ts';

export interface HttpClient {
  send(request: HttpRequest, signal?: AbortSignal): Promise<HttpResult>;
  /** Ends every call under way and closes the connections. */
  close(): Promise<void>;
}

export type HttpRequest = {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Milliseconds since 1970; a body that drips is stopped by nothing else. */
  readonly deadlineAt: number;
  /** A longer body is read no further. */
  readonly bodyBytesMax: number;
  /** For when the caller needs no body: it is thrown away, and its length changes nothing. */
  readonly discardBody?: boolean;
};

export type HttpResult =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: Readonly<Record<string, string | string[] | undefined>>;
      readonly body: string;
    }
  | {
      readonly kind: 'fault';
      readonly fault: HttpFault;
      /** The request may have reached the other side. */
      readonly sent: boolean;
      /** The system's name of the error (ECONNREFUSED, …), or null; no address, no secret. */
      readonly code: string | null;
    };

export type HttpFault =
  | 'connect_failed'
  | 'connect_timeout'
  | 'connection_lost'
  | 'timeout'
  | 'answer_too_large'
  | 'cancelled';

/** @param options `connections` is the most per origin */
export function createHttpClient(
  deadlines: Deadlines,
  options: { connections?: number; connectMs?: number } = {},
): HttpClient {
  const agent = new Agent({
    connections: options.connections ?? 1024,
    connect: { timeout: options.connectMs ?? 5_000 },
    pipelining: 1,
    keepAliveTimeout: 10_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 64 * 1024,
  });
  return {
    send: (request, signal) => {
      if (signal?.aborted === true) return Promise.resolve(fault('cancelled', false, null));
      return new Promise((resolve) => {
        const call = new Call(request, signal, resolve);
        call.start(agent, deadlines);
      });
    },
    close: () => agent.destroy(),
  };
}

/**
 * One call. It ends once, by the first of: whole answer, error, too much body, deadline, signal.
 * A call that ends while it waits for a connection is stopped when its turn comes, unsent.
 */
class Call implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest;
  readonly #signal: AbortSignal | undefined;
  readonly #resolve: (result: HttpResult) => void;
  #deadline: Deadline | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #ended = false;
  #status = 0;
  #headers: Answer['headers'] = {};
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(
    request: HttpRequest,
    signal: AbortSignal | undefined,
    resolve: (result: HttpResult) => void,
  ) {
    this.#request = request;
    this.#signal = signal;
    this.#resolve = resolve;
  }

  start(agent: Agent, deadlines: Deadlines): void {
    const { url, method, headers, body, deadlineAt } = this.#request;
    this.#deadline = deadlines.at(deadlineAt, () => this.#stop('timeout'));
    this.#signal?.addEventListener('abort', this.#cancel);
    const path = url.pathname + url.search;
    agent.dispatch({ origin: url.origin, path, method, headers: { ...headers }, body }, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#ended) controller.abort(stopped);
  }

  onResponseStart(_: unknown, status: number, headers: Answer['headers']): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_: unknown, part: Buffer): void {
    this.#bytes += part.length;
    const enough = this.#bytes > this.#request.bodyBytesMax;
    if (this.#request.discardBody !== true) {
      if (enough) this.#stop('answer_too_large');
      else this.#parts.push(part);
    } else if (enough) {
      this.onResponseEnd();
      this.#controller?.abort(stopped);
    }
  }

  onResponseEnd(): void {
    const [first, ...more] = this.#parts;
    const bytes = more.length === 0 ? first : Buffer.concat(this.#parts);
    const body = bytes?.toString('utf8') ?? '';
    this.#end({ kind: 'answer', status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_: unknown, error: Error): void {
    this.#end(faultOf(error));
  }

  readonly #cancel = (): void => this.#stop('cancelled');

  #stop(why: HttpFault): void {
    this.#end(fault(why, this.#controller !== null, null));
    this.#controller?.abort(stopped);
  }

  #end(result: HttpResult): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#deadline?.cancel();
    this.#signal?.removeEventListener('abort', this.#cancel);
    this.#resolve(result);
  }
}

type Answer = Extract<HttpResult, { kind: 'answer' }>;
const stopped = new Error('The call was ended from this side.');

const neverConnected = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EACCES',
]);

function faultOf(error: unknown): HttpResult {
  const code = codeOf(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return fault('connect_timeout', false, code);
  if (code === 'ETIMEDOUT') return fault('connect_timeout', false, code);
  if (code !== null && neverConnected.has(code)) return fault('connect_failed', false, code);
  if (code !== null && /^(CERT_|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(code)) {
    return fault('connect_failed', false, code);
  }
  return fault('connection_lost', true, code);
}

function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code, cause } = error as Error & { code?: unknown };
  if (typeof code === 'string') return code;
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return cause === undefined ? null : codeOf(cause);
}

function fault(kind: HttpFault, sent: boolean, code: string | null): HttpResult {
  return { kind: 'fault', fault: kind, sent, code };
}
