/** Receivers that accept no replies: the cause in words, and advice. */
import { channelName } from '../../../src/channels/registry.ts';
import type { DeliveryStatus } from '../../../src/admin/deliveries.ts';
import type { Status } from '../../../src/admin/admin.ts';
import type { FailureKind } from '../../../src/domain/failure.ts';
import { typeOf } from '../channels.ts';
import { length, moment, sentence, some, spaced } from '../../kit/words.ts';

/** A receiver, with the type of its channel. */
export type FailingReceiver = DeliveryStatus & { readonly type: string };

export function failingReceivers(
  status: Pick<Status, 'deliveries' | 'channels'>,
): readonly FailingReceiver[] {
  const failing = (status.deliveries ?? []).filter(({ state }) => state === 'failing');
  return failing.map((one) => ({ ...one, type: typeOf(status, one.channel) }));
}

type Moves = Partial<Readonly<Record<FailureKind, string>>>;

/** Words for the headline. */
export const undelivered = (receiver: DeliveryStatus, now: number): string =>
  `${arrivesAtTimes(receiver, now) ? 'some ' : ''}replies on ${channelName(receiver.channel)} ` +
  'do not arrive';

/** In the first minute of a failure, the counted successes are older than the failure. */
export const arrivesAtTimes = ({ minute, since }: DeliveryStatus, now: number): boolean =>
  since !== null && now - since >= 60_000 && minute.failed < minute.tried;

/** The failure, its beginning, and the number of waiting replies. */
export function receiverCause(receiver: FailingReceiver, now: number): string {
  const { channel, type, since, waiting, oldestAt } = receiver;
  const began = since === null ? '' : ` since ${moment(since, now)}`;
  const who =
    type === 'webhook' ? `The receiver of ${channelName(channel)} replies` : channelName(channel);
  const waits = some(waiting, 'reply waits', 'replies wait');
  const oldest = oldestAt === null ? '' : `, the oldest ${length(wholeSeconds(now - oldestAt))}`;
  return sentence(`${who} ${doing(receiver, now)}${began}; ${waits}${oldest}`);
}

const wholeSeconds = (ms: number): number => Math.max(1_000, Math.floor(ms / 1_000) * 1_000);

/** Describes the most frequent reason. */
function doing(receiver: DeliveryStatus, now: number): string {
  const [reason] = receiver.reasons;
  // The first tries have not failed yet.
  if (reason === undefined) return 'answers nothing';
  const { code, status } = reason;
  const atTimes = arrivesAtTimes(receiver, now) ? ' at times' : '';
  if (status !== null) return `answers ${status}${atTimes}`;
  if (code === 'connect_failed') return 'cannot be reached';
  return `fails${atTimes} (${spaced(code)})`;
}

export function receiverMove({ type, reasons: [reason] }: FailingReceiver): string {
  const move = firstMove(type, reason?.code ?? null);
  // A receiver without a reason is silent: all its replies are being tried.
  return reason === undefined ? move : `${move} At Deliveries all can be tried now.`;
}

const webhookMoves: Moves = {
  connect_failed: 'See that it runs, and that outbound_url is right.',
  connect_timeout: 'See that it runs, and that outbound_url is right.',
  unauthorized: 'Check outbound_token_env and its value.',
  not_found: 'Check outbound_url.',
  redirected: 'Check outbound_url.',
  gone: 'Check outbound_url.',
  rejected: 'Check outbound_url.',
  overloaded: 'It has too much to do; svc waits and tries again.',
  rate_limited: 'It has too much to do; svc waits and tries again.',
};
const messengerMoves: Moves = {
  connect_failed: 'Check the way from this machine to the network.',
  connect_timeout: 'Check the way from this machine to the network.',
  unauthorized: 'Check token_env and its value.',
};

function firstMove(type: string, code: FailureKind | null): string {
  const isWebhook = type === 'webhook';
  const otherwise = isWebhook ? "Look into the receiver's log." : 'svc goes on trying.';
  if (code === null) return otherwise;
  return (isWebhook ? webhookMoves : messengerMoves)[code] ?? otherwise;
}
