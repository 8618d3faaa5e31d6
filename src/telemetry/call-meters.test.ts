import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { handClock } from '../../test/support/hand-clock.ts';
import { createEvents } from './events.ts';
import type { Apology, Decision } from '../domain/decision.ts';
import type { FailureKind } from '../domain/failure.ts';
import type { ChannelKey, MessageId, ModelName } from '../domain/ids.ts';
import { createLog } from '../lib/log.ts';

const channel = 'webhook' as ChannelKey;
const id = '0123456789abcdefghjkmn' as MessageId;
const model = 'local_runtime/small' as ModelName;
const ada = { id: 'ada', name: null };

function start() {
  const clock = handClock(1_000_000);
  const log = createLog({ stream: new PassThrough().resume(), level: 'error', format: 'json' });
  return { hub: createEvents({ log, ...clock }), clock };
}

test('a provider stands as its models do, by the calls that say something of them', () => {
  const { hub, clock } = start();
  const ended = (result: 'answer' | FailureKind, at: number, name = model): void => {
    clock.pass(at - clock.now());
    hub.modelAnswered({ model: name, provider: 'local_runtime', result, ms: 40 });
  };
  const provider = () => hub.meters.providers.get('local_runtime')!;
  const standing = () => [provider().shown.standing, provider().shown.since];
  for (const result of ['cancelled', 'outranked', 'context_overflow', 'deadline'] as const) {
    ended(result, 1_000_000);
    assert.equal(standing()[0], 'unknown');
  }
  ended('answer', 1_000_100);
  ended('answer', 1_000_200);
  ended('outranked', 1_000_250);
  assert.deepEqual(standing(), ['up', 1_000_100]);
  ended('timeout', 1_000_300);
  assert.deepEqual(standing(), ['up', 1_000_100], 'one of three');
  ended('timeout', 1_000_400);
  assert.deepEqual(standing(), ['degraded', 1_000_400]);
  const large = 'local_runtime/large' as ModelName;
  ended('unauthorized', 1_000_450, large);
  assert.equal(hub.meters.models.get(large)!.shown.standing, 'failing');
  assert.deepEqual(standing(), ['degraded', 1_000_400], 'one answers now and then');
  assert.deepEqual(provider().last, { reason: 'unauthorized', model: large });
  for (let n = 0; n < 30; n++) ended('timeout', 1_010_000 + n * 1_000);
  assert.deepEqual(standing(), ['failing', 1_016_000], 'both fail');
  const { window } = hub.meters.models.get(model)!;
  assert.deepEqual(window.minute, { good: 2, bad: 32 });
  assert.deepEqual([...hub.meters.models.get(large)!.calls.keys()], ['unauthorized']);
});

test('of failures that take turns one is told, until another takes its place', () => {
  const { hub } = start();
  const fail = (...results: readonly FailureKind[]): void => {
    for (const result of results) {
      hub.modelAnswered({ model, provider: 'local_runtime', result, ms: 1 });
    }
  };
  const last = () => hub.meters.models.get(model)!.last;
  fail('timeout', 'timeout', 'server_error', 'timeout', 'server_error', 'server_error');
  assert.equal(last(), 'timeout');
  fail('server_error');
  assert.equal(last(), 'server_error');
});

test('turns that no model answered are told of their brain, while it is in use', () => {
  const { hub } = start();
  const ended = (decision: Decision): void =>
    hub.turnFinished({ channel, id, sender: ada, brain: 'main', decision, ms: 1 });
  const sorry = (apology: Exclude<Apology, 'over_budget'>): void =>
    ended({ kind: 'apology', apology, why: 'so' });
  const main = () => hub.meters.brains.get('main');
  sorry('no_consensus');
  sorry('unseen');
  sorry('unfinished');
  ended({ kind: 'apology', apology: 'over_budget', opensAt: null, why: 'so' });
  assert.equal(main(), undefined);
  sorry('busy');
  sorry('no_answer');
  assert.equal(main()!.shown.standing, 'failing');
  hub.modelAnswered({ model, provider: 'local_runtime', result: 'answer', ms: 1 });
  ended({ kind: 'reply', text: 'yes', model, why: 'first' });
  assert.deepEqual(main()!.window.minute, { good: 1, bad: 2 });
  assert.equal(hub.meters.models.get(model)!.replies, 1);
  hub.configUsed({ revision: 'abc', channels: 1, brains: 1, models: [] });
  assert.equal(main(), undefined);
});

test('however many models are named, so many are counted apart', () => {
  const { hub } = start();
  for (let i = 0; i < 1_000; i++) {
    const name = `local_runtime/${i}` as ModelName;
    hub.modelAnswered({ model: name, provider: 'local_runtime', result: 'answer', ms: 1 });
  }
  assert.equal(hub.meters.models.size, 500);
  const provider = hub.meters.providers.get('local_runtime')!;
  assert.equal(provider.calls.get('answer')?.took.count, 1_000);
});

