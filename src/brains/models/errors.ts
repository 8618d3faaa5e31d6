/**
 * Reads a provider's error: one reader for all forms of error bodies, and the failure that each of
 * them means. Pure functions. `upstream-words.ts` scrubs the words before operators see them.
 */
import { failure, type Failure } from '../../domain/failure.ts';
import { errorWords, limitTooLarge } from '../../domain/model-habits.ts';
import { retryAfterMs as msOfHeader } from '../../lib/backoff.ts';
import { listOf, parseJson, recordOf } from '../../lib/json.ts';

/** Removes the byte order mark that some providers write before their JSON. */
export function withoutMark(body: string): string {
  return body.startsWith('\ufeff') ? body.slice(1) : body;
}

/** `words`: all words of the error as one text; `code`: an HTTP status in the body; null: none. */
export type ErrorBody = { readonly words: string; readonly code: number | null };

const wordsMax = 4_000;
const depthMax = 5;

/** In the order of `words`. `failed_generation` is left out, because it is the model's text. */
const wordKeys = [
  'code',
  'error_code',
  'status_code',
  'type',
  'error_type',
  'error',
  'errors',
  'message',
  'msg',
  'error_msg',
  'error_message',
  'status_msg',
  'errorMessage',
  'title',
  'detail',
  'details',
  'reason',
  'description',
  'param',
  'loc',
  'raw',
  'metadata',
  'base_resp',
  'innererror',
] as const;

/**
 * Reads the error in a body. The known forms:
 *
 * - `{"error": {code, type, message}}` (OpenAI), a text in `error` (Ollama), or a list (Gemini)
 * - `{"object": "error", "message"}` (old vLLM, Mistral)
 * - `{"detail": "…"}`, or a list of `{loc, msg}` in `detail` (FastAPI)
 * - `{"errors": […]}`
 * - `{"base_resp": {status_code, status_msg}}` (MiniMax)
 * - an error in a choice (OpenRouter)
 * - plain text
 * - a stream with errors in it
 *
 * A web page gives no words.
 */
export function errorIn(body: string): ErrorBody {
  const whole = parseJson(body);
  const parsed = whole === undefined ? errorOfStream(body) : whole;
  if (parsed === undefined) {
    const text = body.trim();
    return { words: text.startsWith('<') ? '' : text.slice(0, wordsMax), code: null };
  }
  const words: string[] = [];
  collect(parsed, 0, words);
  return { words: words.join(' ').slice(0, wordsMax), code: codeIn(parsed) };
}

/** The errors in a stream of events or of JSON lines; undefined: the body is no stream. */
function errorOfStream(body: string): unknown {
  const first = /\S.*/.exec(body)?.[0] ?? '';
  if (!/^(?:data|event|id|retry)?:/.test(first) && recordOf(parseJson(first)) === null) {
    return undefined;
  }
  const errors: unknown[] = [];
  let event = '';
  for (const line of body.split(/\r?\n|\r/)) {
    const [, field = '', rest = line] = /^(data|event):(.*)$/.exec(line) ?? [];
    const text = rest.trim();
    if (field === 'event') event = text;
    if (line === '') event = '';
    const parsed = parseJson(text);
    const record = recordOf(parsed);
    if (record !== null && (Boolean(record['error']) || event === 'error')) errors.push(record);
    const isWords = field === 'data' && parsed === undefined;
    if (isWords && (event === 'error' || /^error\b/i.test(text))) errors.push(text);
  }
  return errors;
}

function collect(value: unknown, depth: number, words: string[]): void {
  if (typeof value === 'string') {
    if (value !== '') words.push(value.slice(0, wordsMax));
    return;
  }
  if (depth >= depthMax) return;
  if (Array.isArray(value)) {
    for (const one of value.slice(0, 20)) collect(one, depth + 1, words);
    return;
  }
  const record = recordOf(value);
  if (record === null) return;
  for (const key of wordKeys) {
    if (Object.hasOwn(record, key)) collect(record[key], depth + 1, words);
  }
  // The rest of a choice is the model's text.
  for (const choice of listOf(record['choices'])) {
    collect(recordOf(choice)?.['error'], depth + 1, words);
  }
}

/** Some servers answer 200 and put the real status into the body. */
function codeIn(parsed: unknown): number | null {
  const outer = recordOf(Array.isArray(parsed) ? (parsed as unknown[])[0] : parsed);
  const error = recordOf(outer?.['error']) ?? outer;
  for (const key of ['code', 'status', 'status_code'] as const) {
    const code = Number(error?.[key]);
    if (code >= 400 && code < 600) return code;
  }
  return null;
}

/** The longest wait that svc accepts from a provider. */
export const retryAfterMaxMs = 30_000;

/**
 * The wait that a provider requests, by its headers or its words. Some send no `retry-after`.
 * @param now milliseconds since 1970
 * @returns milliseconds, at most 30 s; null: no wait is given
 */
