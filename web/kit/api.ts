/** Requests to the service that served this page, with the bearer if a person is signed in. */
import { noteReached } from './reached.ts';
import { bearerOf, useToken } from './token.ts';
import { length } from './words.ts';

export type Answered<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly etag: string | null }
  | Refused;

/**
 * No answer, or a problem (RFC 9457). `code` is stable; `detail` is a sentence for a person;
 * `extra` holds the members that belong to the code. Without an answer, `status` is 0.
 */
export type Refused = {
  readonly kind: 'refused';
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly extra: Readonly<Record<string, unknown>>;
};

export type Question = {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** A string is sent as it is, any other value as JSON. */
  readonly body?: unknown;
  /** The revision that the request changes. */
  readonly ifMatch?: string;
  readonly signal?: AbortSignal;
  /** Limit for the whole answer, or between two events of a stream; absent: 30 seconds. */
  readonly limitMs?: number;
  /** Asks for a stream of events, and reads it with this function. */
  readonly readStream?: StreamReader;
  /** Replaces the signed-in token, to try another one. */
  readonly token?: string;
};

/**
 * @param heard call it for each event
 * @returns the answer's value as JSON text; empty: null
 */
export type StreamReader = (
  body: ReadableStream<BufferSource>,
  heard: () => void,
) => Promise<string>;

const limitMs = 30_000;
/** For requests that open connections or ask models before the answer. */
export const longLimitMs = 120_000;

let bearerRefused: (refused: Refused, token: string) => void = () => {};

/** Calls `listener` whenever the service refuses the signed-in token. There is one listener. */
export function onBearerRefused(listener: typeof bearerRefused): void {
  bearerRefused = listener;
}

/** The error code for a missing or wrong token, if the service gives no other reason. */
const wantsBearer = 'unauthorized';
/** Replaces the service's detail, which tells a program how to sign in. */
const signedOut = 'You are signed out. Sign in again, and do it once more.';

/**
 * Tells the listener that the service refused the bearer of a request.
 * @param sent null: the request had no bearer
 */
export function noteStatus(answer: Refused, sent: string | null): void {
  if (answer.status === 401 && sent !== null) bearerRefused(answer, sent);
}

/**
 * @param path below /api/v1/, each part already encoded
 * @returns null as the value of an answer without a body
 */
export async function ask<T>(path: string, question: Question = {}): Promise<Answered<T>> {
  const { signal, limitMs: ownMs = limitMs, readStream } = question;
  const bearer = bearerOf(useToken.getState());
  const late = new AbortController();
  const giveUp = (): void => late.abort();
  let timer = setTimeout(giveUp, ownMs);
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, ownMs);
  };
  try {
    const ends = AbortSignal.any([late.signal, ...(signal === undefined ? [] : [signal])]);
    const response = await fetch(`/api/v1/${path}`, requestOf(question, ends));
    const isStream = readStream !== undefined && response.ok && response.body !== null;
    const text = await (isStream ? readStream(response.body, heard) : response.text());
    noteReached(true);
    if (response.ok) {
      const etag = response.headers.get('etag')?.replaceAll('"', '') ?? null;
      return { kind: 'ok', value: (text === '' ? null : JSON.parse(text)) as T, etag };
    }
    const answer = refusedWith(response.status, text);
    if (question.token === undefined) noteStatus(answer, bearer);
    return answer;
  } catch (error) {
    if (signal?.aborted === true) return refused(0, 'given_up', 'It was given up.');
    if (late.signal.aborted) return refused(0, 'too_slow', lateDetail(ownMs));
    const isUnreadable = error instanceof SyntaxError;
    if (!isUnreadable) noteReached(false);
    const detail = 'The service does not answer. Is it running?';
    return refused(0, isUnreadable ? 'unreadable' : 'unreachable', detail);
  } finally {
    clearTimeout(timer);
  }
}

function lateDetail(ms: number): string {
  return (
    `The service did not answer within ${length(ms)}. Look on its machine whether it still runs ` +
    'and what its log says last, and ask again.'
  );
}

/** The headers of every request. A header holds bytes, so each byte becomes one character. */
export function headersFor(
  token: string | null = bearerOf(useToken.getState()),
): Readonly<Record<string, string>> {
  if (token === null) return {};
  const bytes = Array.from(new TextEncoder().encode(token), (byte) => String.fromCharCode(byte));
  return { authorization: `Bearer ${bytes.join('')}` };
}

function requestOf(question: Question, signal: AbortSignal): RequestInit {
  const { method = 'GET', body, ifMatch, token, readStream } = question;
  const headers = new Headers(headersFor(token));
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (ifMatch !== undefined) headers.set('if-match', `"${ifMatch}"`);
  if (readStream !== undefined) headers.set('accept', 'text/event-stream');
  return {
    method,
    headers,
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    signal,
    // The login of a proxy in front, by which the browser got this page.
    credentials: 'same-origin',
    cache: 'no-store',
  };
}

/** Reads a problem of the API. */
export function refusedWith(status: number, text: string): Refused {
  try {
    const { code, detail, ...extra } = JSON.parse(text) as Record<string, unknown>;
    if (typeof code === 'string' && typeof detail === 'string') {
      return refused(status, code, code === wantsBearer ? signedOut : detail, extra);
    }
  } catch {
    // A proxy answered instead of the service; its body is no text for a person.
  }
  return refused(status, 'unexpected', `The service answered with the status ${status}.`);
}

function refused(
  status: number,
  code: string,
  detail: string,
  extra: Refused['extra'] = {},
): Refused {
  return { kind: 'refused', status, code, detail, extra };
}
