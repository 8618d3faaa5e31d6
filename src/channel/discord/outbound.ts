/**
 * Sends replies: one Create Message a try, and never a retry of its own. Within some minutes the
 * platform knows a second try by its nonce and answers it with the message that it has.
 *
 * Format: https://discord.com/developers/docs/resources/message#create-message; the numbers of
 * what can be wrong: https://discord.com/developers/docs/topics/opcodes-and-status-codes
 */
import { failure } from '../../domain/failure.ts';
import type { DeliveryOutcome, Reply } from '../../domain/reply.ts';
import type { Api, ApiResult } from './api.ts';
import { componentsOf } from './interactions.ts';
import { idIn, messageText, put } from './putting.ts';
import { toWire, type Target } from './wire.ts';

/** Refusals that no later try changes, in our words. */
const hopeless: Readonly<Record<number, string>> = {
  10003: 'the channel is gone (10003)',
  50001: 'the bot has no access to that channel (50001)',
  50007: 'that person takes no direct messages from the bot (50007)',
  50013: 'the bot may not write in that channel (50013)',
};

/**
 * Tries once to deliver one reply. It never throws.
 * @param sent is told the message that was sent or edited, as `messageText` names it
 */
export async function deliver(
  api: Api,
  reply: Reply,
  target: Target,
  signal: AbortSignal,
  sent?: (message: string) => void,
): Promise<DeliveryOutcome> {
  const { place } = target;
  const body = { ...toWire(reply, target), ...componentsOf(reply) };
  const result = await put(api, place, reply, body, signal);
  const id = result.kind === 'ok' ? idIn(result.body) : null;
  if (id !== null) sent?.(messageText({ place, id }));
  return outcomeOf(result);
}

function outcomeOf(result: ApiResult): DeliveryOutcome {
  if (result.kind === 'ok') return { kind: 'delivered' };
  if (result.kind === 'fault') {
    return { kind: 'retry', failure: failure(result.fault), mayHaveArrived: result.sent };
  }
  const { status, code, retryAfterMs } = result;
  const again = (kind: Parameters<typeof failure>[0], mayHaveArrived = false): DeliveryOutcome => {
    return { kind: 'retry', failure: failure(kind, { status, retryAfterMs }), mayHaveArrived };
  };
  if (status === 429) return again('rate_limited');
  // A new token, the same bot: the operator can mend it within the schedule.
  if (status === 401) return again('unauthorized');
  if (status === 503) return again('overloaded');
  if (status >= 500) return again('server_error', true);
  if (status < 400) return again('redirected');
  const detail = code === null ? undefined : hopeless[code];
  const kind = status === 404 ? 'gone' : 'rejected';
  return { kind: 'dead', failure: failure(kind, { status, ...(detail && { detail }) }) };
}
