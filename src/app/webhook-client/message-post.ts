/** Says one message to the webhook of the running service, as any sender would. */
import type { WebhookConfig } from '../../config/config.ts';
import { later, steadyNow } from '../../lib/clock.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient, type HttpResult } from '../../lib/http-client.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { programVersion } from '../../lib/program.ts';
import { stopOf } from '../../lib/stop.ts';
import { inboundUrl } from './webhook-client.ts';

export type Said = { readonly sender: string; readonly text: string };

/** `refused`: a sentence for the person who asked. */
export type Posted =
  | { readonly kind: 'accepted'; readonly id: string }
  | { readonly kind: 'refused'; readonly message: string };

const answerMs = 30_000;
const bodyBytesMax = 65_536;

/** @param start the line that starts the service, for where none answers */
export async function postMessage(
  webhook: WebhookConfig,
  secret: string,
  { sender, text }: Said,
  stop: AbortSignal,
  start = 'svc serve',
): Promise<Posted> {
  const { mapping } = webhook;
  const url = inboundUrl(webhook);
  const http = createHttpClient(createDeadlines());
  const request = {
    method: 'POST',
    url,
    headers: {
      // Header bytes are latin1, and this is how the bytes of UTF-8 look in it.
      authorization: `Bearer ${Buffer.from(secret, 'utf8').toString('latin1')}`,
      'content-type': 'application/json',
      'user-agent': `svc/${programVersion()}`,
    },
    body: JSON.stringify(
      Object.fromEntries([
        [mapping.sender_id, sender],
        [mapping.text, text],
      ]),
    ),
    deadlineAt: later(steadyNow(), answerMs),
    bodyBytesMax,
  } as const;
  try {
    return outcomeOf(await http.send(request, stopOf(stop)), url, webhook, start);
  } finally {
    await http.close();
  }
}

function outcomeOf(
  result: HttpResult,
  url: URL,
  { tokenEnv }: WebhookConfig,
  start: string,
): Posted {
  if (result.kind === 'fault') return refused(describeFault(result, url, start));
  const { status, body } = result;
  const found = parse(body);
  if (status === 200 && typeof found['message_id'] === 'string') {
    return { kind: 'accepted', id: found['message_id'] };
  }
  if (status === 401) {
    return refused(
      `The running svc does not accept the value of ${tokenEnv}: ` +
        'set it here to what the service was started with.',
    );
  }
  if (typeof found['code'] === 'string' && typeof found['detail'] === 'string') {
    return refused(`The running svc refused: ${plainLine(found['detail'])}`);
  }
  return refused(`What answers at ${url.href} is no webhook of svc: it answered ${status}.`);
}

function describeFault(
  { fault, sent }: HttpResult & { kind: 'fault' },
  { host }: URL,
  start: string,
): string {
  if (fault === 'connect_failed' || fault === 'connect_timeout') {
    return (
      `No running svc answers at ${host}, the webhook's address (webhook.bind). ` +
      `Start it in another terminal: ${start}`
    );
  }
  const unsure = sent ? '; it may have been accepted all the same' : '';
  if (fault === 'cancelled') return `Given up${unsure}.`;
  if (fault === 'timeout')
    return `The webhook at ${host} gave no answer within ${answerMs / 1000} s${unsure}.`;
  return `The connection to the webhook at ${host} broke before its answer was whole${unsure}.`;
}

function parse(body: string): Readonly<Record<string, unknown>> {
  try {
    const found = JSON.parse(body) as unknown;
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function refused(message: string): Posted {
  return { kind: 'refused', message };
}