test('a model whose route has gone keeps its counts', () => {
  const { hub } = start();
  const provider = 'local_runtime';
  const use = (...names: readonly string[]): void => {
    const models = names.map((name) => ({ name: `${provider}/${name}` as ModelName, provider }));
    hub.configUsed({ revision: 'abc', channels: 1, brains: 1, models });
    for (const { name } of models) {
      hub.modelAnswered({ model: name, provider, result: 'answer', ms: 1 });
    }
  };
  const answersOf = (name: string) =>
    hub.meters.models.get(`${provider}/${name}` as ModelName)?.calls.get('answer')?.took.count;
  use('a', 'b');
  use('b');
  assert.equal(answersOf('a'), 1);
  use('a');
  assert.deepEqual([answersOf('a'), answersOf('b')], [2, 2]);
});

test('models in no configuration make room for others, of providers what they showed goes', () => {
  const { hub } = start();
  const named = (from: number, count: number, provider = 'local_runtime') =>
    Array.from({ length: count }, (_, i) => {
      return { name: `${provider}/${from + i}` as ModelName, provider };
    });
  const use = (models: ReturnType<typeof named>): void => {
    hub.configUsed({ revision: 'abc', channels: 1, brains: 1, models });
    for (const { name, provider } of models) {
      hub.modelAnswered({ model: name, provider, result: 'timeout', ms: 1 });
    }
  };
  const hosted = () => hub.meters.providers.get('hosted_runtime')!;
  const gone = named(0, 1, 'hosted_runtime');
  use([...named(0, 499), ...gone]);
  assert.equal(hosted().shown.standing, 'degraded');
  use(named(400, 500));
  assert.deepEqual(
    [...hub.meters.models.keys()].toSorted(),
    named(400, 500)
      .map(({ name }) => name)
      .toSorted(),
  );
  assert.equal(hub.meters.providers.get('local_runtime')!.shown.standing, 'degraded');
  assert.equal(hosted().shown.standing, 'unknown');
  assert.equal(hosted().calls.get('timeout')?.took.count, 1, 'counters only go up');
  hub.modelAnswered({ model: gone[0]!.name, ...gone[0]!, result: 'timeout', ms: 1 });
  hub.configUsed({ revision: 'abc', channels: 1, brains: 1, models: gone });
  assert.equal(hosted().shown.standing, 'unknown', 'a late call of the old plan says nothing');
});

test('what a model showed that is asked no more says nothing of the one in its place', () => {
  const { hub } = start();
  const provider = 'local_runtime';
  const use = (...names: readonly string[]): void => {
    const models = names.map((name) => ({ name: `${provider}/${name}` as ModelName, provider }));
    hub.configUsed({ revision: 'abc', channels: 1, brains: 1, models });
  };
  const standing = () => hub.meters.providers.get(provider)!.shown.standing;
  use('a', 'b');
  hub.modelLooked({ model: `${provider}/a` as ModelName, provider, found: 'not_found' });
  use('a');
  assert.equal(standing(), 'failing');
  use('b');
  assert.equal(standing(), 'unknown');
});

test('a model that hangs stands as failing while its calls are open, until it answers', () => {
  const { hub, clock } = start();
  const call = { model, provider: 'local_runtime' };
  const answer = (): void => {
    hub.modelAsked(call);
    hub.modelAnswered({ ...call, result: 'answer', ms: 40 });
  };
  for (let n = 0; n < 20; n++) answer();
  clock.pass(1_000);
  for (let n = 0; n < 3; n++) hub.modelAsked(call);
  const standing = (): unknown => hub.meters.models.get(model)!.shown.standing;
  clock.pass(9_999);
  assert.equal(standing(), 'up');
  const at = clock.now();
  clock.pass(1);
  assert.equal(hub.meters.providers.get('local_runtime')!.shown.standing, 'failing');
  const { shown, last } = hub.meters.models.get(model)!;
  assert.deepEqual([shown.standing, shown.since, last], ['failing', at - 9_999, 'timeout']);
  hub.modelAnswered({ ...call, result: 'timeout', ms: 10_000 });
  assert.equal(standing(), 'failing', 'one that times out is no answer');
  clock.pass(29_999);
  for (let n = 0; n < 5; n++) answer();
  for (let n = 0; n < 2; n++) hub.modelAnswered({ ...call, result: 'answer', ms: 40 });
  assert.equal(standing(), 'failing', 'what is shown stays for half a minute');
  clock.pass(1);
  assert.equal(standing(), 'degraded', 'it is judged again without another call');
});

/** A model that is asked every so many milliseconds, and its health. */
function asking(everyMs: number) {
  const { hub, clock } = start();
  const of = { model, provider: 'local_runtime' };
  const standing = () => hub.meters.models.get(model)!.shown.standing;
  const ask = (many: number, result: 'answer' | FailureKind): void => {
    for (let n = 0; n < many; n++) {
      clock.pass(everyMs);
      hub.modelAnswered({ ...of, result, ms: 40 });
    }
  };
  const since = () => hub.meters.models.get(model)!.shown.since;
  return { hub, clock, of, ask, standing, since };
}

