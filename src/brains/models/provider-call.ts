/** One call to a provider, from a URL and a body to an HTTP answer or a failure; and its try. */
import { failure, type Failure } from '../../domain/failure.ts';
import { providerWords, upToQuotation } from '../../domain/upstream-words.ts';
import type { ModelName } from '../../domain/ids.ts';
import type { Outcome, Try, Usage } from '../../domain/outcome.ts';
import type { Payable, Tokens, Unpaid, Used } from '../../domain/spend.ts';
import { earlier, later, type Clock, type SteadyTime } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { HttpClient, HttpResult } from '../../lib/http-client.ts';
import { farAddressCode } from '../../lib/private-connector.ts';
import type { Stop } from '../../lib/stop.ts';
import type { RelayDetection } from './relay-detection.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { ModelRequest, RequestLine, ToolNotice } from './model.ts';
import { errorIn, pictureFailureOf, waitAskedFor, withoutMark } from './errors.ts';
import { callable, picturesOf, type Parsed } from './parsing.ts';
import type { Sight } from './vision.ts';
import { refusedTools } from './refused-tools.ts';
import { isRepeated, streamBytesMax, type Listening } from './streaming.ts';
import { fullJitter } from '../../lib/backoff.ts';
import type { Picture } from '../../domain/attachment.ts';
import { errorWords } from '../../domain/model-habits.ts';

/**
 * Finds a provider's API: at `base_url` as it is written, or else at the address without its
 * ending. It keeps the second address after the first answer of the API from there.
 */
export class BaseUrl<Urls> {
  #urls: Urls;
  /** Null: there is no other address, or the API's address is known. */
  #other: Urls | null;

  constructor(urls: Urls, other: Urls | null) {
    this.#urls = urls;
    this.#other = other;
  }

  get urls(): Urls {
    return this.#urls;
  }

  /**
   * Asks at the first address. If the answer is not the API's, it asks once at the other.
   * @param answerOf null: no answer came
   * @param shows whether an answer shows that the API is there
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
    const found = answerOf(second);
    if (found !== null && shows(found)) [this.#urls, this.#other] = [other, null];
    return second;
  }
}

type Answer = { readonly status: number; readonly body: string };

/** For a chat request: every answer is the API's unless it denies the path. */
export function isThere({ status, body }: Answer): boolean {
  if (status === 404 || status === 405) return false;
  return status !== 200 || !errorWords.noPath.test(errorIn(withoutMark(body)).words);
}

/** For a list of models: a web page may answer, too, so only a 200 counts. */
export const isListed = (answer: Answer): boolean => answer.status === 200 && isThere(answer);

/** What a runtime is made of. */
export type RuntimeOptions = Clock & {
  readonly name: ModelName;
  readonly modelId: string;
  readonly locality: 'local' | 'cloud';
  /** Without trailing slashes. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  /** For one call, from the question to the last byte of the answer. */
  readonly timeoutMs: number;
  /** Of one answer; null: as the provider has it. */
  readonly outputTokensMax: number | null;
  /** Read and written in one call; null: as the runtime has it. */
  readonly contextTokens: number | null;
  /** As the purse knows this model. */
  readonly payable: Payable;
  /** Shared with every model of the same id at the same address. */
  readonly relay: RelayDetection;
  readonly sight: Sight;
  /** A name for the brain's prompts of a conversation, which tells nothing of it; null: none. */
  readonly cacheKeyOf: (conversation: string) => string | null;
  readonly http: HttpClient;
  readonly deadlines: Deadlines;
};

export const answerBytesMax = 4 * 1024 * 1024;

/** Reads an HTTP answer as the wire does. */
export type FromWire = (
  status: number,
  body: string,
  retryAfterMs: number | null,
  /** What could be called. */
  tools: readonly ToolNotice[],
) => Parsed;

/** What a call gave, and the HTTP answer that it came with; null when none came. */
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
  /** The provider was asked for pieces; null: for an answer in one. */
  readonly listening: Listening | null;
};

/**
 * Asks once, if the request's purse pays for it.
 * @param tries gets one more entry, unless nothing was sent for want of money
 */
