/** Probing models: the result that a person sees, and what the provider's health says then. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { failure, type FailureKind } from '../../domain/failure.ts';
import type { ModelName } from '../../domain/ids.ts';
import { createEvents } from '../../telemetry/events.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import { createLog } from '../../lib/log.ts';
import type { ModelCheck } from '../../brains/models/model.ts';
import type { RoutedModel } from '../running-config.ts';
import { createModelProbes, ModelWatch } from './model-warnings.ts';

const there: ModelCheck = { kind: 'reached', hasModel: true, runs: 'here', others: [] };
const elsewhere: ModelCheck = { ...there, runs: 'elsewhere' };
const lacking: ModelCheck = { kind: 'reached', hasModel: false, runs: 'unknown', others: ['b:1'] };
const away: ModelCheck = { kind: 'failed', failure: failure('connect_failed') };
const provider = 'local_runtime';

function start() {
  const log = createLog({ stream: new PassThrough().resume(), level: 'info', format: 'json' });
  let time = 0;
  const steady = (): SteadyTime => time as SteadyTime;
  /** A failure that is shown stays for half a minute. */
  const wait = (): void => void (time += 30_000);
  const events = createEvents({ log, now: () => 7, steady });
  const deps = { events, steady };
  const health = () => {
    const { shown, last } = events.meters.providers.get(provider)!;
    const { standing: state, since } = shown;
    return state === 'unknown' ? { state } : { state, since, ...last };
  };
  const called = (model: string, result: 'answer' | FailureKind): void =>
    events.modelAnswered({ model: `${provider}/${model}` as ModelName, provider, result, ms: 1 });
  return { deps, health, called, wait };
}

/** @param check gives the result of each probe */
function planned(modelId: string, check: () => ModelCheck, more = {}): RoutedModel {
  const model = {
    name: `${provider}/${modelId}` as ModelName,
    provider,
    modelId,
    locality: 'local',
    mayForward: true,
    check: async () => check(),
    ...more,
  };
  const config = { baseUrl: 'http://127.0.0.1:11434', apiKeyEnv: 'KEY' };
  return { brain: 'main', sensitivity: 'private', config, model } as unknown as RoutedModel;
}

test('a look says why a model will not answer, and what is there instead', async () => {
  const { deps, health, wait } = start();
  let check: ModelCheck = away;
  const looks = createModelProbes(() => [planned('a', () => check)], deps);
  const look = async () => {
    const looked = await looks.probe(`${provider}/a`);
    assert.ok(looked.kind === 'looked');
    const { failure: why, others, address, keyEnv } = looked.probe;
    assert.deepEqual([address, keyEnv], ['http://127.0.0.1:11434', 'KEY']);
    return [why?.kind ?? null, others];
  };
  assert.deepEqual(await look(), ['connect_failed', []]);
  const model = `${provider}/a`;
  assert.deepEqual(health(), { state: 'failing', since: 7, reason: 'connect_failed', model });
  check = lacking;
  assert.deepEqual(await look(), ['not_found', ['b:1']]);
  assert.deepEqual(health(), { state: 'failing', since: 7, reason: 'not_found', model });
  check = elsewhere;
  assert.deepEqual(await look(), ['left_machine', []]);
  check = there;
  assert.deepEqual(await look(), [null, []]);
  assert.equal(health().state, 'failing');
  wait();
  assert.deepEqual(health(), { state: 'unknown' });
});

test('a look takes back only what looks can see, and of its own model', async () => {
  const { deps, health, called, wait } = start();
  const looks = createModelProbes(() => ['a', 'b'].map((id) => planned(id, () => there)), deps);
  called('a', 'timeout');
  await looks.probe(`${provider}/a`);
  assert.partialDeepStrictEqual(health(), { state: 'degraded', reason: 'timeout' });
  called('a', 'not_found');
  await looks.probe(`${provider}/b`);
  assert.partialDeepStrictEqual(health(), { state: 'failing', reason: 'not_found' });
  await looks.probe(`${provider}/a`);
  wait();
  assert.deepEqual(health(), { state: 'unknown' });
});

test('a provider of which one model answers and another is not there does not fail', async () => {
  const { deps, health, called } = start();
  const looks = createModelProbes(() => [planned('a', () => lacking)], deps);
  called('b', 'answer');
  await looks.probe(`${provider}/a`);
  assert.partialDeepStrictEqual(health(), { state: 'degraded', reason: 'not_found' });
});

test('what no brain may ask is looked at by nobody, and no more than four at once', async () => {
  const { deps } = start();
  const { promise, resolve } = Promise.withResolvers<ModelCheck>();
  const models = [
    planned('a', () => there, { check: () => promise }),
    planned('far', () => assert.fail('it was looked at'), { locality: 'cloud' }),
  ];
  const looks = createModelProbes(() => models, deps);
  assert.deepEqual(await looks.probe(`${provider}/far`), { kind: 'none' });
  assert.deepEqual(await looks.probe('none'), { kind: 'none' });
  const four = Array.from({ length: 4 }, () => looks.probe(`${provider}/a`));
  assert.deepEqual(await looks.probe(`${provider}/a`), { kind: 'busy' });
  resolve(there);
  assert.ok((await Promise.all(four)).every(({ kind }) => kind === 'looked'));
  assert.equal((await looks.probe(`${provider}/a`)).kind, 'looked');
});

test('what is away at the start is told before anybody asks it, and once it comes', async () => {
  const { deps, health, wait } = start();
  const over = new AbortController();
  const seen: unknown[] = [];
  const checks = [away, away, there];
  const done = Promise.withResolvers<void>();
  const { events } = deps;
  const told = {
    ...deps,
    events: {
      warned: () => void seen.push('warned'),
      faulted: ({ error }: { error: unknown }) => done.reject(error),
      modelLooked: (e: Parameters<typeof events.modelLooked>[0]) => {
        events.modelLooked(e);
        seen.push(e.found);
        if (e.found === 'there') done.resolve();
      },
    },
  } as unknown as typeof deps;
  const watch = new ModelWatch(told, over.signal, 1);
  watch.use([planned('a', () => checks.shift() ?? assert.fail('it looked once more'))]);
  await done.promise;
  assert.deepEqual(seen, ['warned', 'connect_failed', 'connect_failed', 'there'], 'warned once');
  wait();
  assert.deepEqual(health(), { state: 'unknown' });
});

test('a provider of which one model is there is well, and is looked at no more', async () => {
  const { deps, health } = start();
  const done = Promise.withResolvers<void>();
  const { events } = deps;
  const modelLooked = (e: Parameters<typeof events.modelLooked>[0]): void => {
    events.modelLooked(e);
    done.resolve();
  };
  const told = { ...deps, events: { warned: () => {}, modelLooked } } as unknown as typeof deps;
  new ModelWatch(told, new AbortController().signal, 1).use([
    planned('a', () => lacking),
    planned('b', () => there),
  ]);
  await done.promise;
  assert.deepEqual(health(), { state: 'unknown' });
});

test('a look that lists nothing takes back that nobody was reached, and no more', async () => {
  const { deps, health, called, wait } = start();
  const check: ModelCheck = { kind: 'reached', hasModel: null, runs: 'here', others: [] };
  const looks = createModelProbes(() => [planned('a', () => check)], deps);
  for (let call = 0; call < 3; call++) called('a', 'not_found');
  await looks.probe(`${provider}/a`);
  wait();
  assert.equal(health().state, 'failing', 'its calls found no such model');
  for (let call = 0; call < 3; call++) called('a', 'connect_failed');
  await looks.probe(`${provider}/a`);
  wait();
  assert.equal(health().state, 'unknown');
});
