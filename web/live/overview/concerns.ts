/**
 * The facts of a service's status that may need a person, the worst first: its brains and models,
 * channels, receivers, storage, instances and warnings.
 */
import { describeWarning } from '../../../src/config/place-words.ts';
import { channelName } from '../../../src/channels/registry.ts';
import type { InstanceStatus, Status } from '../../../src/admin/admin.ts';
import type { AnsweringStatus, ModelCallsStatus } from '../../../src/admin/model-probes.ts';
import { failure } from '../../../src/domain/failure.ts';
import { isRescued, describeCause, describeFailed } from '../../../src/domain/health.ts';
import { formatModelName } from '../../../src/domain/model-words.ts';
import { remedyForModel } from '../../../src/domain/remedy.ts';
import { ago, count, lasted, length, sentence, some, upper } from '../../kit/words.ts';
import { nameOf } from '../channels.ts';
import { cutChannels } from './cut-channels.ts';
import { longWaitMs } from './long-waits.ts';
import { failingReceivers, receiverCause, receiverMove, receiverTone } from './receivers.ts';
import { storageTrouble } from './storage-trouble.ts';

export type Concern = {
  readonly key: string;
  readonly tone: 'bad' | 'wait';
  readonly what: string;
  /** Advice, if there is any. */
  readonly remedy: string | null;
  /** The place in the page with the details. */
  readonly place: Readonly<Record<string, string>> | null;
};

/** @param now milliseconds since 1970 */
export function concernsOf(status: Status, now: number): readonly Concern[] {
  return [
    ...ofService(status),
    ...ofInstances(status, now),
    ...ofChannels(status),
    ...ofReceivers(status, now),
    ...ofUnanswered(status, now),
    ...ofBacklog(status, now),
    ...ofHeld(status),
    ...ofApprovals(status),
    ...ofDeadLetters(status),
    ...ofLeftOut(status),
    ...ofWarnings(status),
  ].toSorted((a, b) => Number(b.tone === 'bad') - Number(a.tone === 'bad'));
}

/** Leaves out the warning that the first concern already shows. */
function otherWarnings(status: Status): Status['warnings'] {
  const storage = storageTrouble(status);
  return status.warnings.filter((one) => one !== storage);
}

function ofService(status: Status): readonly Concern[] {
  const { reason, counts } = status;
  const concerns: Concern[] = [];
  const storage = storageTrouble(status);
  if (storage !== undefined) {
    const { message, remedy } = storage;
    const place = { view: 'config' };
    concerns.push({ key: 'storage', tone: 'bad', what: sentence(message), remedy, place });
  } else if (status.status === 'failing') {
    const what = sentence(`svc cannot work: ${reason ?? 'why is not known'}`);
    concerns.push({ key: 'failing', tone: 'bad', what, remedy: null, place: null });
  }
  if (counts.faults > 0) {
    const what = `${some(counts.faults, 'bug')} of svc came up since the start.`;
    const remedy = 'The log says where (code "fault").';
    concerns.push({ key: 'faults', tone: 'wait', what, remedy, place: null });
  }
  return concerns;
}

function ofInstances({ instances, revision }: Status, now: number): readonly Concern[] {
  const place = { view: 'instances' };
  return (instances ?? []).flatMap((instance): Concern[] => {
    const what = whatOf(instance, revision, now);
    if (what === null) return [];
    return [{ key: `instance ${instance.id}`, tone: 'wait', what, remedy: null, place }];
  });
}

/** @returns null if the instance is well */
function whatOf(instance: InstanceStatus, revision: string, now: number): string | null {
  const { id, state, reason, toldAt } = instance;
  const who = `Instance ${id}`;
  if (state === 'failing') return sentence(`${who} is failing: ${reason ?? 'why is not known'}`);
  if (state === 'late') {
    const last = toldAt === null ? 'has told nothing yet' : `was last heard ${ago(toldAt, now)}`;
    return `${who} is late: it ${last}.`;
  }
  const isOther = instance.revision !== null && instance.revision !== revision;
  return isOther ? `${who} has another configuration: ${instance.revision}.` : null;
}

