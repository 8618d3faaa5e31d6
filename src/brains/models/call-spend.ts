/**
 * What a call to a provider may use, before it is made, and what it used, once it is over.
 *
 * Before: the answer is bounded by `max_output_tokens`, which the provider is told. What it reads
 * is bounded by its bytes: one token for every two bytes of the request's body, in UTF-8. The
 * tokenizers in wide use need about one for four bytes of English and one for two to three of most
 * other languages, and the body has JSON around the texts, too. A picture is read by its size and
 * not by its bytes: it counts as the most that a provider is known to charge for one.
 */
import type { Picture } from '../../domain/attachment.ts';
import type { HttpResult } from '../../lib/http-client.ts';
import { failure, type Failure } from '../../domain/failure.ts';
import type { Usage } from '../../domain/outcome.ts';
import type { Payable, Tokens, Unpaid, Used } from '../../domain/spend.ts';
import type { Parsed } from './parsing.ts';

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
export function mostOf(
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
export function failureOfUnpaid(unpaid: Unpaid): Failure {
  if (unpaid.kind === 'unwritten') {
    const detail = 'what it may use could not be written down, so it was not asked';
    return failure('fault', { detail });
  }
  const { opensAt } = unpaid;
  return opensAt === null ? failure('over_budget') : { ...failure('over_budget'), opensAt };
}

/** @returns null: nothing was sent */
export function usedBy(
  result: HttpResult,
  parsed: Parsed,
  most: Tokens,
  { costs }: Payable,
): Used | null {
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
