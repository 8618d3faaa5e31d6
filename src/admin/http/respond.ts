/** Requests of one listener, through its guard, to their answers with the security headers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Events } from '../../domain/event.ts';
import { bearerOf } from '../../lib/bearer.ts';
import type { Handler } from '../../lib/listener.ts';
import { securityHeaders, type Answer } from './answer.ts';
import { bearerStateOf, type OperatorAccess } from './auth.ts';
import { answerError } from './error-answer.ts';
import type { RequestGuard } from './request-guard.ts';

/** @param events is told of what a route threw */
export function respondThrough(
  guard: RequestGuard,
  access: OperatorAccess,
  events: Pick<Events, 'faulted'>,
): Handler {
  return async (request, response, peer) => {
    const bearer = bearerStateOf(request, access);
    if (bearer === 'operator') peer.known(response);
    let answer: Answer;
    try {
      answer = await guard.answer(request, response, bearer);
    } catch (error) {
      answer = answerError(error, events);
    }
    const say = (): void => send(request, response, answer);
    if (answer.status !== 401) say();
    else peer.turnAway(bearerOf(request) === null ? 'missing' : 'wrong', response, say);
  };
}

/**
 * A streamed answer has no length: it ends with its connection. One without a body tells neither
 * length nor type (RFC 9110, section 8.6).
 */
function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const { status, contentType, body, headers } = answer;
  const bytes = typeof body === 'function' ? null : Buffer.from(body);
  response.writeHead(status, {
    ...securityHeaders,
    ...(contentType !== null && { 'content-type': contentType }),
    ...(contentType !== null && bytes !== null && { 'content-length': bytes.length }),
    ...headers,
  });
  if (request.method === 'HEAD' || contentType === null) response.end();
  else if (typeof body === 'function') body(response);
  else response.end(bytes);
}
