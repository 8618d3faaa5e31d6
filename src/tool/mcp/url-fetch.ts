/**
 * `fetch` for the client library over svc's own client: no redirect, no proxy, no other origin, and
 * an answer is whole before it is read. So a stream that does not end is an answer that does not
 * come; the stream of a server's own messages, which may go on for ever, is not opened.
 */
import type { FetchLike } from '@modelcontextprotocol/client';
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { HttpClient, HttpRequest } from '../../lib/http-client.ts';
import { stopOf } from '../../lib/stop.ts';

export type UrlOptions = {
  readonly url: URL;
  readonly token: string | null;
  readonly nearOnly: boolean;
  readonly timeoutMs: number;
  readonly http: HttpClient;
  readonly steady: () => SteadyTime;
  readonly version: string;
};

const bodyBytesMax = 1024 * 1024;
/** In one answer: each event is looked into. */
const eventsMax = 256;

export function fetchOver(options: UrlOptions): FetchLike {
  const { url: own, token, nearOnly, timeoutMs, http, steady, version } = options;
  return async (input, init) => {
    const url = new URL(input);
    const method = init?.method ?? 'GET';
    if (url.origin !== own.origin) throw new Error('another origin is not asked');
    if (method === 'GET') return new Response(null, { status: 405 });
    const headers = Object.fromEntries(new Headers(init?.headers as Headers));
    const request: HttpRequest = {
      method: method === 'DELETE' ? 'DELETE' : 'POST',
      url,
      headers: {
        ...headers,
        'accept-encoding': 'identity',
        'user-agent': `svc/${version}`,
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      body: typeof init?.body === 'string' ? init.body : null,
      deadlineAt: later(steady(), timeoutMs),
      bodyBytesMax,
      nearOnly,
    };
    const stop = init?.signal ? stopOf(init.signal) : undefined;
    const result = await http.send(request, stop);
    if (result.kind === 'fault') throw new Error(`no answer: ${result.fault}`);
    if (result.status >= 300 && result.status < 400) throw new Error('a redirect is not followed');
    const isStream = String(result.headers['content-type'] ?? '').includes('event-stream');
    if (isStream && eventsIn(result.body) > eventsMax) throw new Error('too many events');
    return answerOf(result);
  };
}

function eventsIn(body: string): number {
  let count = 0;
  for (let at = body.indexOf('data'); at >= 0 && count <= eventsMax; count++) {
    at = body.indexOf('data', body.indexOf('\n', at) < 0 ? body.length : body.indexOf('\n', at));
  }
  return count;
}

function answerOf({ status, headers, body }: Answer): Response {
  const told = new Headers();
  for (const name of ['content-type', 'mcp-session-id', 'retry-after']) {
    const value = headers[name];
    if (typeof value === 'string') told.set(name, value);
  }
  const empty = status === 204 || status === 205 || status < 200;
  return new Response(empty ? null : body, { status: status < 200 ? 502 : status, headers: told });
}

type Answer = Extract<Awaited<ReturnType<HttpClient['send']>>, { kind: 'answer' }>;
