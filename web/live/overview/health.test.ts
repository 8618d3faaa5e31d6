import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../../../src/admin/admin.ts';
import { absenceOf, healthOf } from './health.ts';

const working = {
  status: 'ok',
  reason: null,
  channels: [
    { type: 'webhook', state: 'up', brain: 'desk' },
    { type: 'messenger_a', state: 'up', brain: 'night' },
    { type: 'messenger_b', state: 'unrouted', brain: null },
  ],
  brains: [
    { name: 'desk', models: [{ name: 'local_runtime/a', state: 'asked' }] },
    {
      name: 'night',
      models: [
        { name: 'hosted_runtime/b', state: 'asked' },
        { name: 'local_runtime/a', state: 'dropped' },
      ],
    },
    { name: 'spare', models: [{ name: 'local_runtime/a', state: 'asked' }] },
  ],
  providers: [
    { provider: 'local_runtime', state: 'up' },
    { provider: 'hosted_runtime', state: 'unknown' },
  ],
} as unknown as Status;

const failing = (...names: readonly string[]) =>
  names.map((provider) => ({ provider, state: 'failing' }));

const but = (change: object): Status => ({ ...working, ...change });

test('a service that can answer all that comes is working', () => {
  assert.deepEqual(healthOf(working), { tone: 'good', words: 'Working' });
});

test('a brain whose only provider fails takes the green away, though another one works', () => {
  const { tone, words } = healthOf(but({ providers: failing('local_runtime') }));
  assert.equal(tone, 'wait');
  assert.equal(words, 'Working in part: no model answers for brain desk');
});

test('where no brain has a provider that answers, nothing works', () => {
  const { tone, words } = healthOf(but({ providers: failing('local_runtime', 'hosted_runtime') }));
  assert.equal(tone, 'bad');
  assert.equal(words, 'Not working: no model answers for brains desk, night');
});

test('a brain that one of its providers still answers for is not silent', () => {
  const models = ['local_runtime/a', 'hosted_runtime/b'].map((name) => ({ name, state: 'asked' }));
  const brains = [{ name: 'desk', models }];
  assert.equal(healthOf(but({ brains, providers: failing('local_runtime') })).tone, 'good');
});

test('a channel that failed takes the green away; the only one takes the work', () => {
  const [webhook, messenger] = working.channels;
  const failed = { ...webhook, state: 'failed' };
  const one = healthOf(but({ channels: [failed, messenger] }));
  assert.deepEqual(one, { tone: 'wait', words: 'Working in part: channel webhook failed' });
  assert.equal(healthOf(but({ channels: [failed] })).tone, 'bad');
});

test('what the service says of itself comes first', () => {
  const status = but({ status: 'failing', reason: 'The disk is full.' });
  assert.deepEqual(healthOf(status), { tone: 'bad', words: 'The disk is full.' });
});

test('a service that is gone is told with the time of its last word', () => {
  const refused = { kind: 'refused', code: 'unreachable', detail: 'Gone.', extra: {} } as const;
  assert.equal(absenceOf({ ...refused, status: 0 }, '10:20'), 'svc does not answer since 10:20');
  const told = absenceOf({ ...refused, status: 503 }, '10:20');
  assert.equal(told, 'svc told nothing new since 10:20: Gone.');
});
