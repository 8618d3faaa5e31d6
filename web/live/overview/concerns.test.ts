import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../../../src/admin/admin.ts';
import { concernsOf } from './concerns.ts';

const quiet = {
  status: 'ok',
  reason: null,
  channels: [],
  brains: [],
  answering: [],
  models: [],
  backlog: [],
  counts: { faults: 0, deadLettersKept: 0 },
  warnings: [],
  warningsLeftOut: 0,
  instances: [],
  held: 0,
  approvals: { waiting: 0 },
} as unknown as Status;

test('of a service that works nothing needs a person', () => {
  assert.deepEqual(concernsOf(quiet, 0), []);
});

test('what is broken comes before what waits, and each leads to where it can be seen', () => {
  const status = {
    ...quiet,
    counts: { ...quiet.counts, deadLettersKept: 1 },
    answering: [
      {
        brain: 'desk',
        standing: 'failing',
        since: 0,
        shownAt: 0,
        model: null,
        reason: null,
        window: null,
      },
    ],
    backlog: [{ channel: 'webhook', inbox: 2, outbox: 1, unroutable: 0, oldestAt: 0 }],
  } as unknown as Status;
  const told = concernsOf(status, 120_000).map(({ tone, what, place }) => [tone, what, place]);
  assert.deepEqual(told, [
    [
      'bad',
      'No model answers for the brain desk, for 2 min now. Last tried 2 min ago.',
      { view: 'messages', brain: 'desk' },
    ],
    [
      'wait',
      'On webhook 3 wait, the oldest for 2 min.',
      { view: 'messages', channel: 'webhook', state: 'waiting' },
    ],
    ['wait', '1 dead letter waits for a decision.', { view: 'dead-letters' }],
  ]);
});

test('conversations that are answered by hand lead to their list', () => {
  const [told] = concernsOf({ ...quiet, held: 2 }, 0);
  assert.equal(told?.what, '2 conversations are answered by hand.');
  assert.deepEqual(told?.place, { view: 'conversations' });
});

test('calls that wait for a yes lead to the approvals', () => {
  const [told] = concernsOf({ ...quiet, approvals: { waiting: 2 } }, 0);
  assert.equal(told?.what, '2 calls wait for a yes: no tool runs before it.');
  assert.deepEqual(told?.place, { view: 'approvals' });
});

test('an instance that is late, fails, or has another configuration is told of', () => {
  const up = { state: 'up', reason: null, revision: 'r-1', toldAt: 9_000 };
  const status = {
    ...quiet,
    revision: 'r-1',
    instances: [
      { ...up, id: 1 },
      { ...up, id: 2, state: 'late', toldAt: 3_000 },
      { ...up, id: 3, state: 'late', toldAt: null, revision: null },
      { ...up, id: 4, state: 'failing', reason: 'the disk is full' },
      { ...up, id: 5, revision: 'r-2' },
      { ...up, id: 6, state: 'stopping' },
    ],
  } as unknown as Status;
  const told = concernsOf(status, 10_000);
  assert.deepEqual(
    told.map(({ what }) => what),
    [
      'Instance 2 is late: it was last heard 7 s ago.',
      'Instance 3 is late: it has told nothing yet.',
      'Instance 4 is failing: the disk is full.',
      'Instance 5 has another configuration: r-2.',
    ],
  );
  assert.deepEqual(told[0].place, { view: 'instances' });
});

