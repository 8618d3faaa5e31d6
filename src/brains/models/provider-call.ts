/** One call to a provider: payment, HTTP request, answer or failure, and its try. */
import { failure, type Failure } from '../../domain/failure.ts';
import { providerWords, upToQuotation } from '../../domain/upstream-words.ts';
import type { ModelName } from '../../domain/ids.ts';
import type { Outcome, Try, Usage } from '../../domain/outcome.ts';
import type { Payable, Tokens, Unpaid, Used } from '../../domain/spend.ts';
import { earlier, later, type Clock, type SteadyTime } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { HttpClient } from '../../lib/http-client.ts';
import type { HttpResult } from '../../lib/http-client/exchange.ts';
import { farAddressCode } from '../../lib/private-connector.ts';
import type { Stop } from '../../lib/stop.ts';
import type { RelayDetection } from './relay-detection.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import { outputLimitOf, type ModelRequest, type RequestLine } from './model.ts';
import type { ToolNotice } from '../../domain/completion.ts';
import {
  errorIn,
  pictureFailureOf,
  requestedWaitMs,
  retryAfterMaxMs,
  withoutMark,
} from './errors.ts';
import { callable, picturesOf, type Parsed } from './parsing.ts';
import type { Sight } from './vision.ts';
import { refusedTools } from './refused-tools.ts';
import { isRepeated, streamBytesMax, type StreamReceiver } from './streaming.ts';
import { fullJitter } from '../../lib/backoff.ts';
import type { Picture } from '../../domain/attachment.ts';
import { errorWords } from '../../domain/model-habits.ts';

/**
 * Finds the address of a provider's API: `base_url` as configured, or a second address. After the
 * API has answered at the second address, only that one is used.
 */
export class BaseUrl<Urls> {
  #urls: Urls;
  /** Null: there is no second address, or the right one is known. */
  #other: Urls | null;

  constructor(urls: Urls, other: Urls | null) {
    this.#urls = urls;
    this.#other = other;
  }

  get urls(): Urls {
    return this.#urls;
  }

