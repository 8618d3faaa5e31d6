/**
 * Passes the requests of one listener through its guard, and sends the answers with security
 * headers.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Events } from '../../domain/event.ts';
import { bearerOf } from '../../lib/bearer.ts';
import type { Handler } from '../../lib/listener.ts';
import { securityHeaders, problem, type Answer } from './answer.ts';
import { bearerStateOf, type OperatorAccess } from './auth.ts';
import type { RequestGuard } from './request-guard.ts';
import { ReadFailed } from '../../ledger/ledger.ts';

/** @param events reports an error that a route threw */
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
    const sendAnswer = (): void => send(request, response, answer);
    if (answer.status !== 401) sendAnswer();
    else peer.turnAway(bearerOf(request) === null ? 'missing' : 'wrong', response, sendAnswer);
  };
}

/**
 * A streamed answer has no length and ends with its connection. An answer without a body has
 * neither length nor type (RFC 9110, section 8.6).
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

/** The answer when a route threw. Only the log has the cause. */
export function answerError(error: unknown, events: Pick<Events, 'faulted'>): Answer {
  if (error instanceof ReadFailed && error.reason !== 'storage') return unread(error);
  events.faulted({ where: 'the admin server', error });
  if (error instanceof ReadFailed) {
    return problem(503, 'storage_failed', 'The storage could not be read; the log says more.');
  }
  return problem(500, 'fault', 'Something went wrong in svc itself; its log says more.');
}

function unread({ reason, message }: ReadFailed): Answer {
  const code = reason === 'closed' ? 'shutting_down' : reason;
  return problem(503, code, message, { 'retry-after': '1' });
}
