/** The webhook of a configuration, for a sender and receiver on this machine. */
import { isLoopbackHost } from '../../config/address.ts';
import type { Config, Secrets } from '../../config/config.ts';
import { signingKeyFault, type EnvName } from '../../config/secret-value.ts';
import type { WebhookConfig } from '../../channels/registry.ts';
import { originOf } from '../../lib/own-address.ts';
import type { ReplyChecks } from './reply-receiver.ts';
import { later, steadyNow } from '../../lib/clock.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient } from '../../lib/http-client.ts';
import { type HttpResult } from '../../lib/http-client/exchange.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { programVersion } from '../../lib/program.ts';
import { stopOf } from '../../lib/stop.ts';

export type WebhookPlace = {
  readonly webhook: WebhookConfig;
  /** Its place in the file: `channels[0]`. */
  readonly path: string;
  readonly isRouted: boolean;
};

/**
 * Finds the webhook with this name; without a name the only one.
 * @returns null: there is no webhook channel; a sentence: another name is needed
 */
export function webhookIn(
  { channels, routes }: Config,
  named: string | null,
): WebhookPlace | string | null {
  const places = channels.flatMap((channel, index): WebhookPlace[] => {
    if (channel.type !== 'webhook') return [];
    const isRouted = routes.some((route) => route.channel === channel.name);
    return [{ webhook: channel, path: `channels[${index}]`, isRouted }];
  });
  if (named === null && places.length <= 1) return places[0] ?? null;
  const names = places.map(({ webhook }) => webhook.name).join(', ');
  if (named === null) return `There are several webhooks: choose one with --channel (${names}).`;
  const found = places.find(({ webhook }) => webhook.name === named);
  if (found !== undefined) return found;
  const known = names === '' ? 'there is none' : `there are: ${names}`;
  return `--channel is the name of a webhook, and "${plainLine(named)}" is none; ${known}.`;
}

/** The URL that messages are POSTed to. */
export function inboundUrl({ bind, path }: WebhookConfig): URL {
  return new URL(path, originOf(bind));
}

export type LocalAddress = { readonly host: string; readonly port: number };

/** Where a receiver on this machine would listen; null: replies go elsewhere, or over https. */
export function localReplyAddress({ outboundUrl }: WebhookConfig): LocalAddress | null {
  const { protocol, hostname, port } = new URL(outboundUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol !== 'http:' || !isLoopbackHost(host)) return null;
  return { host, port: Number(port) || 80 };
}

export type ReplyChecksRead =
  | { readonly kind: 'read'; readonly checks: ReplyChecks }
  /** Without this variable, nobody can check whether svc sends the POST. */
  | { readonly kind: 'missing'; readonly name: EnvName };

export function replyChecks(
  { outboundTokenEnv, outboundSigningEnv }: WebhookConfig,
  secrets: Secrets,
): ReplyChecksRead {
  const secret = outboundTokenEnv && (secrets.get(outboundTokenEnv) ?? null);
  if (outboundTokenEnv !== null && secret === null) return missing(outboundTokenEnv);
  const signingKey = outboundSigningEnv && (secrets.get(outboundSigningEnv) ?? null);
  const isKey = signingKey !== null && signingKeyFault(signingKey) === null;
  if (outboundSigningEnv !== null && !isKey) return missing(outboundSigningEnv);
  return { kind: 'read', checks: { secret, signingKey } };
}

function missing(name: EnvName): ReplyChecksRead {
  return { kind: 'missing', name };
}

/** A message to POST to the running service, as any sender would. */
type Said = { readonly sender: string; readonly text: string };

/** `refused`: a sentence for the person who asked. */
type Posted =
  | { readonly kind: 'accepted'; readonly id: string }
  | { readonly kind: 'refused'; readonly message: string };

const answerMs = 30_000;
const bodyBytesMax = 65_536;

/** @param start the command line that starts the service, for the remedy if none answers */
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
      // Header bytes are latin1; this writes the bytes of UTF-8 so.
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
