/** Asks the service that served this page; the bearer goes along where there is one. */
import { useToken } from './token.ts';

export type Answered<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly etag: string | null }
  | Refused;

/**
 * No answer, or a problem (RFC 9457). `code` is stable; `detail` is a sentence for a person;
 * `extra` holds the members that belong to the code. Without an answer `status` is 0.
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
  /** Sent as it is where it is a text, else as JSON. */
  readonly body?: unknown;
  /** The revision that is to be changed. */
  readonly ifMatch?: string;
  readonly signal?: AbortSignal;
  /** In the place of the one that is signed in: to try one. */
  readonly token?: string;
};

/** @param path below /api/v1/, each part already encoded */
export async function ask<T>(path: string, question: Question = {}): Promise<Answered<T>> {
  try {
    const response = await fetch(`/api/v1/${path}`, requestOf(question));
    const text = await response.text();
    if (response.ok) {
      const etag = response.headers.get('etag')?.replaceAll('"', '') ?? null;
      return { kind: 'ok', value: JSON.parse(text) as T, etag };
    }
    return refusedWith(response.status, text);
  } catch (error) {
    if (question.signal?.aborted === true) return refused(0, 'given_up', 'It was given up.');
    const detail = 'The service does not answer. Is it running?';
    return refused(0, error instanceof SyntaxError ? 'unreadable' : 'unreachable', detail);
  }
}

/** The headers of every request of the pages; a header holds bytes, each written as a letter. */
export function headersFor(
  token: string | null = useToken.getState().token,
): Readonly<Record<string, string>> {
  if (token === null) return {};
  const bytes = Array.from(new TextEncoder().encode(token), (byte) => String.fromCharCode(byte));
  return { authorization: `Bearer ${bytes.join('')}` };
}

function requestOf({ method = 'GET', body, ifMatch, signal, token }: Question): RequestInit {
  const headers = new Headers(headersFor(token));
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (ifMatch !== undefined) headers.set('if-match', `"${ifMatch}"`);
  return {
    method,
    headers,
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    signal: signal ?? null,
    credentials: 'omit',
    cache: 'no-store',
  };
}

function refusedWith(status: number, text: string): Refused {
  try {
    const { code, detail, ...extra } = JSON.parse(text) as Record<string, unknown>;
    if (typeof code === 'string' && typeof detail === 'string') {
      return refused(status, code, detail, extra);
    }
  } catch {
    // Something in between answered; what it said is not for a person.
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
