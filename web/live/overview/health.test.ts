import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../../../src/admin/admin.ts';
import { absenceOf, healthOf } from './health.ts';

const working = {
  status: 'ok',
  reason: null,
  startedAt: 1_000_000,
  uptimeMs: 600_000,
  held: 0,
  backlog: [],
  channels: [
    { type: 'webhook', state: 'up', brain: 'desk' },
    { type: 'messenger_a', state: 'up', brain: 'night' },
    { type: 'messenger_b', state: 'unrouted', brain: null },
  ],
  answering: [
    { brain: 'desk', standing: 'up', model: null, reason: null },
    { brain: 'night', standing: 'unknown', model: null, reason: null },
  ],
  models: [
    { model: 'local_runtime/a', inUse: true, standing: 'up', reason: null },
    { model: 'hosted_runtime/b', inUse: true, standing: 'unknown', reason: null },
    { model: 'local_runtime/gone', inUse: false, standing: 'failing', reason: 'timeout' },
  ],
} as unknown as Status;

const away = { model: 'local_runtime/a', reason: 'connect_failed' };
const answersOf = (brain: string, standing: string, more: object = away) => ({
  brain,
  standing,
  ...more,
});
const moveIt = 'Ollama is not running: `ollama serve`. If it is, check base_url.';
const because = 'a on Ollama: the address could not be reached';

const but = (change: object): Status => ({ ...working, ...change });

test('a service that can answer all that comes is working', () => {
  assert.deepEqual(healthOf(working), { tone: 'good', words: 'Working', move: null });
});

test('a service whose messages wait long is not working as if nothing were', () => {
  const waits = (ms: number, more: object = {}) => {
    const row = { channel: 'webhook', inbox: 9, outbox: 0, unroutable: 0, ...more };
    return healthOf(but({ backlog: [{ ...row, oldestAt: 1_600_000 - ms }] }));
  };
  assert.equal(waits(50_000).tone, 'good');
  const { tone, words, move } = waits(61_000);
  assert.equal(tone, 'wait');
  assert.equal(words, 'Working, but messages on webhook wait long for an answer');
  assert.match(move!, /^See at Models/);
  assert.equal(waits(61_000, { inbox: 0, outbox: 9 }).tone, 'good', 'these are replies');
  assert.equal(waits(61_000, { unroutable: 9 }).tone, 'good', 'these wait for a route');
  const backlog = [{ channel: 'webhook', inbox: 9, outbox: 0, unroutable: 0, oldestAt: 1_000_000 }];
  assert.equal(healthOf(but({ held: 1, backlog })).tone, 'good', 'these may wait for a person');
});

test('a brain that no model answers for is red, though another one works', () => {
  const answering = [answersOf('desk', 'failing'), working.answering![1]];
  assert.deepEqual(healthOf(but({ answering })), {
    tone: 'bad',
    words: `Working in part: no model answers for brain desk (${because})`,
    move: moveIt,
  });
});

test('where no brain has a model that answers, nothing works', () => {
  const answering = [answersOf('desk', 'failing'), answersOf('night', 'failing', { model: null })];
  const { tone, words } = healthOf(but({ answering }));
  assert.equal(tone, 'bad');
  assert.equal(words, `Not working: no model answers for brains desk, night (${because})`);
});

test('a brain that leaves some messages without an answer is amber', () => {
  const reason = 'server_error';
  const answering = [answersOf('desk', 'degraded', { model: 'local_runtime/a', reason })];
  assert.deepEqual(healthOf(but({ answering })), {
    tone: 'wait',
    words:
      'Working, but some messages get no answer from brain desk ' +
      '(a on Ollama: it answered with a server error)',
    move: "Look into Ollama's log, or start it again.",
  });
});

test('a receiver at which some replies arrive is amber, and one at which none does is red', () => {
  const reasons = [{ code: 'rejected', status: 422, minute: 6, fiveMinutes: 6 }];
  const row = { channel: 'webhook', state: 'failing', since: 1, reasons };
  const at = (someArrive: boolean, answering = working.answering) =>
    healthOf(but({ deliveries: [{ ...row, someArrive }], answering }));
  const { tone, words, move } = at(true);
  assert.equal(tone, 'wait');
  assert.equal(words, 'Working, but some replies on webhook do not arrive');
  assert.match(move!, /receiver's log .+ Dead letters\. At Deliveries/);
  const none = at(false);
  assert.deepEqual(
    [none.tone, none.words],
    ['bad', 'Working in part: replies on webhook do not arrive'],
  );
  const both = at(true, [working.answering![0], answersOf('night', 'failing')] as never);
  assert.equal(both.tone, 'bad');
  assert.match(both.words, /^Working in part: no model answers .+; some replies on webhook do not/);
});

test('a model in whose place others answer is named, in amber', () => {
  const [a, b, gone] = working.models;
  const failing = { ...a, standing: 'failing', reason: 'connect_failed' };
  assert.deepEqual(healthOf(but({ models: [failing, b, gone] })), {
    tone: 'wait',
    words: 'Working, but a (Ollama) does not answer',
    move: moveIt,
  });
  const halting = { ...b, standing: 'degraded', reason: 'timeout' };
  const { words } = healthOf(but({ models: [a, halting] }));
  assert.equal(words, 'Working, but b (OpenAI API) fails at some calls');
  assert.match(healthOf(but({ models: [failing, halting] })).words, /a \(Ollama\) does not/);
});

test('a channel that failed takes the green away; the only one takes the work', () => {
  const [webhook, messenger] = working.channels;
  const failed = { ...webhook, state: 'failed', reason: 'it is taken' };
  const one = healthOf(but({ channels: [failed, messenger] }));
  assert.deepEqual(one, {
    tone: 'bad',
    words: 'Working in part: channel webhook failed (it is taken)',
    move: null,
  });
  assert.equal(healthOf(but({ channels: [failed] })).tone, 'bad');
});

test('a channel that gets nothing from its platform is red once that has lasted', () => {
  const reason = 'Telegram could not be reached: check the network';
  const cut = { type: 'messenger_a', state: 'degraded', brain: 'night', since: 1_000, reason };
  const at = (uptimeMs: number) =>
    healthOf(but({ channels: [working.channels[0], cut], startedAt: 0, uptimeMs }));
  assert.equal(at(5_900).words, 'Working');
  const { tone, words } = at(6_000);
  assert.equal(tone, 'bad');
  assert.match(words, /^Working in part: channel .+ takes no messages in \(Telegram could not be/);
});

test('what the service says of itself comes first', () => {
  const remedy = 'Make room on that disk; svc goes on by itself.';
  const warnings = [{ code: 'brain_unused', remedy: 'Add a route.' }];
  const full = { code: 'storage_full', remedy };
  const status = { status: 'failing', reason: 'the disk is full', warnings };
  const words = 'Not working: the disk is full';
  assert.deepEqual(healthOf(but(status)), { tone: 'bad', words, move: null });
  const both = { ...status, warnings: [...warnings, full] };
  assert.deepEqual(healthOf(but(both)), { tone: 'bad', words, move: remedy });
});

test('a service that is gone is told with the time of its last word', () => {
  const refused = { kind: 'refused', code: 'unreachable', detail: 'Gone.', extra: {} } as const;
  assert.equal(absenceOf({ ...refused, status: 0 }, '10:20'), 'svc does not answer since 10:20');
  const told = absenceOf({ ...refused, status: 503 }, '10:20');
  assert.equal(told, 'svc told nothing new since 10:20: Gone.');
});
