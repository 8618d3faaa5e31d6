/**
 * Sends replies by place-reply.ts: once a try, and once more without the answered message if that
 * is gone. It never retries. A refused edit or file becomes a new message in the same try. For some
 * minutes the platform recognises a repeated new message by its nonce, and answers with the
 * existing one.
 *
 * Format: https://discord.com/developers/docs/resources/message#create-message; error codes:
 * https://discord.com/developers/docs/topics/opcodes-and-status-codes
 */
import { failure, type Failure } from '../../domain/failure.ts';
import type { Attempt, DeliveryOutcome, Reply } from '../../domain/reply.ts';
import { platformWords } from '../../domain/upstream-words.ts';
import type { Api, ApiResult } from './api.ts';
import { componentsOf } from './interactions.ts';
import { idIn, messageText, put } from './place-reply.ts';
import { toWire, type Target } from './wire.ts';

/** Refusals that are final, in our words. */
const finalRefusals: Readonly<Record<number, string>> = {
  10003: 'the channel is gone (10003)',
  50001: 'the bot has no access to that channel (50001)',
  50007: 'that person takes no direct messages from the bot (50007)',
  50013: 'the bot may not write in that channel (50013)',
};

type DeliverDeps = {
  readonly api: Api;
  readonly token: string;
  /** Called with the message that was sent or edited, as `messageText` names it. */
  readonly sent?: (message: string) => void;
};

/** Tries once to deliver one reply. Never throws. */
export async function deliver(
  { api, token, sent }: DeliverDeps,
  reply: Reply,
  target: Target,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<DeliveryOutcome> {
  const { place } = target;
  const body = { ...toWire(reply, target), ...componentsOf(reply) };
  let done = await put(api, place, reply, body, signal);
  if ('message_reference' in body && answeredIsGone(done.result)) {
    const { message_reference: _gone, ...rest } = body;
    done = await put(api, place, reply, rest, signal);
  }
  const { result, isNew } = done;
  const id = result.kind === 'ok' ? idIn(result.body) : null;
  if (id !== null) sent?.(messageText({ place, id }));
  const outcome = outcomeOf(result, token, reply);
  const isRecognised = 'nonce' in body && !attempt.late;
  const isLast = isNew && attempt.possibleDuplicate && !isRecognised && isEndUnseen(result);
  return isLast && outcome.kind === 'retry' ? finalOutcome(outcome.failure) : outcome;
}

/** Whether the message may exist: a gateway stopped waiting for it, or no answer came. */
function isEndUnseen(result: ApiResult): boolean {
  if (result.kind === 'fault') return result.sent && result.fault !== 'cancelled';
  return result.kind === 'refused' && result.status === 504;
}

/** After some minutes the platform no longer recognises a repeat, so each try may add a message. */
function finalOutcome(why: Failure): DeliveryOutcome {
  const detail = `${why.detail}; it may have arrived, so it is not sent again`;
  return { kind: 'dead', failure: { ...why, detail } };
}

/** Servers that ignore `fail_if_not_exists` answer in one of these ways. */
function answeredIsGone(result: ApiResult): boolean {
  if (result.kind !== 'refused' || result.status >= 500) return false;
  const { code, names } = result;
  return code === 10_008 || (code === 50_035 && names.some((name) => goneNames.has(name)));
}

const goneNames = new Set(['MESSAGE_REFERENCE_UNKNOWN_MESSAGE', 'REPLIES_UNKNOWN_MESSAGE']);

export function outcomeOf(result: ApiResult, token: string, { text }: Reply): DeliveryOutcome {
  if (result.kind === 'ok') return { kind: 'delivered' };
  if (result.kind === 'fault') {
    return { kind: 'retry', failure: failure(result.fault), mayHaveArrived: result.sent };
  }
  const { status, code, retryAfterMs, message, unasked } = result;
  const pauseMs = retryAfterMs ?? 0;
  if (unasked) return { kind: 'paced', pauseMs, asked: null };
  const words = platformWords(message, token, [text]);
  const said = words === null ? {} : { said: words };
  const more = { status, retryAfterMs, ...said };
  if (status === 429) return { kind: 'paced', pauseMs, asked: failure('rate_limited', more) };
  const retry = (kind: Parameters<typeof failure>[0], mayHaveArrived = false): DeliveryOutcome => {
    return { kind: 'retry', failure: failure(kind, more), mayHaveArrived };
  };
  // A new token belongs to the same bot: the operator can set it within the schedule.
  if (status === 401) return retry('unauthorized');
  if (status === 503) return retry('overloaded');
  if (status >= 500) return retry('server_error', true);
  if (status < 400) return retry('redirected');
  const detail = code === null ? undefined : finalRefusals[code];
  const kind = status === 404 ? 'gone' : 'rejected';
  const why = failure(kind, { status, ...said, ...(detail && { detail }) });
  return { kind: 'dead', failure: why };
}
