/** The one sentence about the service, from its status and from whether the status is current. */
import type { Status } from '../../../src/admin/admin.ts';
import type { Refused } from '../../kit/api.ts';
import { visible } from '../../kit/visible.ts';
import { failingReceivers, undelivered } from './receivers.ts';

export type HealthWords = { readonly tone: 'good' | 'wait' | 'bad'; readonly words: string };

/**
 * Green only where each message can be answered and replied to: a channel that failed, a brain
 * whose providers all fail, or a receiver that takes no replies, is said first.
 */
export function healthOf(status: Status): HealthWords {
  if (status.status === 'failing') return { tone: 'bad', words: status.reason ?? 'Failing' };
  const routed = status.channels.filter(({ brain }) => brain !== null);
  const failed = routed.filter(({ state }) => state === 'failed').map(({ type }) => type);
  const silent = silentBrains(status);
  const deaf = failingReceivers(status).map(({ channel }) => channel);
  const isNoneLeft = routed.every(
    ({ type, brain }) => failed.includes(type) || silent.includes(brain!) || deaf.includes(type),
  );
  const what = [
    failed.length === 0 ? '' : `${listed('channel', failed)} failed`,
    silent.length === 0 ? '' : `no model answers for ${listed('brain', silent)}`,
    ...failingReceivers(status).map(undelivered),
  ].filter((part) => part !== '');
  if (what.length === 0) return { tone: 'good', words: 'Working' };
  const begin = isNoneLeft ? 'Not working' : 'Working in part';
  const tone = isNoneLeft || deaf.length > 0 ? 'bad' : 'wait';
  return { tone, words: `${begin}: ${what.join('; ')}` };
}

/** Brains that get messages, and whose providers that may be asked all fail. */
function silentBrains({ channels, brains, providers }: Status): readonly string[] {
  const failing = new Set(
    providers.flatMap(({ provider, state }) => (state === 'failing' ? [provider] : [])),
  );
  return brains.flatMap(({ name, models }) => {
    const asked = models.filter(({ state }) => state === 'asked');
    const isRouted = channels.some(({ brain }) => brain === name);
    const isSilent = asked.every((model) => failing.has(model.name.split('/')[0]!));
    return isRouted && asked.length > 0 && isSilent ? [name] : [];
  });
}

const listed = (word: string, names: readonly string[]): string =>
  `${names.length === 1 ? word : `${word}s`} ${names.map(visible).join(', ')}`;

/** Why the status that is shown is not current. @param since when it was told, in words */
export function absenceOf({ status, detail }: Refused, since: string): string {
  return status === 0
    ? `svc does not answer since ${since}`
    : `svc told nothing new since ${since}: ${detail}`;
}