export async function callProvider(
  options: RuntimeOptions,
  call: ProviderCall,
  request: ModelRequest,
  stop: Stop,
  tries: Try[],
): Promise<CallResult> {
  const pictures = picturesOf(request);
  const most = mostOf(call.body, options.outputTokensMax, pictures);
  const paying = request.budgetGuard.reserve(options.payable, most);
  const paid = paying instanceof Promise ? await paying : paying;
  if (paid.kind !== 'reserved') {
    return { parsed: { kind: 'failed', failure: failureOfUnpaid(paid) }, answer: null };
  }
  const startedAt = options.now();
  const since = options.steady();
  const ownEnd = later(since, options.timeoutMs);
  const { listening } = call;
  const heard = await options.http.send(
    {
      method: 'POST',
      url: call.url,
      headers: headersOf(options.apiKey),
      body: call.body,
      deadlineAt: earlier(ownEnd, request.deadlineAt),
      bodyBytesMax: listening === null ? answerBytesMax : streamBytesMax,
      nearOnly: request.sensitivity === 'private',
      ...(listening !== null && { heard: listening.heard }),
    },
    stop,
  );
  const result = listening === null ? heard : listening.whole(heard, answerBytesMax);
  const ms = options.steady() - since;
  const read: Parsed =
    result.kind === 'fault'
      ? { kind: 'failed', failure: failureOfFault(result, request.deadlineAt <= ownEnd) }
      : call.fromWire(
          result.status,
          withoutMark(result.body),
          waitAskedFor(result.headers, wordsOf(result), options.now()),
          callable(request),
        );
  const ofPictures = pictures.length === 0 ? read : unlessOfPictures(read, result);
  const ofTools = unlessOfTools(ofPictures, result, callable(request));
  const parsed = withWordsOf(result, unlessRepeated(ofTools, request), options.apiKey, request);
  const failed = parsed.kind === 'failed' ? parsed.failure.kind : null;
  const used = usedBy(result, parsed, most, options.payable);
  paid.settle(used);
  const tokens = used === null || used.input + used.output === 0 ? {} : { tokens: used };
  tries.push({ startedAt, ms, failed, ...tokens });
  return { parsed, answer: result.kind === 'answer' ? result : null };
}

/** A call that a page, or a person, wrote is not the model's, and nobody sees its marks. */
function unlessRepeated(parsed: Parsed, { lines }: ModelRequest): Parsed {
  if (parsed.kind === 'failed' || parsed.written === undefined) return parsed;
  const { written, ...answer } = parsed;
  const given = lines.flatMap(({ role, text }) =>
    role === 'user' || role === 'result' ? [text] : [],
  );
  if (!answer.calls.some((call) => isRepeated(call, written, given))) return answer;
  const detail = 'it repeated a call that it had read, which was not run';
  const empty = { ...failure('empty_answer', { detail }), retryable: false };
  return { kind: 'failed', failure: empty, usage: answer.usage };
}

/** What an answer says of an error. */
function wordsOf({ status, body }: { readonly status: number; readonly body: string }): string {
  return status < 400 ? '' : errorIn(withoutMark(body)).words;
}

/** What the provider said of the error, for the operator. Of a refused key it may say the key. */
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
  // What is quoted may be what its model made of private texts.
  const own = sensitivity === 'private' ? upToQuotation(words) : words;
  const said = providerWords(own, apiKey, sent);
  return said === null ? parsed : { ...parsed, failure: { ...parsed.failure, said } };
}

/** What stands in a line: the arguments of calls, too. */
function textsOf(line: RequestLine): readonly string[] {
  const calls = line.role === 'calls' ? line.calls : [];
  return [line.text, ...calls.map(({ arguments: given }) => JSON.stringify(given) ?? '')];
}

/** Of a tool that the provider does not take, the others need not be left out. */
function unlessOfTools(parsed: Parsed, result: HttpResult, tools: readonly ToolNotice[]): Parsed {
  if (tools.length === 0 || parsed.kind === 'answer' || result.kind === 'fault') return parsed;
  const { kind, status } = parsed.failure;
  if (kind !== 'rejected' && kind !== 'server_error') return parsed;
  const { names } = refusedTools(errorIn(withoutMark(result.body)).words, tools);
  if (names.length === 0) return parsed;
  return { ...parsed, failure: { ...failure('tool_refused'), status, tools: names } };
}

/** An error of a request with pictures may say that its model takes none, or not this one. */
function unlessOfPictures(parsed: Parsed, result: HttpResult): Parsed {
  if (parsed.kind === 'answer' || result.kind === 'fault') return parsed;
  const { kind, status } = parsed.failure;
  const ofPictures = pictureFailureOf(kind, result.body);
  return ofPictures === null ? parsed : { ...parsed, failure: { ...failure(ofPictures), status } };
}

/**
 * Looks at what a provider has, by GET, or by POST with a body that holds nobody's content; for
 * private requests only where they may go.
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

/** What a look says of models; `unreached`: nobody answered, or asks to be asked later. */
export function answerOfProbe(
  result: HttpResult,
): Extract<HttpResult, { kind: 'answer' }> | 'unreached' {
  if (result.kind === 'fault' || result.status === 429 || result.status >= 500) return 'unreached';
  return result;
}

/** Why a look shows that the provider is of no use; null when it was reached. */
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

