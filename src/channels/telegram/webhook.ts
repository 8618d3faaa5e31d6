/** A webhook that another program has set: https://core.telegram.org/bots/api#getwebhookinfo. */
import type { WebhookProbe } from '../channel.ts';
import type { BotApi } from './bot-api.ts';
import { object } from './fields.ts';
import { pollTimes } from './polling.ts';

const unknown: WebhookProbe = { kind: 'unknown' };

/** @param deleting deletes the webhook; the waiting updates stay */
export async function inspectWebhook(
  api: BotApi,
  deleting: boolean,
  signal: AbortSignal,
): Promise<WebhookProbe> {
  const answer = await api.call('getWebhookInfo', {}, pollTimes.callMs, signal);
  const url = answer.kind === 'done' ? object(answer.result)?.['url'] : null;
  if (typeof url !== 'string') return unknown;
  if (url === '') return { kind: 'none' };
  const host = URL.parse(url)?.host ?? 'an address that cannot be read';
  if (!deleting) return { kind: 'set', host };
  const options = { drop_pending_updates: false };
  const deleted = await api.call('deleteWebhook', options, pollTimes.callMs, signal);
  return { kind: deleted.kind === 'done' ? 'deleted' : 'set', host };
}
