/**
 * What a request brings to its route beside its values, or the refusal. The checks, in their
 * order: If-Match (428, 400) → content type (415) → declared length (413) → body with a running
 * count (413) → UTF-8 (400) → JSON (400) → fields (400).
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { collectBody } from '../../lib/collect-body.ts';
import { isJsonType, isUncompressed } from '../../lib/content-type.ts';
import { problem, type Answer } from './answer.ts';
import type { Body, Route, RequestInput } from '../routes/route.ts';
import { Misshapen, readAny } from '../schemas/schema.ts';

/** The bytes that a client may send along to a route that wants no body. */
export const strayBytesMax = 65_536;

/** A request and its response: the response may ask for the request's body. */
export type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse };

export type RequestRead =
  | { readonly kind: 'read'; readonly sent: RequestInput }
  | { readonly kind: 'refused'; readonly answer: Answer };

/** Who asks, as far as the request shows it. */
export type Caller = Pick<RequestInput, 'asker' | 'mayAskWith' | 'isHere'>;

/** Waits for the end of the body, so that the route acts only if all of the body came. */
export async function readRequest(
  route: Route,
  exchange: Exchange,
  asking: Caller,
): Promise<RequestRead> {
  const left = leftOf(exchange);
  const wantsEvents = eventStream.test(exchange.request.headers.accept ?? '');
  const sender = { ...asking, left, wantsEvents };
  if (route.kind === 'read') {
    return { kind: 'read', sent: { ...sender, body: null, revision: null } };
  }
  const wanted = route.kind === 'write' && route.ifMatch !== undefined;
  const revision = wanted ? revisionIn(exchange.request) : null;
  if (typeof revision === 'object' && revision !== null) return refused(revision);
  const body = await bodyOf(route.body, exchange);
  if ('answer' in body) return body;
  return { kind: 'read', sent: { ...sender, body: body.value, revision } };
}

/** In a list of media types. Format: RFC 9110, section 12.5.1. */
const eventStream = /(?:^|,)\s*text\/event-stream\s*(?:[,;]|$)/i;

function leftOf({ response }: Exchange): AbortSignal {
  const leaving = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) leaving.abort();
  });
  return leaving.signal;
}

/**
 * One strong entity tag, short and of ASCII as every revision is: it goes into audit and log.
 * Format: RFC 9110, sections 8.8.3 and 13.1.1.
 */
function revisionIn({ headersDistinct }: IncomingMessage): string | Answer {
  const given = headersDistinct['if-match'] ?? [];
  if (given.length === 0) return refusals.ifMatchMissing;
  const tag = /^\s*"([\x21\x23-\x7e]{0,100})"\s*$/.exec(given.join());
  return tag?.[1] ?? refusals.ifMatchMalformed;
}

type BodyRead =
  | { readonly value: RequestInput['body'] }
  | Extract<RequestRead, { kind: 'refused' }>;

async function bodyOf(wanted: Body | undefined, exchange: Exchange): Promise<BodyRead> {
  const { request, response } = exchange;
  const types = request.headersDistinct['content-type'] ?? [];
  if (wanted !== undefined && !(types.length === 1 && isJsonType(types[0]))) {
    return refused(refusals.otherType);
  }
  if (wanted !== undefined && !isUncompressed(request.headers['content-encoding'])) {
    return refused(refusals.compressed);
  }
  const bytesMax = wanted?.bytesMax ?? strayBytesMax;
  const end = await collectBody(request, response, bytesMax);
  switch (end.kind) {
    case 'whole':
      return wanted === undefined ? { value: null } : valueOf(wanted, end.bytes);
    case 'too_large':
      return refused(problem(413, 'body_too_large', `The body is over ${bytesMax} bytes.`));
    case 'broken_off':
      return refused(refusals.brokenOff);
    default:
      return end satisfies never;
  }
}

function valueOf(wanted: Body, bytes: Buffer): BodyRead {
  if (!isUtf8(bytes)) return refused(refusals.notUtf8);
  const text = bytes.toString('utf8');
  if (wanted.kind === 'text') return { value: text };
  try {
    return { value: readAny(wanted.schema.of, JSON.parse(text)) };
  } catch (error) {
    if (error instanceof SyntaxError) return refused(refusals.notJson);
    if (!(error instanceof Misshapen)) throw error;
    return refused(problem(400, 'invalid_field', `Of the body, ${error.message}.`));
  }
}

function refused(answer: Answer): Extract<RequestRead, { kind: 'refused' }> {
  return { kind: 'refused', answer };
}

const refusals = {
  ifMatchMissing: problem(
    428,
    'if_match_required',
    'Say which revision this changes: send If-Match with the ETag that reading it gave.',
  ),
  ifMatchMalformed: problem(
    400,
    'invalid_if_match',
    'If-Match is one ETag in double quotes, as reading it gave, of at most 100 characters; no ' +
      'list, no W/ and no *.',
  ),
  otherType: problem(
    415,
    'unsupported_media_type',
    'Send the header "Content-Type: application/json"; the charset can only be utf-8.',
  ),
  compressed: problem(
    415,
    'unsupported_media_type',
    'Send the body uncompressed, without "Content-Encoding".',
    { 'accept-encoding': 'identity' },
  ),
  notUtf8: problem(400, 'invalid_json', 'The body is not valid UTF-8.'),
  notJson: problem(400, 'invalid_json', 'The body is not JSON.'),
  brokenOff: problem(400, 'bad_request', 'The request ended before its body did.'),
} as const;