test('a channel that is cut off is urgent, and so is a storage that takes nothing', () => {
  const cut = {
    type: 'messenger_a',
    state: 'degraded',
    brain: 'desk',
    since: 1_000,
    reason: 'why',
  };
  const status = { ...quiet, channels: [cut], startedAt: 0 } as unknown as Status;
  const after = (uptimeMs: number) => concernsOf({ ...status, uptimeMs }, 0)[0];
  const place = { view: 'messages', channel: 'messenger_a' };
  assert.match(after(5_900).what, /is degraded: why\.$/);
  const late = after(6_000);
  assert.match(late.what, /takes no messages in: why\.$/);
  assert.deepEqual([late.tone, late.place], ['bad', place]);

  const full = {
    code: 'storage_full',
    path: 'storage.path',
    message: 'It is full.',
    remedy: 'Room.',
  };
  const warnings = [full, { ...full, code: 'brain_unused', message: 'No route.' }];
  const failing = { ...quiet, status: 'failing', reason: 'the disk is full', warnings };
  assert.deepEqual(
    concernsOf(failing as unknown as Status, 0).map(({ tone, what, remedy, place: to }) => {
      return { tone, what, remedy, place: to };
    }),
    [
      { tone: 'bad', what: 'It is full.', remedy: 'Room.', place: { view: 'config' } },
      { tone: 'wait', what: 'storage.path: No route.', remedy: 'Room.', place: null },
    ],
  );
});

test('what only some instances have is told with them', () => {
  const failed = { type: 'webhook', state: 'failed', reason: 'it is taken', instance: 2 };
  const warning = { code: 'w', path: 'brains[0]', message: 'it is so', remedy: 'Mend it.' };
  const status = {
    ...quiet,
    channels: [failed, { ...failed, state: 'degraded', reason: null, instance: null }],
    warnings: [{ ...warning, instances: [2, 5] }],
  } as unknown as Status;
  assert.deepEqual(
    concernsOf(status, 0).map(({ what }) => what),
    [
      'The channel webhook has failed at instance 2: it is taken.',
      'The channel webhook is degraded.',
      'At instance 2, 5: brains[0]: it is so.',
    ],
  );
});

test('a warning is a sentence before its remedy begins', () => {
  const warning = { code: 'brain_unused', path: 'brains[0]', remedy: 'Add a route for it.' };
  const message = 'no route names this brain';
  const status = { ...quiet, warnings: [{ ...warning, message, instances: null }] };
  const [told] = concernsOf(status, 0);
  assert.equal(told.what, 'brains[0]: no route names this brain.', 'there is no such brain now');
});

test('a warning names brains, models and channels, and not where they stand in a list', () => {
  const whatOf = (path: string, message = 'it is so', instances: number[] | null = null) => {
    const status = {
      ...quiet,
      revision: 'r-1',
      instances: [{ id: 2, state: 'up', reason: null, revision: 'r-2' }],
      channels: [{ type: 'messenger_a', state: 'up', brain: null }],
      brains: [
        { name: 'desk', models: [] },
        { name: 'idle', models: [{ name: 'local_runtime/a' }] },
      ],
      warnings: [{ code: 'w', path, message, remedy: 'Mend it.', instances }],
    } as unknown as Status;
    return concernsOf(status, 0).at(-1)!.what;
  };
  assert.equal(whatOf('brains[1]'), 'Brain idle: it is so.');
  assert.equal(whatOf('brains[1].policy.order[0]'), 'Brain idle, policy.order[0]: it is so.');
  assert.equal(
    whatOf('brains[1].models[0].base_url'),
    'Brain idle, model a (Ollama), base_url: it is so.',
  );
  assert.equal(whatOf('channels[0].token_env'), 'Channel Telegram, token_env: it is so.');
  assert.equal(whatOf('', 'as in brains[0].name'), 'As in brain desk, name.');
  assert.equal(whatOf('storage', 'it is so'), 'storage: it is so.');
  const ofAnother = 'At instance 2: brains[1]: it is so.';
  assert.equal(whatOf('brains[1]', 'it is so', [2]), ofAnother, 'its list is another one');
});