function ofChannels(status: Status): readonly Concern[] {
  const cut = cutChannels(status);
  return status.channels.flatMap((channel): Concern[] => {
    const { state, reason, instance } = channel;
    const name = nameOf(channel);
    if (state !== 'failed' && state !== 'degraded') return [];
    const isCut = cut.includes(channel);
    const tone = isCut || state === 'failed' ? 'bad' : 'wait';
    const why = reason === null ? '' : `: ${reason}`;
    const where = typeof instance === 'number' ? ` at instance ${instance}` : '';
    const stands = isCut ? 'takes no messages in' : 'is degraded';
    const how = state === 'failed' ? 'has failed' : stands;
    const what = sentence(`The channel ${channelName(name)} ${how}${where}${why}`);
    // A failed channel often has a wrong setting; for a degraded one, its last messages may explain
    // more.
    const place = state === 'failed' ? { view: 'config' } : { view: 'messages', channel: name };
    return [{ key: `channel ${name}`, tone, what, remedy: null, place }];
  });
}

function ofReceivers(status: Status, now: number): readonly Concern[] {
  return failingReceivers(status).map((receiver) => ({
    key: `receiver ${receiver.channel}`,
    tone: receiverTone(receiver),
    what: receiverCause(receiver, now),
    remedy: receiverMove(receiver),
    place: { view: 'deliveries', channel: receiver.channel },
  }));
}

/** Brains whose messages get no answer, and failing models, whose messages others may answer. */
function ofUnanswered({ answering, models }: Status, now: number): readonly Concern[] {
  const brains = (answering ?? []).flatMap((one) => ofBrain(one, now));
  const coveredModels = new Set(brains.map(({ model }) => model));
  const isAnswered = brains.length === 0;
  return [
    ...brains.map(({ concern }) => concern),
    ...models.flatMap((one) => (coveredModels.has(one.model) ? [] : ofModel(one, isAnswered, now))),
  ];
}

type BrainConcern = { readonly concern: Concern; readonly model: string | null };

function ofBrain(one: AnsweringStatus, now: number): readonly BrainConcern[] {
  const { brain, standing, since, model, reason } = one;
  if (standing !== 'failing' && standing !== 'degraded') return [];
  const begin =
    standing === 'failing'
      ? `No model answers for the brain ${brain}`
      : `Some messages to the brain ${brain} get no answer`;
  const cause = describeCause(model, reason);
  const what = sentences(
    `${begin}${since === null ? '' : `, for ${lasted(since, now)} now`}${
      cause === '' ? '' : `: ${cause}`
    }`,
    describeFailed(one.window, 'messages') ?? formatAge(one.shownAt, now),
  );
  const remedy = model === null || reason === null ? null : remedyForModel(reason, model);
  const place = model === null ? { view: 'messages', brain } : { view: 'model', id: model };
  const tone = standing === 'failing' ? 'bad' : 'wait';
  return [{ concern: { key: `brain ${brain}`, tone, what, remedy, place }, model }];
}

/** @param isAnswered whether every brain answers its messages */
function ofModel(one: ModelCallsStatus, isAnswered: boolean, now: number): readonly Concern[] {
  const { model, inUse, standing, since, reason, answeredByOthers } = one;
  if (inUse !== true || (standing !== 'failing' && standing !== 'degraded')) return [];
  const name = formatModelName(model);
  const begin =
    standing === 'failing'
      ? `${name} does not answer${since === null ? '' : `, for ${lasted(since, now)} now`}`
      : `${name} fails at some calls${isAnswered && isRescued(one) ? ', and retries answer' : ''}`;
  const why = reason === null ? '' : `: ${failure(reason).detail}`;
  const others =
    (answeredByOthers ?? 0) > 0
      ? `Other models answered ${some(answeredByOthers ?? 0, 'message')} in its place`
      : null;
  const counted = describeFailed(one.window, 'calls') ?? formatAge(one.shownAt, now);
  const what = sentences(`${begin}${why}`, counted, others);
  const remedy = reason === null ? null : remedyForModel(reason, model);
  return [
    { key: `model ${model}`, tone: 'wait', what, remedy, place: { view: 'model', id: model } },
  ];
}

