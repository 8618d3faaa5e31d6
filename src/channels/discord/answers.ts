/** The answers of Discord's REST interface, in the form that svc reads. */
import type { HttpFault, HttpResult } from '../../lib/http-client/exchange.ts';

/**
 * The result of a call. `code` is Discord's own number of the fault, if it gave one, and `names`
 * are its names of faults in fields. `message` is Discord's text, for upstream-words.ts: it goes
 * into no log. `unasked`: svc sent nothing, since it knows that a limit is reached.
 */
export type ApiResult =
  | { readonly kind: 'ok'; readonly body: unknown }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly code: number | null;
      readonly names: readonly string[];
      readonly message: string;
      readonly retryAfterMs: number | null;
      readonly unasked: boolean;
    }
  | { readonly kind: 'fault'; readonly fault: HttpFault; readonly sent: boolean };

export type Answer = Extract<HttpResult, { kind: 'answer' }>;

/** How much of an error's body is read, in characters. */
const namedMax = 4_000;

/** The fields of an error's body. */
type WireError = {
  readonly code: number;
  readonly message: string;
  readonly names: string[];
};

const noError: WireError = { code: 0, message: '', names: [] };

/** @param said an object of `errorOf`; without a JSON body the library passes another object */
export function refusal(status: number, errorBody: object | null = null): ApiResult {
  const { code, names, message } =
    errorBody !== null && 'names' in errorBody ? (errorBody as WireError) : noError;
  const details = { code: code === 0 ? null : code, names, message };
  return { kind: 'refused', status, ...details, retryAfterMs: null, unasked: false };
}

export function limited(ms: number, unasked: boolean): ApiResult {
  const retryAfterMs = Math.max(0, Math.ceil(ms));
  return {
    kind: 'refused',
    status: 429,
    code: null,
    names: [],
    message: '',
    retryAfterMs,
    unasked,
  };
}

/**
 * The part of an answer that the library reads. A body that is no JSON object or list counts as
 * empty.
 */
export function responseOf({ status, headers, body }: Answer) {
  const header = (name: string): string | null => {
    const value = headers[name.toLowerCase()];
    return (Array.isArray(value) ? value[0] : value) ?? null;
  };
  return {
    status,
    statusText: '',
    ok: status >= 200 && status < 300,
    bodyUsed: false,
    body: null,
    headers: { get: header, has: (name: string) => header(name) !== null },
    json: () => Promise.resolve(status < 400 ? parsedBody(body) : errorOf(body)),
    text: () => Promise.resolve(body),
    arrayBuffer: () => Promise.resolve(new ArrayBuffer(0)),
  };
}

/** The library fails on other shapes of an error. */
function errorOf(body: string): WireError {
  const { code, message } = parsedBody(body) as { code?: unknown; message?: unknown };
  // A fault in a field has a name in capitals: { "errors": { field: { "_errors": … } } }.
  const names = Array.from(
    body.slice(0, namedMax).matchAll(/"code": ?"([A-Z_]+)"/g),
    ([, name]) => {
      return name!;
    },
  );
  return {
    code: typeof code === 'number' ? code : 0,
    message: typeof message === 'string' ? message.slice(0, namedMax) : '',
    names,
  };
}

function parsedBody(body: string): object {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