test('a model that fails and is no longer asked is unknown after a minute', () => {
  const { hub, clock, ask, standing } = asking(1_000);
  ask(30, 'answer');
  clock.pass(600_000);
  assert.equal(standing(), 'up', 'nothing speaks against it');
  ask(30, 'server_error');
  clock.pass(59_999);
  assert.equal(standing(), 'failing');
  assert.equal(hub.meters.models.get(model)!.last, 'server_error');
  clock.pass(1);
  assert.equal(standing(), 'unknown');
  assert.equal(hub.meters.providers.get('local_runtime')!.shown.standing, 'unknown');
  assert.equal(hub.meters.models.get(model)!.last, null);
  ask(1, 'server_error');
  assert.equal(standing(), 'failing', 'the next one that fails says so again');
});

test('a model that is asked rarely is known for twice the gap, five minutes at most', () => {
  const rare = asking(100_000);
  rare.ask(4, 'server_error');
  rare.clock.pass(199_999);
  assert.equal(rare.standing(), 'failing');
  rare.clock.pass(1);
  assert.equal(rare.standing(), 'unknown');
  const rarer = asking(1_000_000);
  rarer.ask(4, 'unauthorized');
  rarer.clock.pass(299_999);
  assert.equal(rarer.standing(), 'failing');
  rarer.clock.pass(1);
  assert.equal(rarer.standing(), 'unknown');
});

test('turns without an answer are told for as long', () => {
  const { hub, clock } = start();
  for (let n = 0; n < 3; n++) {
    clock.pass(1_000);
    const decision = { kind: 'apology', apology: 'no_answer', why: 'so' } as const;
    hub.turnFinished({ channel, id, sender: ada, brain: 'main', decision, ms: 1 });
  }
  clock.pass(59_999);
  assert.equal(hub.meters.brains.get('main')!.shown.standing, 'failing');
  clock.pass(1);
  assert.equal(hub.meters.brains.get('main')!.shown.standing, 'unknown');
});

test('time alone makes nothing worse', () => {
  const { clock, ask, standing } = asking(1_000);
  ask(30, 'answer');
  ask(2, 'server_error');
  for (let n = 0; n < 400; n++) {
    clock.pass(1_000);
    assert.equal(standing(), 'up');
  }
  const halting = asking(1_000);
  for (let n = 0; n < 10; n++) {
    halting.ask(2, 'server_error');
    halting.ask(1, 'answer');
  }
  halting.ask(3, 'server_error');
  for (let n = 0; n < 59; n++) {
    halting.clock.pass(1_000);
    assert.equal(halting.standing(), 'degraded', `${n} s later`);
  }
});

test('a trouble that eases keeps its beginning, and it never moves back', () => {
  const { hub, clock, of, ask, standing, since } = asking(1_000);
  ask(60, 'answer');
  ask(15, 'server_error');
  assert.equal(standing(), 'failing');
  const began = since();
  ask(35, 'answer');
  assert.deepEqual([standing(), since()], ['degraded', began]);
  const provider = hub.meters.providers.get('local_runtime')!.shown;
  assert.deepEqual([provider.standing, provider.since], ['degraded', began]);
  for (let n = 0; n < 3; n++) hub.modelAsked(of);
  clock.pass(11_000);
  assert.equal(standing(), 'failing', 'it has fallen silent');
  assert.ok(since() >= began);
});

test('a runtime that a probe finds again is well once its failure was shown long enough', () => {
  const { hub, clock, of, ask, standing } = asking(1_000);
  ask(3, 'connect_failed');
  const find = (found: 'there' | 'connect_failed') => hub.modelLooked({ ...of, found });
  clock.pass(10_000);
  find('there');
  assert.equal(standing(), 'failing');
  find('connect_failed');
  clock.pass(30_000);
  assert.equal(standing(), 'failing', 'it went again');
  find('there');
  assert.equal(standing(), 'unknown');
});

test('a brain is in trouble with far fewer failures than a model', () => {
  const { hub, clock } = start();
  const brain = 'main';
  for (let n = 0; n < 100; n++) {
    clock.pass(500);
    const result = n % 10 === 5 ? 'server_error' : 'answer';
    hub.modelAnswered({ model, provider: 'local_runtime', result, ms: 40 });
    const failed = { kind: 'apology', apology: 'no_answer', why: '' } as unknown as Decision;
    const reply = { kind: 'reply', model, text: '', why: '' } as unknown as Decision;
    const decision = n % 10 === 5 ? failed : reply;
    hub.turnFinished({ channel, id, sender: ada, brain, decision, ms: 1 });
  }
  assert.equal(hub.meters.models.get(model)!.shown.standing, 'up');
  assert.equal(hub.meters.brains.get(brain)!.shown.standing, 'degraded');
});