/** The health of a model without recent calls stays as it was, so its age is shown. */
const formatAge = (shownAt: number | null, now: number): string | null =>
  shownAt === null ? null : `last tried ${ago(shownAt, now)}`;

function sentences(first: string, ...more: readonly (string | null)[]): string {
  const said = more.flatMap((words) => (words === null ? [] : [sentence(upper(words))]));
  return [sentence(first), ...said].join(' ');
}

function ofBacklog(status: Status, now: number): readonly Concern[] {
  const coveredChannels = new Set(failingReceivers(status).map(({ channel }) => channel));
  return status.backlog.flatMap(({ channel, inbox, outbox, unroutable, oldestAt }) => {
    const concerns: Concern[] = [];
    const waitedMs = oldestAt === null ? 0 : now - oldestAt;
    const areMessages = inbox > outbox;
    // The concern about a failing receiver already covers the replies that wait for it.
    if (waitedMs > longWaitMs && (areMessages || !coveredChannels.has(channel))) {
      const many = count(inbox + outbox);
      const what = `On ${channelName(channel)} ${many} wait, the oldest for ${length(waitedMs)}.`;
      const place = areMessages
        ? { view: 'messages', channel, state: 'waiting' }
        : { view: 'deliveries', channel };
      concerns.push({ key: `wait ${channel}`, tone: 'wait', what, remedy: null, place });
    }
    if (unroutable > 0) {
      const many = `${count(unroutable)} of ${channelName(channel)}`;
      const what = `${many} wait for a channel or route that is gone.`;
      const remedy = 'Put it back, or let them become dead letters after seven days.';
      concerns.push({ key: `gone ${channel}`, tone: 'wait', what, remedy, place: null });
    }
    return concerns;
  });
}

function ofWarnings(status: Status): readonly Concern[] {
  return otherWarnings(status).map((warning) => {
    const { code, path, remedy, instances } = warning;
    const at = (instances ?? []).join(', ');
    const whose = at === '' ? '' : `At instance ${at}: `;
    const { where, message } = describeWarning(warning, status);
    const said = where === '' ? message : `${where}: ${message}`;
    // A path without a name in words stays as it is.
    const isPlace = where !== '' && where === path;
    const what = sentence(whose === '' && !isPlace ? upper(said) : `${whose}${said}`);
    return { key: `${code} ${path} ${whose}`, tone: 'wait', what, remedy, place: null };
  });
}

/** Messages of these conversations wait for a person. */
function ofHeld({ held }: Status): readonly Concern[] {
  if (held === null || held === 0) return [];
  const what = `${some(held, 'conversation is', 'conversations are')} answered by hand.`;
  return [{ key: 'held', tone: 'wait', what, remedy: null, place: { view: 'conversations' } }];
}

function ofApprovals({ approvals }: Status): readonly Concern[] {
  if (approvals === null || approvals.waiting === 0) return [];
  const calls = some(approvals.waiting, 'call waits', 'calls wait');
  const what = `${calls} for a yes: no tool runs before it.`;
  const place = { view: 'approvals' };
  return [{ key: 'approvals', tone: 'wait', what, remedy: null, place }];
}

function ofLeftOut({ warningsLeftOut }: Status): readonly Concern[] {
  if (warningsLeftOut === 0) return [];
  const what = `There are ${some(warningsLeftOut, 'more warning')} than are shown here.`;
  const remedy = 'The log has them all.';
  return [{ key: 'left out', tone: 'wait', what, remedy, place: null }];
}

function ofDeadLetters({ counts: { deadLettersKept } }: Status): readonly Concern[] {
  if (deadLettersKept === 0) return [];
  const letters = some(deadLettersKept, 'dead letter waits', 'dead letters wait');
  const what = `${letters} for a decision.`;
  const place = { view: 'dead-letters' };
  return [{ key: 'dead letters', tone: 'wait', what, remedy: null, place }];
}
