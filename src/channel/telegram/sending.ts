/**
 * The one way out to Telegram (https://core.telegram.org/bots/api#sendmessage): one try to send
 * one reply, which is one part where the text was cut. What was shown while it was being written
 * becomes the reply by an edit.
 *
 * A refusal that names what was wrong is met once in the same try: without formatting, buttons, the
 * topic or the message that is answered, in the chat that the group became. Everything else is the
 * schedule's. A send whose end was not seen may have arrived, and Telegram knows no repeats: it is
 * tried once more, marked, when a relay may have come back, and then left.
 */
import { failure } from '../../domain/failure.ts';
import type { Failure, FailureKind } from '../../domain/failure.ts';
import type { Attempt, DeliveryOutcome, Reply } from '../../domain/reply.ts';
import { spread } from '../../lib/backoff.ts';
import { platformWords } from '../platform-words.ts';
import type { BotApi, CallResult, Refused } from './bot-api.ts';
import type { Lexer } from './markdown.ts';
import { editOf, mend, outgoingOf, payloadOf, type Outgoing } from './outgoing.ts';
import type { Admission, Pace } from './pace.ts';
import { parseTarget } from './place.ts';

const tryMs = 15_000;

/** Before the second send whose end may not be seen: 20 to 60 s. */
const unseenPause = { ms: 40_000, share: 0.5 };
/** Where a 429 names no time. */
const limitedMs = 1_000;

export type SendParts = {
  readonly api: BotApi;
  readonly lexer: Lexer;
  readonly pace: Pace;
  readonly token: string;
  readonly random: () => number;
};

/** It never throws. */
export async function send(
  { api, lexer, pace, token, random }: SendParts,
  reply: Reply,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<DeliveryOutcome> {
  const target = parseTarget(reply.address);
  if (target === null) return dead(failure('rejected', { detail: 'its address cannot be read' }));
  const place = isFirst(reply) ? target : { ...target, replyTo: null };
  const outgoing = outgoingOf(reply, lexer, place);
  for (let tries = 1; ; tries++) {
    const admission = await pace.admit(outgoing.chat, signal);
    if (admission.kind !== 'go') return outcomeOfAdmission(admission);
    const result = await call(api, outgoing, signal);
    if (result.kind === 'done' || isSameAlready(result)) return { kind: 'delivered' };
    if (result.kind === 'fault') {
      // The same edit twice is one.
      if (outgoing.shown !== null) return retry(failure(result.fault));
      return outcomeOfFault(result, attempt, random);
    }
    if (tries >= triesMax || !mend(outgoing, result)) {
      const sent = [reply.text, outgoing.text];
      const said = platformWords(result.description, token, sent) ?? undefined;
      return outcomeOfRefusal(result, said);
    }
  }
}

function call(api: BotApi, outgoing: Outgoing, signal: AbortSignal): Promise<CallResult> {
  const { shown } = outgoing;
  if (shown === null) return api.call('sendMessage', payloadOf(outgoing), tryMs, signal);
  return api.call('editMessageText', editOf(outgoing, shown), tryMs, signal);
}

function isSameAlready(result: CallResult): boolean {
  return result.kind === 'refused' && /message is not modified/i.test(result.description);
}

function outcomeOfAdmission(admission: Exclude<Admission, { kind: 'go' }>): DeliveryOutcome {
  if (admission.kind === 'later') return { kind: 'paced', pauseMs: admission.ms, asked: null };
  return retry(failure('cancelled'));
}

/** Of a reply that was cut, only the first part points at the message. */
function isFirst({ id }: Reply): boolean {
  return !/-\d+$/.test(id) || id.endsWith('-00');
}

/** The first send, and one more for each thing that can be mended. */
const triesMax = 7;

function outcomeOfFault(
  { fault, sent }: Extract<CallResult, { kind: 'fault' }>,
  attempt: Attempt,
  random: () => number,
): DeliveryOutcome {
  const unseen = sent && fault !== 'cancelled';
  if (!unseen) return { kind: 'retry', failure: failure(fault), mayHaveArrived: sent };
  if (attempt.possibleDuplicate) return dead(failure(fault));
  const pauseMs = Math.round(spread(unseenPause.ms, unseenPause.share, random));
  return retry(failure(fault, { retryAfterMs: pauseMs }), true);
}

/** @param said in the platform's words, scrubbed */
function outcomeOfRefusal({ status, retryAfterMs }: Refused, said?: string): DeliveryOutcome {
  const words = said === undefined ? {} : { said };
  const more = { status, retryAfterMs, ...words };
  if (status === 403) {
    const detail = 'the person blocked the bot, or it may not write there';
    return dead(failure('gone', { status, detail, ...words }));
  }
  // The token was revoked, for example: once it is put right, waiting replies go out.
  if (status === 401 || status === 404) return retry(failure('unauthorized', { status, ...words }));
  if (status === 429) {
    return {
      kind: 'paced',
      pauseMs: retryAfterMs ?? limitedMs,
      asked: failure('rate_limited', more),
    };
  }
  if (status >= 500) return retry(failure(serverFailureOf(status), more), status !== 503);
  if (status < 400) return retry(failure('redirected', { status, ...words }));
  if (status === 409) return retry(failure('overloaded', more));
  return dead(failure('rejected', { status, ...words }));
}

function serverFailureOf(status: number): FailureKind {
  return status === 503 ? 'overloaded' : 'server_error';
}

function retry(why: Failure, mayHaveArrived = false): DeliveryOutcome {
  return { kind: 'retry', failure: why, mayHaveArrived };
}

function dead(why: Failure): DeliveryOutcome {
  return { kind: 'dead', failure: why };
}