/** The second lock: a model that is declared away from this machine sees nothing private. */
export function refusesPrivate(options: RuntimeOptions, request: ModelRequest): Outcome | null {
  if (request.sensitivity !== 'private' || options.locality === 'local') return null;
  return { kind: 'failed', failure: failure('private_refused'), tries: [] };
}

/** @param turnEnded the turn's time was over no later than the model's own */
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
const retryAfterMostMs = 30_000;

/**
 * When to ask a model again after a failure: with full jitter between 0 and 200 ms × 2ⁿ (at most
 * 2 s), or after what the provider asked for, at most 30 s.
 * @param attempt how many times it was asked again before, from 0
 * @param random a number in [0, 1)
 * @returns milliseconds to wait; null: do not ask again
 */
export function retryDelayMs(
  last: Failure,
  attempt: number,
  { retriesMax = 2, random = Math.random }: { retriesMax?: number; random?: () => number } = {},
): number | null {
  if (!last.retryable || attempt >= retriesMax) return null;
  if (last.retryAfterMs !== null) return Math.min(retryAfterMostMs, last.retryAfterMs);
  return fullJitter(attempt, pauses, random);
}

/**
 * What a call to a provider may use, before it is made, and what it used, once it is over.
 *
 * Before: the answer is bounded by `max_output_tokens`, which the provider is told. What it reads
 * is bounded by its bytes: one token for every two bytes of the request's body, in UTF-8. The
 * tokenizers in wide use need about one for four bytes of English and one for two to three of most
 * other languages, and the body has JSON around the texts, too. A picture is read by its size and
 * not by its bytes: it counts as the most that a provider is known to charge for one.
 */
const bytesPerToken = 2;
/**
 * What OpenAI's smallest models charge for eight tiles of one picture (2,833 + 8 × 5,667, by
 * platform.openai.com/docs/guides/images-vision); most others charge a thirtieth of that.
 */
const tokensPerPicture = 48_169;

/**
 * @param outputTokensMax null: no bound is known
 * @param pictures those in the body, as base64
 */
function mostOf(
  body: string,
  outputTokensMax: number | null,
  pictures: readonly Picture[] = [],
): Tokens {
  const output = outputTokensMax ?? 0;
  if (pictures.length === 0) return { input: tokensIn(body), output };
  const shown = pictures.reduce((bytes, one) => bytes + 4 * Math.ceil(one.bytes.length / 3), 0);
  const read = Math.ceil((Buffer.byteLength(body) - shown) / bytesPerToken);
  return { input: read + pictures.length * tokensPerPicture, output };
}

/** Why a call that is not paid for is not made. */
function failureOfUnpaid(unpaid: Unpaid): Failure {
  if (unpaid.kind === 'unwritten') {
    const detail = 'what it may use could not be written down, so it was not asked';
    return failure('fault', { detail });
  }
  const { opensAt } = unpaid;
  return opensAt === null ? failure('over_budget') : { ...failure('over_budget'), opensAt };
}

/** @returns null: nothing was sent */
function usedBy(result: HttpResult, parsed: Parsed, most: Tokens, { costs }: Payable): Used | null {
  // Nobody knows how far it came: all that it may have used counts.
  const whole = { input: most.input, output: costs ? most.output : 0, estimated: true };
  if (result.kind === 'fault') return result.sent ? whole : null;
  const { inputTokens, outputTokens, cachedTokens = null } = toldBy(parsed);
  const fromCache = inputTokens === null || cachedTokens === null ? {} : { cached: cachedTokens };
  if (inputTokens !== null && outputTokens !== null) {
    return { input: inputTokens, output: outputTokens, estimated: false, ...fromCache };
  }
  const isAnswer = parsed.kind === 'answer' || answersWithout.has(parsed.failure.kind);
  if (!isAnswer && inputTokens === null && outputTokens === null) return nothing;
  const written = Math.min(tokensIn(result.body), most.output || Infinity);
  const [input, output] = [inputTokens ?? most.input, outputTokens ?? written];
  return { input, output, estimated: true, ...fromCache };
}

/** An answer with words in it took tokens: of one that is told to have taken none, nothing is. */
function toldBy(parsed: Parsed): Usage {
  const { inputTokens = null, outputTokens = null, cachedTokens = null } = parsed.usage ?? {};
  if (parsed.kind === 'failed') return { inputTokens, outputTokens, cachedTokens };
  return { inputTokens: inputTokens || null, outputTokens: outputTokens || null, cachedTokens };
}

const nothing: Used = { input: 0, output: 0, estimated: false };

/** Failures of an answer that came: its model has worked. */
const answersWithout: ReadonlySet<Failure['kind']> = new Set<Failure['kind']>([
  'empty_answer',
  'malformed_answer',
  'tool_call_malformed',
]);

function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}