  /**
   * Asks at the first address. If the answer does not come from the API, asks once at the second.
   * @param answerOf returns null if no answer came
   * @param shows whether an answer comes from the API
   */
  async ask<Result>(
    ask: (urls: Urls) => Promise<Result>,
    answerOf: (result: Result) => Answer | null,
    shows: (answer: Answer) => boolean,
  ): Promise<Result> {
    const first = await ask(this.#urls);
    const other = this.#other;
    const answer = answerOf(first);
    if (other === null || answer === null || isThere(answer)) return first;
    const second = await ask(other);
    const secondAnswer = answerOf(second);
    if (secondAnswer !== null && shows(secondAnswer)) [this.#urls, this.#other] = [other, null];
    return second;
  }
}

type Answer = { readonly status: number; readonly body: string };

/** For a chat request: every answer comes from the API, unless it denies the path. */
export function isThere({ status, body }: Answer): boolean {
  if (status === 404 || status === 405) return false;
  return status !== 200 || !errorWords.noPath.test(errorIn(withoutMark(body)).words);
}

/** For a list of models: only a 200 counts, because a web page may also answer. */
export const isListed = (answer: Answer): boolean => answer.status === 200 && isThere(answer);

export type RuntimeOptions = Clock & {
  readonly name: ModelName;
  readonly modelId: string;
  readonly locality: 'local' | 'cloud';
  /** Without trailing slashes. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  /** The time limit of one call, up to the last byte of the answer. */
  readonly timeoutMs: number;
  /** The limit of one answer; null: the provider's default. */
  readonly outputTokensMax: number | null;
  /** The tokens read and written in one call; null: the runtime's default. */
  readonly contextTokens: number | null;
  /** The model's name and price for the budget guard. */
  readonly payable: Payable;
  /** Shared by all models of the same id at the same address. */
  readonly relay: RelayDetection;
  readonly sight: Sight;
  /** The prompt cache key of a conversation, which reveals nothing about it; null: none. */
  readonly cacheKeyOf: (conversation: string) => string | null;
  readonly http: HttpClient;
  readonly deadlines: Deadlines;
};

export const answerBytesMax = 4 * 1024 * 1024;

/** Parses an HTTP answer of one kind of provider. */
export type FromWire = (
  status: number,
  body: string,
  retryAfterMs: number | null,
  /** The tools that the model could call. */
  tools: readonly ToolNotice[],
) => Parsed;

/** The result of a call, and its HTTP answer; null: no answer came. */
export type CallResult = {
  readonly parsed: Parsed;
  readonly answer: { readonly status: number; readonly body: string } | null;
};

/** Null: no answer came. */
export const answerIn = (result: HttpResult): CallResult['answer'] =>
  result.kind === 'answer' ? result : null;

export type ProviderCall = {
  readonly url: URL;
  readonly body: string;
  readonly fromWire: FromWire;
  /** Receives the stream; null: the request does not ask for one. */
  readonly receiver: StreamReceiver | null;
};

/**
 * Makes one call, if the request's budget guard reserves its cost.
 * @param tries gets one more entry, unless the budget guard refused the call
 */
export async function callProvider(
  options: RuntimeOptions,
  call: ProviderCall,
  request: ModelRequest,
  stop: Stop,
  tries: Try[],
): Promise<CallResult> {
  const pictures = picturesOf(request);
  const outputLimit = outputLimitOf(request, options.outputTokensMax);
  const maxTokens = maxTokensOf(call.body, outputLimit, pictures);
  const paying = request.budgetGuard.reserve(options.payable, maxTokens);
  const paid = paying instanceof Promise ? await paying : paying;
  if (paid.kind !== 'reserved') {
    return { parsed: { kind: 'failed', failure: failureOfUnpaid(paid) }, answer: null };
  }
  const startedAt = options.now();
  const since = options.steady();
  const ownEnd = later(since, options.timeoutMs);
  const { receiver } = call;
  const received = await options.http.send(
    {
      method: 'POST',
      url: call.url,
      headers: headersOf(options.apiKey),
      body: call.body,
      deadlineAt: earlier(ownEnd, request.deadlineAt),
      bodyBytesMax: receiver === null ? answerBytesMax : streamBytesMax,
      nearOnly: request.sensitivity === 'private',
      ...(receiver !== null && { heard: receiver.receive }),
    },
    stop,
  );
  const result = receiver === null ? received : receiver.whole(received, answerBytesMax);
  const ms = options.steady() - since;
  const answered: Parsed =
    result.kind === 'fault'
      ? { kind: 'failed', failure: failureOfFault(result, request.deadlineAt <= ownEnd) }
      : call.fromWire(
          result.status,
          withoutMark(result.body),
          requestedWaitMs(result.headers, wordsOf(result), options.now()),
          callable(request),
        );
  const afterPictures = pictures.length === 0 ? answered : withPictureFailure(answered, result);
  const afterTools = withToolFailure(afterPictures, result, callable(request));
  const parsed = withWordsOf(
    result,
    withoutRepeatedCall(afterTools, request),
    options.apiKey,
    request,
  );
  const failed = parsed.kind === 'failed' ? parsed.failure.kind : null;
  const used = usedTokens(result, parsed, maxTokens, options.payable);
  paid.settle(used);
  const tokens = used === null || used.input + used.output === 0 ? {} : { tokens: used };
  tries.push({ startedAt, ms, failed, ...tokens });
  return { parsed, answer: result.kind === 'answer' ? result : null };
}

/** Turns an answer into a failure if its call in text only repeats text of a page or a person. */
function withoutRepeatedCall(parsed: Parsed, { lines }: ModelRequest): Parsed {
  if (parsed.kind === 'failed' || parsed.written === undefined) return parsed;
  const { written, ...answer } = parsed;
  const readTexts = lines.flatMap(({ role, text }) =>
    role === 'user' || role === 'result' ? [text] : [],
  );
  if (!answer.calls.some((call) => isRepeated(call, written, readTexts))) return answer;
  const detail = 'it repeated a call that it had read, which was not run';
  const empty = { ...failure('empty_answer', { detail }), retryable: false };
  return { kind: 'failed', failure: empty, usage: answer.usage };
}

/** The words of an error answer. */
function wordsOf({ status, body }: { readonly status: number; readonly body: string }): string {
  return status < 400 ? '' : errorIn(withoutMark(body)).words;
}

/** Adds the provider's words for the operator. An answer to a refused key may contain the key. */
function withWordsOf(
  result: HttpResult,
  parsed: Parsed,
  apiKey: string | null,
  { system, lines, sensitivity }: ModelRequest,
): Parsed {
  if (parsed.kind === 'answer' || result.kind === 'fault') return parsed;
  const { kind } = parsed.failure;
  if (kind === 'unauthorized' || kind === 'redirected') return parsed;
  const sent = [system ?? '', ...lines.flatMap(textsOf)];
  const { words } = errorIn(withoutMark(result.body));
  // A quotation may contain text that the model made of private text.
  const own = sensitivity === 'private' ? upToQuotation(words) : words;
  const said = providerWords(own, apiKey, sent);
  return said === null ? parsed : { ...parsed, failure: { ...parsed.failure, said } };
}

/** The texts of a line, and the arguments of its calls. */
function textsOf(line: RequestLine): readonly string[] {
  const calls = line.role === 'calls' ? line.calls : [];
  return [line.text, ...calls.map(({ arguments: args }) => JSON.stringify(args) ?? '')];
}

/** Reports the refused tools, so that the other tools can stay in the request. */
function withToolFailure(parsed: Parsed, result: HttpResult, tools: readonly ToolNotice[]): Parsed {
  if (tools.length === 0 || parsed.kind === 'answer' || result.kind === 'fault') return parsed;
  const { kind, status } = parsed.failure;
  if (kind !== 'rejected' && kind !== 'server_error') return parsed;
  const { names } = refusedTools(errorIn(withoutMark(result.body)).words, tools);
  if (names.length === 0) return parsed;
  return { ...parsed, failure: { ...failure('tool_refused'), status, tools: names } };
}

/** Reports a failure of pictures, if the error of a request with pictures means one. */
function withPictureFailure(parsed: Parsed, result: HttpResult): Parsed {
  if (parsed.kind === 'answer' || result.kind === 'fault') return parsed;
  const { kind, status } = parsed.failure;
  const pictureFailure = pictureFailureOf(kind, result.body);
  return pictureFailure === null
    ? parsed
    : { ...parsed, failure: { ...failure(pictureFailure), status } };
}

/**
 * Probes a provider by GET, or by POST with a body without any person's text. A probe for private
 * requests goes only to near addresses.
 */
export function probeProvider(
  options: RuntimeOptions,
  url: URL,
  sensitivity: Sensitivity,
  deadlineAt: SteadyTime,
  body: string | null = null,
): Promise<HttpResult> {
  return options.http.send({
    method: body === null ? 'GET' : 'POST',
    url,
    headers: headersOf(options.apiKey),
    body,
    deadlineAt,
    bodyBytesMax: answerBytesMax,
    nearOnly: sensitivity === 'private',
  });
}

/** The answer to a probe; `unreached`: no answer, or the provider asks for a later try. */
export function answerOfProbe(
  result: HttpResult,
): Extract<HttpResult, { kind: 'answer' }> | 'unreached' {
  if (result.kind === 'fault' || result.status === 429 || result.status >= 500) return 'unreached';
  return result;
}

/** The failure that a probe shows; null: the provider was reached. */
export function failureOfProbe(result: HttpResult): Failure | null {
  if (result.kind === 'answer') {
    const { status } = result;
    return status === 401 || status === 403 ? failure('unauthorized', { status }) : null;
  }
  return result.fault === 'answer_too_large' ? null : failureOfFault(result, false);
}

export function outcomeOf(parsed: Parsed, tries: readonly Try[]): Outcome {
  if (parsed.kind === 'failed') return { kind: 'failed', failure: parsed.failure, tries };
  return { ...parsed, tries, linesDropped: 0 };
}

/** The second lock of privacy: a model that is declared cloud gets no private request. */
export function refusesPrivate(options: RuntimeOptions, request: ModelRequest): Outcome | null {
  if (request.sensitivity !== 'private' || options.locality === 'local') return null;
  return { kind: 'failed', failure: failure('private_refused'), tries: [] };
}

/** @param turnEnded whether the turn's deadline came no later than the model's timeout */
function failureOfFault(
  { fault, code }: Extract<HttpResult, { kind: 'fault' }>,
  turnEnded: boolean,
): Failure {
  if (code === farAddressCode) return failure('far_address');
  return failure(fault === 'timeout' && turnEnded ? 'deadline' : fault);
}

function headersOf(apiKey: string | null): Readonly<Record<string, string>> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': 'svc',
  };
  return apiKey === null ? headers : { ...headers, authorization: `Bearer ${apiKey}` };
}

