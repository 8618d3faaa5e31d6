/** The health of providers, models and brains, merged from several instances. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { messageId } from '../../../test/fake/admin-world.ts';
import { makeInstances, type OtherInstance } from '../../../test/fake/other-instances.ts';
import type { ChannelKey, ModelName } from '../../domain/ids.ts';
import { statusOf } from '../status.ts';
import { reportOf, describeReport, type Report } from './report.ts';

const small = 'local_runtime/small' as ModelName;

/** Two instances. Their route leads to the brain that may ask both models. */
function two() {
  const all = makeInstances([1, 2]);
  for (const one of all) {
    const plan = one.ports.runningConfig();
    const plain = { number: 1, when: null, description: null };
    const routes = [{ channel: 'webhook', brain: 'open', ...plain }];
    one.ports = {
      ...one.ports,
      runningConfig: () => ({ ...plan, config: { ...plan.config, routes } }),
    };
  }
  const [asked, other] = all;
  return { asked: asked!, other: other! };
}

function call(of: OtherInstance, at: number, result: 'answer' | 'timeout', name = small): void {
  of.clockMs = at;
  const provider = name.split('/')[0]!;
  of.events.modelAnswered({ model: name, provider, result, ms: 1 });
}

function turn(of: OtherInstance, at: number, isReply: boolean): void {
  of.clockMs = at;
  const who = { channel: 'webhook' as ChannelKey, id: messageId, sender: { id: 'a', name: null } };
  const decision = isReply
    ? ({ kind: 'reply', text: 'yes', model: small, why: 'first' } as const)
    : ({ kind: 'apology', apology: 'no_answer', why: 'none' } as const);
  of.events.turnFinished({ ...who, brain: 'open', decision, ms: 1 });
}

const told = (of: OtherInstance) => statusOf(of.ports, 'operator', 'operator');

test('windows are sums; what answers one and not the other fails now and then', async () => {
  const { asked, other } = two();
  const now = async () => {
    const { providers, models } = await told(asked);
    const [{ standing, since, window }] = models as [(typeof models)[number]];
    assert.deepEqual([providers[0]!.standing, providers[0]!.window], [standing, window]);
    return [providers[0]!.state, standing, since, window!.oneMinute];
  };
  assert.deepEqual(await now(), ['unknown', 'unknown', null, { answers: 0, failures: 0 }]);
  for (const at of [1_000_100, 1_000_200]) call(other, at, 'timeout');
  assert.deepEqual(await now(), ['failing', 'failing', 1_000_200, { answers: 0, failures: 2 }]);
  for (const at of [1_000_150, 1_000_300, 1_000_400]) call(asked, at, 'answer');
  assert.deepEqual(await now(), ['up', 'degraded', 1_000_200, { answers: 3, failures: 2 }]);
});

test('what one saw long before others saw something says nothing of now', async () => {
  const { asked, other } = two();
  for (const at of [1_000_100, 1_000_200]) call(other, at, 'timeout');
  call(asked, 1_400_000, 'answer');
  other.clockMs = 1_400_000;
  const { models } = await told(asked);
  assert.deepEqual([models[0]!.standing, models[0]!.since], ['up', 1_400_000]);
});

test('one of the release before tells what its last call showed of a provider', async () => {
  const { asked, other } = two();
  for (const at of [1_000_100, 1_000_200]) call(other, at, 'timeout');
  other.change = (report: Report) => ({
    ...report,
    brains: undefined,
    providers: report.providers.map((one) => ({ ...one, standing: undefined })),
    models: report.models.map(({ model, provider, calls }) => ({ model, provider, calls })),
  });
  const { providers, models, answering, instances } = await told(asked);
  assert.equal(instances![1]!.state, 'up');
  assert.deepEqual(
    [providers[0]!.state, providers[0]!.reason, providers[0]!.model],
    ['failing', 'timeout', small],
  );
  assert.deepEqual([models[0]!.failures, models[0]!.standing], [2, 'unknown']);
  assert.equal(answering![0]!.standing, 'unknown');
});

test('a brain answers nothing where all its models fail, or no turn has an answer', async () => {
  const { asked, other } = two();
  const open = async () => {
    const { answering } = await told(asked);
    const [{ standing, since, model, reason, window }] = answering as [(typeof answering & {})[0]];
    return { standing, since, model, reason, turns: window.fiveMinutes };
  };
  const none = { answers: 0, failures: 0 };
  assert.deepEqual((await open()).standing, 'unknown');
  for (const at of [1_000_100, 1_000_200]) call(other, at, 'timeout');
  assert.equal((await open()).standing, 'unknown', 'of its other model nothing is known');
  const big = 'hosted_runtime/big' as ModelName;
  for (const at of [1_000_300, 1_000_400]) call(other, at, 'timeout', big);
  assert.deepEqual(await open(), {
    standing: 'failing',
    since: 1_000_400,
    model: small,
    reason: 'timeout',
    turns: none,
  });
  for (const at of [1_000_500, 1_000_600]) turn(other, at, false);
  call(asked, 1_000_550, 'answer');
  const silent = await open();
  assert.deepEqual(
    [silent.standing, silent.since, silent.model, silent.turns],
    ['failing', 1_000_600, big, { answers: 0, failures: 2 }],
  );
  turn(asked, 1_000_700, true);
  const { standing, turns } = await open();
  assert.deepEqual([standing, turns], ['degraded', { answers: 1, failures: 2 }]);
});

test('what turns showed is over once a model is seen to answer again after the last', async () => {
  const { asked } = two();
  for (const at of [1_000_100, 1_000_200]) call(asked, at, 'timeout');
  for (const at of [1_000_300, 1_000_400]) turn(asked, at, false);
  assert.equal((await told(asked)).answering![0]!.standing, 'failing');
  const big = 'hosted_runtime/big' as ModelName;
  call(asked, 1_000_500, 'answer', big);
  const { answering, models } = await told(asked);
  assert.equal(answering![0]!.standing, 'unknown');
  assert.deepEqual([models[0]!.standing, models[1]!.standing], ['failing', 'up']);
  turn(asked, 1_000_600, true);
  const after = await told(asked);
  assert.equal(after.models[1]!.answeredByOthers, 1);
  assert.equal(after.models[0]!.answeredByOthers, 0, 'it gave that reply');
});

test('of models that have gone some are told to others, and all of those in use', () => {
  const { asked } = two();
  for (let n = 0; n < 60; n++) call(asked, 1_000_000, 'answer', `local_runtime/${n}` as ModelName);
  call(asked, 1_000_000, 'answer');
  const report = JSON.parse(describeReport(reportOf(asked.ports))) as Report;
  assert.equal(report.models.filter(({ inUse }) => inUse === false).length, 20);
  assert.ok(report.models.some(({ model }) => model === small));
});
