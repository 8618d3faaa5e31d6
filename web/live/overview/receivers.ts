/** Who takes replies, and does not: what is said of it, and what a person can do. */
import type { DeliveryStatus } from '../../../src/admin/deliveries.ts';
import type { Status } from '../../../src/admin/admin.ts';
import { length, moment, sentence, some, spaced } from '../../kit/words.ts';

export function failingReceivers({ deliveries }: Pick<Status, 'deliveries'>) {
  return (deliveries ?? []).filter(({ state }) => state === 'failing');
}

/** For the headline. */
export const undelivered = ({ channel }: DeliveryStatus): string =>
  `replies on ${channel} do not arrive`;

/** What is wrong, since when, and how much waits for it. */
export function receiverCause(receiver: DeliveryStatus, now: number): string {
  const { channel, since, waiting, oldestAt } = receiver;
  const began = since === null ? '' : ` since ${moment(since, now)}`;
  const who = channel === 'webhook' ? 'The receiver of webhook replies' : `${channel}`;
  const waits = some(waiting, 'reply waits', 'replies wait');
  const oldest = oldestAt === null ? '' : `, the oldest ${length(wholeSeconds(now - oldestAt))}`;
  return sentence(`${who} ${doing(receiver)}${began}; ${waits}${oldest}`);
}

const wholeSeconds = (ms: number): number => Math.max(1_000, Math.floor(ms / 1_000) * 1_000);

/** By the reason that is the most frequent now. */
function doing({ reasons: [reason], minute }: DeliveryStatus): string {
  if (reason === undefined) return 'takes no replies';
  const { code, status } = reason;
  const atTimes = minute.failed < minute.tried ? ' at times' : '';
  if (status !== null) return `answers ${status}${atTimes}`;
  if (code === 'connect_failed') return 'cannot be reached';
  return `fails${atTimes} (${spaced(code)})`;
}

export function receiverMove({ channel, reasons: [reason] }: DeliveryStatus): string {
  return `${firstMove(channel, reason?.code ?? null)} At Deliveries all can be tried now.`;
}

function firstMove(
  channel: string,
  code: DeliveryStatus['reasons'][number]['code'] | null,
): string {
  const isWebhook = channel === 'webhook';
  switch (code) {
    case 'connect_failed':
    case 'connect_timeout':
      return isWebhook
        ? 'See that it runs, and that outbound_url is right.'
        : 'Check the way from this machine to the network.';
    case 'unauthorized':
      return isWebhook
        ? 'Check outbound_token_env and its value.'
        : 'Check token_env and its value.';
    case 'not_found':
    case 'redirected':
    case 'gone':
    case 'rejected':
      return isWebhook ? 'Check outbound_url.' : 'Look at the reasons.';
    case 'rate_limited':
    case 'overloaded':
      return 'It has too much to do; svc waits and tries again.';
    default:
      return isWebhook ? "Look into the receiver's log." : 'svc goes on trying.';
  }
}