const pauses = { baseMs: 200, capMs: 2_000 };

/**
 * The pause before a retry: with full jitter between 0 and 200 ms × 2ⁿ (at most 2 s), or the wait
 * that the provider requested (at most 30 s).
 * @param attempt the number of earlier retries, from 0
 * @param random a number in [0, 1)
 * @returns milliseconds to wait; null: no retry
 */
export function retryDelayMs(
  last: Failure,
  attempt: number,
  { retriesMax = 2, random = Math.random }: { retriesMax?: number; random?: () => number } = {},
): number | null {
  if (!last.retryable || attempt >= retriesMax) return null;
  if (last.retryAfterMs !== null) return Math.min(retryAfterMaxMs, last.retryAfterMs);
  return fullJitter(attempt, pauses, random);
}

// The tokens that a call may use (an upper bound, before the call), and those that it used.
//
// `max_output_tokens`, which is in the request, bounds the answer. The size of the body bounds the
// input: one token for every two bytes of UTF-8. Common tokenizers need about one token for four
// bytes of English, and one for two to three bytes of most other languages. The body also has JSON
// around the texts. A picture counts as the highest known price of a picture, because its tokens
// depend on its dimensions and not on its bytes.

const bytesPerToken = 2;
/**
 * The price of a picture with eight tiles in OpenAI's smallest models: 2,833 + 8 × 5,667
 * (platform.openai.com/docs/guides/images-vision). Most other models charge a thirtieth of that.
 */
