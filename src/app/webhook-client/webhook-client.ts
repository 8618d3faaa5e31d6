/** The webhook of a configuration, as somebody at this machine reaches it and stands behind it. */
import { isLoopbackHost } from '../../config/address.ts';
import type { Config, EnvName, Secrets, WebhookConfig } from '../../config/config.ts';
import { signingKeyFault } from '../../config/signing-key.ts';
import { originOf } from '../../lib/own-address.ts';
import type { ReplyChecks } from './reply-receiver.ts';

export type WebhookPlace = {
  readonly webhook: WebhookConfig;
  /** Its place in the file: `channels[0]`. */
  readonly path: string;
  readonly isRouted: boolean;
};

/** Null: there is no webhook channel. */
export function webhookIn({ channels, routes }: Config): WebhookPlace | null {
  for (const [index, channel] of channels.entries()) {
    if (channel.type !== 'webhook') continue;
    const isRouted = routes.some((route) => route.channel === channel.type);
    return { webhook: channel, path: `channels[${index}]`, isRouted };
  }
  return null;
}

/** Where messages are POSTed to. */
export function inboundUrl({ bind, path }: WebhookConfig): URL {
  return new URL(path, originOf(bind));
}

export type LocalAddress = { readonly host: string; readonly port: number };

/** Where a receiver on this machine would listen; null: replies go elsewhere, or by https. */
export function localReplyAddress({ outboundUrl }: WebhookConfig): LocalAddress | null {
  const { protocol, hostname, port } = new URL(outboundUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol !== 'http:' || !isLoopbackHost(host)) return null;
  return { host, port: Number(port) || 80 };
}

export type ReplyChecksRead =
  | { readonly kind: 'read'; readonly checks: ReplyChecks }
  /** Without this one nobody can tell whether it is svc who POSTs. */
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
