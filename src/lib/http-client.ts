/**
 * The one way out over HTTP. It follows no redirect, reads no proxy setting from the environment,
 * and bounds time and size. A reply of any status is an answer; only what kept an answer from
 * coming whole is a fault.
 *
 * Format: HTTP/1.1 by undici's `request` with an Agent of our own.
 */
import { Agent } from 'undici';
import type { Deadlines } from './deadlines.ts';

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
  /** For when the caller needs no body: it is read and thrown away. */
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
    send: (request, signal) => send(agent, deadlines, request, signal),
    close: () => agent.destroy(),
  };
}

async function send(
  agent: Agent,
  deadlines: Deadlines,
  request: HttpRequest,
  signal: AbortSignal | undefined,
): Promise<HttpResult> {
  if (signal?.aborted === true) return fault('cancelled', false, null);
  const { url } = request;
  const ending = new AbortController();
  let late = false;
  const cancel = (): void => ending.abort();
  const deadline = deadlines.at(request.deadlineAt, () => {
    late = true;
    ending.abort();
  });
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    const response = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: request.method,
      headers: request.headers as Record<string, string>,
      body: request.body,
      signal: ending.signal,
    });
    const body = await readBody(response.body, request);
    if (body === null) return fault('answer_too_large', true, null);
    return { kind: 'answer', status: response.statusCode, headers: response.headers, body };
  } catch (error) {
    if (late) return fault('timeout', true, null);
    return ending.signal.aborted ? fault('cancelled', true, null) : faultOf(error);
  } finally {
    deadline.cancel();
    signal?.removeEventListener('abort', cancel);
  }
}

type Body = AsyncIterable<Buffer> & {
  text(): Promise<string>;
  dump(): Promise<void>;
  destroy(): void;
};

/** The body as text, or null when it is over the limit. */
async function readBody(body: Body, request: HttpRequest): Promise<string | null> {
  if (request.discardBody === true) {
    await body.dump();
    return '';
  }
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > request.bodyBytesMax) {
      body.destroy();
      return null;
    }
    parts.push(part);
  }
  return parts.length === 1 ? parts[0]!.toString('utf8') : Buffer.concat(parts).toString('utf8');
}

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
