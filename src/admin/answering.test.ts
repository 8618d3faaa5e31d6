import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { handClock } from '../../test/support/hand-clock.ts';
import type { Config } from '../config/config.ts';
import type { ChannelKey, MessageId, ModelName } from '../domain/ids.ts';
import { createEvents } from '../telemetry/events.ts';
import { createLog } from '../lib/log.ts';
import type { Meters } from '../telemetry/meters.ts';
import type { AnsweringStatus } from './model-probes.ts';
import { answeringOf } from './status.ts';

const channel = 'webhook' as ChannelKey;
const id = '0123456789abcdefghjkmn' as MessageId;
const model = 'local_runtime/small' as ModelName;
const ada = { id: 'ada', name: null };

const config = {
  brains: [
    {
      name: 'main',
      sensitivity: 'private',
      policy: { kind: 'priority' },
      models: [{ provider: 'local_runtime', modelId: 'small', name: model, locality: 'local' }],
    },
  ],
  routes: [{ channel, brain: 'main' }],
} as unknown as Config;

const ofBrain = (meters: Meters): string => answeringOf(meters, config)[0]!.standing;
const ofModel = (meters: Meters): string => meters.models.get(model)!.shown.standing;

/** A service with a message a second, and up to three calls of the model for each. */
function start(standing = ofBrain) {
  const clock = handClock(1_000_000);
  const log = createLog({ stream: new PassThrough().resume(), level: 'error', format: 'json' });
  const hub = createEvents({ log, ...clock });
  const call = (result: 'answer' | 'server_error'): void =>
    hub.modelAnswered({ model, provider: 'local_runtime', result, ms: 1 });
  /** @returns after each message the health that `standing` reads */
  return (seconds: number, answeredAt: number | null): readonly string[] =>
    Array.from({ length: seconds }, () => {
      clock.pass(1_000);
      for (let n = 1; n < (answeredAt ?? 4); n++) call('server_error');
      if (answeredAt !== null) call('answer');
      hub.turnFinished({
        channel,
        id,
        sender: ada,
        brain: 'main',
        decision:
          answeredAt === null
            ? { kind: 'apology', apology: 'no_answer', why: 'so' }
            : { kind: 'reply', text: 'yes', model, why: 'first' },
        ms: 1,
      });
      return standing(hub.meters);
    });
}

test('a brain whose messages are all answered is not silent, though most calls still fail', () => {
  const after = start();
  after(60, 1);
  assert.equal(after(15, null).at(-1), 'failing');
  const later = after(180, 3);
  assert.deepEqual([...new Set(later.slice(75))], ['up']);
});

test('a model of which two of three calls fail from the start stands as one that answers', () => {
  assert.deepEqual([...new Set(start()(300, 3))], ['up']);
  assert.deepEqual([...new Set(start(ofModel)(300, 3))], ['degraded']);
});

test('a brain whose model ends stays silent for as long as it does', () => {
  const after = start();
  after(300, 1);
  const seen = after(300, null);
  const down = seen.indexOf('failing');
  assert.ok(down <= 10, `${down}`);
  assert.deepEqual([...new Set(seen.slice(down))], ['failing']);
});

test('a brain that needs consensus is silent once fewer than two models could agree', () => {
  const { models, clock, call, standing } = consensus();
  const [, b, c] = models;
  for (let n = 0; n < 5; n++) for (const one of models) call(one, 'answer');
  assert.equal(standing(), 'unknown');
  const fails = (one: ModelName): void => {
    for (let n = 0; n < 20; n++) {
      clock.pass(1_000);
      call(one, 'server_error');
    }
  };
  fails(c!);
  assert.equal(standing(), 'unknown', 'two are left');
  fails(b!);
  assert.equal(standing(), 'failing');
});

function consensus() {
  const clock = handClock(1_000_000);
  const log = createLog({ stream: new PassThrough().resume(), level: 'error', format: 'json' });
  const hub = createEvents({ log, ...clock });
  const ids = ['a', 'b', 'c'];
  const of = { provider: 'local_runtime', locality: 'local' };
  const brain = { name: 'main', sensitivity: 'private', policy: { kind: 'consensus' } };
  const three = {
    brains: [{ ...brain, models: ids.map((modelId) => ({ ...of, modelId })) }],
    routes: [{ channel, brain: 'main' }],
  } as unknown as Config;
  return {
    clock,
    models: ids.map((modelId) => `local_runtime/${modelId}` as ModelName),
    call: (name: ModelName, result: 'answer' | 'server_error') =>
      hub.modelAnswered({ model: name, provider: 'local_runtime', result, ms: 1 }),
    standing: () => answeringOf(hub.meters, three)[0]!.standing,
  };
}

test('what is said of a brain stays for half a minute, and since when never moves back', () => {
  const shown: { standing: string; since: number | null }[] = [];
  const after = start((meters) => {
    const [{ standing, since }] = answeringOf(meters, config) as [AnsweringStatus];
    shown.push({ standing, since });
    return standing;
  });
  after(60, 1);
  // The model fails at nearly all calls, but each message gets its answer in the end.
  const down = after(120, 15).filter((standing) => standing === 'failing').length;
  assert.ok(down >= 28 && down <= 32, `${down}`);
  assert.equal(shown.at(-1)!.standing, 'up');
  after(60, null);
  assert.equal(shown.at(-1)!.standing, 'failing');
  const troubled = shown.filter(({ standing }) => standing !== 'up');
  const sinces = troubled.map(({ since }) => since ?? 0);
  assert.deepEqual(
    sinces,
    sinces.toSorted((a, b) => a - b),
  );
});
