import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../../../src/admin/admin.ts';
import { concernsOf } from './concerns.ts';

const quiet = {
  status: 'ok',
  reason: null,
  channels: [],
  providers: [],
  backlog: [],
  counts: { faults: 0, deadLettersKept: 0 },
  warnings: [],
  warningsLeftOut: 0,
} as unknown as Status;

test('of a service that works nothing needs a person', () => {
  assert.deepEqual(concernsOf(quiet, 0), []);
});

test('what is broken comes before what waits, and each leads to where it can be seen', () => {
  const status = {
    ...quiet,
    counts: { ...quiet.counts, deadLettersKept: 1 },
    providers: [
      { provider: 'local_runtime', state: 'failing', since: 0, reason: 'timeout', model: null },
    ],
    backlog: [{ channel: 'webhook', inbox: 2, outbox: 1, unroutable: 0, oldestAt: 0 }],
  } as unknown as Status;
  const told = concernsOf(status, 120_000).map(({ tone, what, place }) => [tone, what, place]);
  assert.deepEqual(told, [
    ['bad', 'The provider local_runtime began to fail 2 min ago: timeout.', { view: 'providers' }],
    [
      'wait',
      'On webhook 3 wait, the oldest for 2 min.',
      { view: 'messages', channel: 'webhook', state: 'waiting' },
    ],
    ['wait', '1 dead letter waits for a decision.', { view: 'dead-letters' }],
  ]);
});

test('a warning is a sentence before its remedy begins', () => {
  const warning = { code: 'brain_unused', path: 'brains[0]', remedy: 'Add a route for it.' };
  const status = { ...quiet, warnings: [{ ...warning, message: 'no route names this brain' }] };
  const [told] = concernsOf(status, 0);
  assert.equal(told.what, 'brains[0]: no route names this brain.');
});
