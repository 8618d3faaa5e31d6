/** Receivers that accept no replies: the cause in words, and advice. */
import { channelName } from '../../../src/channels/registry.ts';
import type { DeliveryStatus } from '../../../src/admin/deliveries.ts';
import type { Status } from '../../../src/admin/admin.ts';
import type { FailureKind } from '../../../src/domain/failure.ts';
import { typeOf } from '../channels.ts';
import { count, length, moment, sentence, some, spaced } from '../../kit/words.ts';

/** A receiver, with the type of its channel. */
export type FailingReceiver = DeliveryStatus & { readonly type: string };

export function failingReceivers(
  status: Pick<Status, 'deliveries' | 'channels'>,
): readonly FailingReceiver[] {
  const failing = (status.deliveries ?? []).filter(({ state }) => state === 'failing');
  return failing.map((one) => ({ ...one, type: typeOf(status, one.channel) }));
}

type Moves = Partial<Readonly<Record<FailureKind, string>>>;

/** What arrives, in words. */
export const arrivalWords = ({ someArrive }: DeliveryStatus, where = ''): string =>
  `${someArrive === true ? 'some ' : ''}replies${where} do not arrive`;

/** Red: no reply arrives. */
export const receiverTone = ({ someArrive }: DeliveryStatus): 'bad' | 'wait' =>
  someArrive === true ? 'wait' : 'bad';

/** Words for the headline. */
export const undelivered = (one: DeliveryStatus): string =>
  arrivalWords(one, ` on ${channelName(one.channel)}`);

/** The failure, with its share if some replies arrive, its beginning, and the waiting replies. */
export function receiverCause(receiver: FailingReceiver, now: number): string {
  const { channel, type, since, waiting, oldestAt, minute, someArrive } = receiver;
  const began = since === null ? '' : ` since ${moment(since, now)}`;
  const who =
    type === 'webhook' ? `The receiver of ${channelName(channel)} replies` : channelName(channel);
  const waits = waiting === 0 ? '' : `; ${some(waiting, 'reply waits', 'replies wait')}`;
  const oldest = oldestAt === null ? '' : `, the oldest ${length(wholeSeconds(now - oldestAt))}`;
  const hasShare = someArrive === true && minute.failed > 0;
  const what = hasShare ? shareWords(receiver) : `${who} ${doing(receiver)}${began}`;
  return sentence(`${what}${waits}${oldest}`);
}

const wholeSeconds = (ms: number): number => Math.max(1_000, Math.floor(ms / 1_000) * 1_000);

/** "6 of 30 tries to deliver on webhook were refused with 422 in the last minute". */
function shareWords({ channel, minute: { tried, failed }, reasons }: DeliveryStatus): string {
  const of = `${count(failed)} of ${some(tried, 'try', 'tries')} to deliver on`;
  const [first] = reasons;
  const how = first === undefined ? 'failed' : failedAs(first, failed);
  return `${of} ${channelName(channel)} ${how} in the last minute`;
}

function failedAs({ code, status, minute }: DeliveryStatus['reasons'][number], failed: number) {
  const why = status === null ? ` (${spaced(code)})` : ` with ${status}`;
  if (minute < failed) return `failed, ${count(minute)} of them${why},`;
  if (code !== 'rejected') return `failed${why}`;
  return `${failed === 1 ? 'was' : 'were'} refused${why}`;
}

/** Describes the most frequent reason. */
function doing({ reasons: [reason] }: DeliveryStatus): string {
  // The first tries have not failed yet.
  if (reason === undefined) return 'answers nothing';
  const { code, status } = reason;
  if (status !== null) return `answers ${status}`;
  return code === 'connect_failed' ? 'cannot be reached' : `fails (${spaced(code)})`;
}

export function receiverMove({ type, reasons: [reason], someArrive }: FailingReceiver): string {
  const isReached = someArrive === true && reason?.status != null;
  const move = firstMove(type, reason?.code ?? null, isReached);
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
  overloaded: 'It has too much to do; svc waits and tries again.',
  rate_limited: 'It has too much to do; svc waits and tries again.',
};
const messengerMoves: Moves = {
  connect_failed: 'Check the way from this machine to the network.',
  connect_timeout: 'Check the way from this machine to the network.',
  unauthorized: 'Check token_env and its value.',
};

const readLog =
  "Read in the receiver's log why it refuses them; what svc gave up is at Dead letters.";

/** @param isReached whether the receiver takes other replies, so that its settings are right */
function firstMove(type: string, code: FailureKind | null, isReached: boolean): string {
  const isWebhook = type === 'webhook';
  const otherwise = isWebhook ? "Look into the receiver's log." : 'svc goes on trying.';
  if (code === null) return otherwise;
  if (code === 'rejected' || (isReached && settingsAre.has(code))) {
    return isWebhook ? readLog : 'What svc gave up is at Dead letters.';
  }
  return (isWebhook ? webhookMoves : messengerMoves)[code] ?? otherwise;
}

/** Failures that a wrong setting causes if they meet every reply. */
const settingsAre: ReadonlySet<FailureKind> = new Set([
  'unauthorized',
  'not_found',
  'redirected',
  'gone',
]);