const tokensPerPicture = 48_169;

/**
 * The most tokens that a call may use.
 * @param outputTokensMax null: no limit is known
 * @param pictures the pictures in the body, where they stand as base64
 */
function maxTokensOf(
  body: string,
  outputTokensMax: number | null,
  pictures: readonly Picture[] = [],
): Tokens {
  const output = outputTokensMax ?? 0;
  if (pictures.length === 0) return { input: tokensIn(body), output };
  const pictureBytes = pictures.reduce(
    (bytes, one) => bytes + 4 * Math.ceil(one.bytes.length / 3),
    0,
  );
  const textTokens = Math.ceil((Buffer.byteLength(body) - pictureBytes) / bytesPerToken);
  return { input: textTokens + pictures.length * tokensPerPicture, output };
}

/** The failure of a call that the budget guard refused. */
function failureOfUnpaid(unpaid: Unpaid): Failure {
  if (unpaid.kind === 'unwritten') {
    const detail = 'what it may use could not be written down, so it was not asked';
    return failure('fault', { detail });
  }
  const { opensAt } = unpaid;
  return opensAt === null ? failure('over_budget') : { ...failure('over_budget'), opensAt };
}

/** @returns the used tokens; null: nothing was sent */
function usedTokens(
  result: HttpResult,
  parsed: Parsed,
  maxTokens: Tokens,
  { costs }: Payable,
): Used | null {
  // The call may have ended anywhere, so the upper bound counts.
  const upperBound = {
    input: maxTokens.input,
    output: costs ? maxTokens.output : 0,
    estimated: true,
  };
  if (result.kind === 'fault') return result.sent ? upperBound : null;
  const { inputTokens, outputTokens, cachedTokens = null } = reportedUsage(parsed);
  const fromCache = inputTokens === null || cachedTokens === null ? {} : { cached: cachedTokens };
  if (inputTokens !== null && outputTokens !== null) {
    return { input: inputTokens, output: outputTokens, estimated: false, ...fromCache };
  }
  const isAnswer = parsed.kind === 'answer' || answerFailures.has(parsed.failure.kind);
  if (!isAnswer && inputTokens === null && outputTokens === null) return nothing;
  const written = Math.min(tokensIn(result.body), maxTokens.output || Infinity);
  const input = inputTokens ?? maxTokens.input;
  const output = outputTokens ?? written;
  return { input, output, estimated: true, ...fromCache };
}

/** The reported usage. A zero for an answer with text is wrong, and counts as not reported. */
function reportedUsage(parsed: Parsed): Usage {
  const { inputTokens = null, outputTokens = null, cachedTokens = null } = parsed.usage ?? {};
  if (parsed.kind === 'failed') return { inputTokens, outputTokens, cachedTokens };
  return { inputTokens: inputTokens || null, outputTokens: outputTokens || null, cachedTokens };
}

const nothing: Used = { input: 0, output: 0, estimated: false };

/** Failures of answers that did come, so the model has used tokens. */
const answerFailures: ReadonlySet<Failure['kind']> = new Set<Failure['kind']>([
  'empty_answer',
  'malformed_answer',
  'tool_call_malformed',
]);

function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}