test('platforms are called by their names', () => {
  const status = {
    ...quiet,
    channels: [{ type: 'messenger_b', state: 'failed', reason: null, instance: null }],
    backlog: [{ channel: 'messenger_a', inbox: 2, outbox: 1, unroutable: 1, oldestAt: 0 }],
  } as unknown as Status;
  assert.deepEqual(
    concernsOf(status, 120_000).map(({ what }) => what),
    [
      'The channel Discord has failed.',
      'On Telegram 3 wait, the oldest for 2 min.',
      '1 of Telegram wait for a channel or route that is gone.',
    ],
  );
});

const calls = (answers: number, failures: number) => ({
  oneMinute: { answers: 0, failures: 0 },
  fiveMinutes: { answers, failures },
});
const model = 'local_runtime/a';
const failingBrain = {
  brain: 'desk',
  standing: 'failing',
  since: 0,
  shownAt: 110_000,
  model,
  reason: 'connect_failed',
  window: calls(0, 3),
};
const failingModel = {
  model,
  inUse: true,
  standing: 'failing',
  since: 0,
  shownAt: 110_000,
  reason: 'connect_failed',
  answeredByOthers: 38,
  window: calls(28, 12),
};
const concernsAbout = (answering: readonly object[], models: readonly object[]) =>
  concernsOf({ ...quiet, answering, models } as unknown as Status, 120_000);

test('a brain that answers nothing is urgent, and names cause and move', () => {
  const [concern, ...more] = concernsAbout([failingBrain], [failingModel]);
  assert.deepEqual(more, [], 'its model is told with it');
  assert.deepEqual(concern, {
    key: 'brain desk',
    tone: 'bad',
    what:
      'No model answers for the brain desk, for 2 min now: a (Ollama): the address ' +
      'could not be reached. 3 of 3 messages got no answer in the last 5 minutes.',
    remedy: 'Ollama is not running: `ollama serve`. If it is, check base_url.',
    place: { view: 'model', id: model },
  });
  const [some] = concernsAbout(
    [{ ...failingBrain, standing: 'degraded', model: null, reason: null }],
    [],
  );
  assert.match(some.what, /^Some messages to the brain desk get no answer, for 2 min now\. 3/);
  assert.equal(some.tone, 'wait');
});

test('a model in whose place others answer is a notice, with how often they did', () => {
  const [concern] = concernsAbout(
    [{ ...failingBrain, standing: 'up', model: null }],
    [failingModel],
  );
  assert.equal(concern.tone, 'wait');
  assert.equal(
    concern.what,
    'a (Ollama) does not answer, for 2 min now: the address could not be reached. ' +
      '12 of 40 calls failed in the last 5 minutes. Other models answered 38 messages in its ' +
      'place.',
  );
});

test('a model that fails at some calls is a notice, with how often, and says who answers', () => {
  const halting = {
    ...failingModel,
    standing: 'degraded',
    reason: 'server_error',
    answeredByOthers: 0,
  };
  const [concern] = concernsAbout([], [halting]);
  assert.equal(
    concern.what,
    'a (Ollama) fails at some calls, and retries answer: it answered with a server error. ' +
      '12 of 40 calls failed in the last 5 minutes.',
  );
  assert.equal(concern.tone, 'wait');
  const [byOthers] = concernsAbout([], [{ ...halting, answeredByOthers: 2 }]);
  assert.match(byOthers.what, /some calls: .* Other models answered 2 messages in its place\.$/);
  const other = { ...failingBrain, model: 'local_runtime/b' };
  const [, beside] = concernsAbout([other], [halting]);
  assert.match(beside.what, /^a \(Ollama\) fails at some calls: /, 'who answers is not known then');
  assert.equal(concern.remedy, "Look into Ollama's log, or start it again.");
});

test('while nothing is asked it is told how old that is; what is not in use needs nobody', () => {
  const [concern] = concernsAbout(
    [],
    [{ ...failingModel, window: calls(0, 0), answeredByOthers: 0 }],
  );
  assert.match(concern.what, /Last tried 10 s ago\.$/);
  assert.deepEqual(concernsAbout([], [{ ...failingModel, inUse: false }]), []);
});
