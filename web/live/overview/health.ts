/** The headline about the service, from its status and from whether the status is current. */
import { channelName } from '../../../src/channels/registry.ts';
import { formatModelName, describeModelOn } from '../../../src/domain/model-words.ts';
import type { Status } from '../../../src/admin/admin.ts';
import type { AnsweringStatus } from '../../../src/admin/model-probes.ts';

import type { FailureKind } from '../../../src/domain/failure.ts';
import { remedyForModel } from '../../../src/domain/remedy.ts';
import { describeCause } from '../../../src/domain/health.ts';
import type { Refused } from '../../kit/api.ts';
import { visible } from '../../kit/visible.ts';
import { nameOf } from '../channels.ts';
import { cutChannels, describeCut } from './cut-channels.ts';
import { longWaits } from './long-waits.ts';
import {
  failingReceivers,
  receiverMove,
  receiverTone,
  undelivered,
  type FailingReceiver,
} from './receivers.ts';
import { storageTrouble } from './storage-trouble.ts';

export type HealthWords = {
  readonly tone: 'good' | 'wait' | 'bad';
  readonly words: string;
  /** Advice, if there is any. */
  readonly move: string | null;
};

/**
 * Red: nothing of a kind gets through. No message of a channel comes in, no message of a brain is
 * answered, or no reply of a receiver arrives. Amber: svc works, but a part of it does not, or not
 * always. The words contain no number, so they change only with the facts.
 */
export function healthOf(status: Status): HealthWords {
  if (status.status === 'failing') {
    const words = status.reason === null ? 'Not working' : `Not working: ${status.reason}`;
    return { tone: 'bad', words, move: storageTrouble(status)?.remedy ?? null };
  }
  const routed = status.channels.filter(({ brain }) => brain !== null);
  const cut = cutChannels(status);
  const silent = troubled(status, 'failing');
  const halting = troubled(status, 'degraded');
  const receivers = failingReceivers(status);
  const deaf = receivers.filter((one) => receiverTone(one) === 'bad');
  const none = [
    ...cut.map(describeCut),
    describeBrains('no model answers for', silent),
    ...deaf.map(undelivered),
  ].filter((part) => part !== '');
  const some = [
    describeBrains('some messages get no answer from', halting),
    ...receivers.filter((one) => !deaf.includes(one)).map(undelivered),
  ].filter((part) => part !== '');
  if (none.length + some.length === 0) return ofModels(status);
  const isNoneLeft = routed.every(
    (channel) =>
      cut.includes(channel) ||
      silent.some((one) => one.brain === channel.brain) ||
      deaf.some((one) => one.channel === nameOf(channel)),
  );
  const move = moveOf(silent[0], deaf[0]) ?? moveOf(halting[0], receivers[0]);
  const words = [...none, ...some].join('; ');
  if (none.length === 0) return { tone: 'wait', words: `Working, but ${words}`, move };
  const begin = isNoneLeft ? 'Not working' : 'Working in part';
  return { tone: 'bad', words: `${begin}: ${words}`, move };
}

function troubled(
  { answering }: Status,
  standing: AnsweringStatus['standing'],
): readonly AnsweringStatus[] {
  return (answering ?? []).filter((one) => one.standing === standing);
}

/** Names the brains, with the cause of the first one. */
function describeBrains(begin: string, all: readonly AnsweringStatus[]): string {
  const [first] = all;
  if (first === undefined) return '';
  const cause = describeCause(first.model, first.reason, describeModelOn);
  const names = listed(
    'brain',
    all.map(({ brain }) => brain),
  );
  return `${begin} ${names}${cause === '' ? '' : ` (${visible(cause)})`}`;
}

/** All finished messages have an answer; this looks at the models behind them. */
function ofModels(status: Status): HealthWords {
  const inUse = status.models.filter((one) => one.inUse === true);
  const failing = inUse.filter((one) => one.standing === 'failing');
  const worst = failing.length > 0 ? failing : inUse.filter((one) => one.standing === 'degraded');
  const [first] = worst;
  if (first === undefined) return ofWaits(status);
  const names = worst.map(({ model }) => visible(formatModelName(model))).join(', ');
  const isOne = worst.length === 1;
  const how =
    failing.length > 0
      ? `${isOne ? 'does' : 'do'} not answer`
      : `${isOne ? 'fails' : 'fail'} at some calls`;
  return { tone: 'wait', words: `Working, but ${names} ${how}`, move: moveFor(first) };
}

/** No call has failed, but a hanging call fails only after minutes. */
function ofWaits(status: Status): HealthWords {
  const channels = longWaits(status).map(channelName);
  if (channels.length === 0) return { tone: 'good', words: 'Working', move: null };
  const words = `Working, but messages on ${channels.join(', ')} wait long for an answer`;
  const move = 'See at Models whether the models of its brain answer at all, or are too slow.';
  return { tone: 'wait', words, move };
}

type Failed = { readonly model: string | null; readonly reason: FailureKind | null };

/** The first advice: about a model, or else about a receiver. */
function moveOf(failed: Failed | undefined, deaf: FailingReceiver | undefined): string | null {
  if (failed !== undefined || deaf === undefined) return moveFor(failed);
  return receiverMove(deaf);
}

function moveFor(failed: Failed | undefined): string | null {
  const { model = null, reason = null } = failed ?? {};
  return model === null || reason === null ? null : remedyForModel(reason, model);
}

const listed = (word: string, names: readonly string[]): string =>
  `${names.length === 1 ? word : `${word}s`} ${names.map(visible).join(', ')}`;

/** Why the shown status is not current. @param since time of the status, in words */
export function absenceOf({ status, detail }: Refused, since: string): string {
  return status === 0
    ? `svc does not answer since ${since}`
    : `svc told nothing new since ${since}: ${detail}`;
}