export function requestedWaitMs(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  words: string,
  now: number,
): number | null {
  for (const name of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const ms = Number(headers[name] ?? NaN);
    if (ms >= 0) return Math.min(retryAfterMaxMs, ms);
  }
  for (const name of ['retry-after', 'llm_provider-retry-after']) {
    const ms = msOfHeader(headers[name], now, retryAfterMaxMs);
    if (ms !== null) return ms;
  }
  const [, minutes = '0', count, unit] = waitInWords.exec(words) ?? [];
  if (count === undefined) return null;
  const ms = Number(count) * (unit?.toLowerCase() === 'ms' ? 1 : 1_000);
  return Math.min(retryAfterMaxMs, Number(minutes) * 60_000 + ms);
}

/** "Please try again in 7m12.5s", "in 120ms", "Please retry after 12 seconds". */
const waitInWords = new RegExp(
  '\\b(?:try again|retry) (?:after|in) ' +
    '(?:(\\d{1,4})m(?!s))?(\\d{1,6}(?:\\.\\d{1,12})?) ?(ms|s)(?:ec|econds?)?\\b',
  'i',
);

/** The failure for a status and an error's words. */
export function failureOf(status: number, words: string, retryAfterMs: number | null): Failure {
  const isRefusal = status === 400 || status === 422;
  // A server may repeat a person's text. Such text must not block the model for everybody. MiniMax
  // reports these errors with 500, or with 200 and no status in the body.
  const own = isRefusal || status >= 500 ? unquoted(words) : words;
  if (status === 402 || (status >= 400 && errorWords.noCredit.test(own))) {
    return failure('no_credit', { status });
  }
  if (status === 401 || status === 403 || (isRefusal && errorWords.badKey.test(own))) {
    return failure('unauthorized', { status });
  }
  if (status === 429 && !tooLargeForLimit.test(words)) {
    return failure('rate_limited', { status, retryAfterMs });
  }
  if (busy.has(status)) return failure('overloaded', { status, retryAfterMs });
  if (status >= 300 && status < 400) return failure('redirected', { status });
  if (status === 400 && limitTooLarge.test(words)) return failure('rejected', { status });
  if (status === 413 || status === 429 || errorWords.tooLong.test(words)) {
    return failure('context_overflow', { status });
  }
  if (errorWords.badCall.test(words)) return failure('tool_call_malformed', { status });
  if (errorWords.noTools.test(unquoted(words))) return failure('tools_unsupported', { status });
  if (status < 500 && errorWords.filtered.test(unquoted(words))) {
    return failure('filtered', { status });
  }
  const isUnknown = isRefusal && errorWords.noModel.test(own);
  if (status === 404 || isUnknown || errorWords.noPath.test(words)) {
    return failure('not_found', { status });
  }
  if (status >= 500 || errorWords.notRunning.test(words)) {
    return failure('server_error', { status, retryAfterMs });
  }
  if (status >= 400) return failure('rejected', { status });
  return failure('malformed_answer', { status });
}

/** One request exceeds the limit of a whole minute, so a wait does not help (OpenAI, Groq). */
const tooLargeForLimit = /request too large/i;

/** 408: timeout of the server; 498: no capacity; 503: busy or loading; 529: overloaded. */
const busy = new Set([408, 498, 503, 529]);

/**
 * The provider's own words, up to the first quotation, which may be text of the model. Such text
 * must not disable the model's tools for everybody. A name in quotes at the beginning is kept.
 */
function unquoted(words: string): string {
  const own = words.replace(/^([\w ]{0,40})(["'`])[\w./:@-]{1,100}\2/, '$1');
  const end = own.search(/[{[`"\n]|(?<![a-z])'/i);
  return end < 0 ? own : own.slice(0, end);
}

/**
 * The failure that an error of a request with pictures means: the model takes no pictures, or the
 * provider refused these pictures (by a content filter, or their format). A refusal says nothing
 * about other pictures. Null: neither. An error about the length may name pictures as the cause,
 * and is neither, too.
 * @param kind the kind of the failure without this check
 */
export function pictureFailureOf(
  kind: Failure['kind'],
  body: string,
): 'pictures_unsupported' | 'picture_refused' | null {
  if (!pictureKinds.has(kind)) return null;
  const words = body.slice(0, wordsMax);
  if (errorWords.noSight.test(words)) return 'pictures_unsupported';
  return pictureWords.test(words) ? 'picture_refused' : null;
}

/** llama.cpp reports a server error, and routers report a missing endpoint. */
const pictureKinds: ReadonlySet<Failure['kind']> = new Set<Failure['kind']>([
  'rejected',
  'server_error',
  'not_found',
]);

const pictureWords = /\b(?:image|picture|vision|multi-?modal)/i;
