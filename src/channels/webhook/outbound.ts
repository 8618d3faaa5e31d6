/**
 * Sends replies to the receiver: one POST a try, with the headers of Standard Webhooks
 * (https://www.standardwebhooks.com), and never a retry of its own.
 *
 * The status is the whole answer: what the receiver writes in the body is thrown away. Any 2xx is
 * success. 410 ends the delivery for good. Everything else may be tried again: a receiver that
 * refuses or redirects today may be put right within the schedule.
 */
import type { Mapping } from '../../config/config.ts';
import { failure } from '../../domain/failure.ts';
import type { Failure, FailureKind } from '../../domain/failure.ts';
import type { Attempt, DeliveryOutcome, Reply } from '../../domain/reply.ts';
import { later, type Clock } from '../../lib/clock.ts';
import type { HttpClient, HttpResult } from '../../lib/http-client.ts';
import { retryAfterMs } from '../../lib/retry-after.ts';
import type { Stop } from '../../lib/stop.ts';
import { signatureOf, signingKeyBytes } from '../../lib/webhook-signature.ts';
import { createReplyWriter } from './wire.ts';

const tryMs = 15_000;
/** A longer answer closes its connection. */
const answerBytesMax = 64 * 1024;
/** The delivery schedule may ask again sooner. */
const retryAfterMostMs = 86_400_000;

export type OutboundDeps = Clock & {
  readonly url: string;
  readonly mapping: Mapping;
  /** Sent as a bearer; null: no authorization header. */
  readonly secret: string | null;
  /** Signs each try (`whsec_…`); null: no signature. */
  readonly signingKey: string | null;
  readonly http: HttpClient;
  readonly version: string;
};

export type Deliver = (reply: Reply, attempt: Attempt, stop: Stop) => Promise<DeliveryOutcome>;

/** Makes the function that tries once to deliver one reply. It never throws. */
export function createDeliver(deps: OutboundDeps): Deliver {
  const { http, now, steady } = deps;
  const url = new URL(deps.url);
  const write = createReplyWriter(deps.mapping);
  const fixed: Record<string, string> = {
    'content-type': 'application/json',
    'user-agent': `svc/${deps.version}`,
  };
  if (deps.secret !== null) {
    fixed['authorization'] = `Bearer ${Buffer.from(deps.secret, 'utf8').toString('latin1')}`;
  }
  const key = deps.signingKey === null ? null : signingKeyBytes(deps.signingKey);
  return async (reply, attempt, stop) => {
    const body = write(reply);
    const timestamp = String(Math.floor(now() / 1_000));
    const headers: Record<string, string> = {
      ...fixed,
      'webhook-id': reply.id,
      'webhook-timestamp': timestamp,
      'svc-attempt': String(attempt.number),
    };
    if (key !== null) {
      headers['webhook-signature'] = signatureOf({ id: reply.id, timestamp, body }, key);
    }
    if (attempt.possibleDuplicate) headers['svc-possible-duplicate'] = 'true';
    if (attempt.late) headers['svc-late'] = 'true';
    const request = {
      method: 'POST',
      url,
      headers,
      body,
      deadlineAt: later(steady(), tryMs),
      bodyBytesMax: answerBytesMax,
      discardBody: true,
    } as const;
    return outcomeOf(await http.send(request, stop), now());
  };
}

function outcomeOf(result: HttpResult, now: number): DeliveryOutcome {
  if (result.kind === 'fault') {
    return { kind: 'retry', failure: failure(result.fault), mayHaveArrived: result.sent };
  }
  const { status } = result;
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status === 410) return { kind: 'dead', failure: failure('gone', { status }) };
  const why = refusalOf(status, retryAfterMs(result.headers['retry-after'], now, retryAfterMostMs));
  // A server error may come after the work was done; every other answer says that it was not.
  const mayHaveArrived = status >= 500 && status !== 503;
  return { kind: 'retry', failure: why, mayHaveArrived };
}

function refusalOf(status: number, afterMs: number | null): Failure {
  if (status === 429) return failure('rate_limited', { status, retryAfterMs: afterMs });
  if (status === 503) return failure('overloaded', { status, retryAfterMs: afterMs });
  return failure(refusalKindOf(status), { status });
}

function refusalKindOf(status: number): FailureKind {
  if (status < 400) return 'redirected';
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404) return 'not_found';
  return status < 500 ? 'rejected' : 'server_error';
}
