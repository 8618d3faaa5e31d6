import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { handClock } from '../../test/support/hand-clock.ts';
import { createEvents, type EventHub } from './events.ts';
import { failure } from '../domain/failure.ts';
import type { ChannelKey, MessageId, ModelName, ReplyId } from '../domain/ids.ts';
import { createLog, type LogLevel } from '../lib/log.ts';

const channel = 'webhook' as ChannelKey;
const id = '0123456789abcdefghjkmn' as MessageId;
const model = 'local_runtime/small' as ModelName;
const reply = { kind: 'reply', text: 'the answer', model, why: 'it ranks first' } as const;

type Line = Record<string, unknown> & { level: string; code: string };

function start(level: LogLevel = 'debug') {
  const stream = new PassThrough();
  const clock = handClock(1_000_000);
  const log = createLog({ stream, level, format: 'json', now: clock.now });
  const hub = createEvents({ log, ...clock });
  const lines = async (): Promise<Line[]> => {
    await log.flush();
    let text = '';
    for (let part; (part = stream.read() as Buffer | null) !== null;) text += String(part);
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
  };
  return { hub, lines, clock };
}

const ada = { id: 'ada', name: null };

function oneMessage(hub: EventHub): void {
  hub.messageAccepted({ channel, id, duplicate: false });
  hub.turnStarted({ channel, id, brain: 'main', waitedMs: 2 });
  hub.modelAnswered({ model, provider: 'local_runtime', result: 'answer', ms: 40 });
  hub.turnFinished({ channel, id, sender: ada, brain: 'main', decision: reply, ms: 41 });
  const sent = { channel, id: id as string as ReplyId, message: id };
  hub.replyDelivered({ ...sent, attempt: 1, totalMs: 45 });
}

test('one message makes its counts, and its lines at level debug without any text', async () => {
  const { hub, lines } = start();
  oneMessage(hub);
  hub.messageAccepted({ channel, id, duplicate: true });
  const counts = hub.meters.channels.get('webhook')!;
  assert.equal(counts.accepted, 1);
  assert.equal(counts.duplicates, 1);
  assert.equal(counts.delivered, 1);
  assert.equal(counts.waited.sumMs, 2);
  assert.equal(counts.turns.sumMs, 41);
  assert.equal(counts.endToEnd.sumMs, 45);
  assert.equal(hub.meters.decisions.reply, 1);
  assert.equal(hub.meters.providers.get('local_runtime')?.calls.get('answer')?.took.sumMs, 40);
  const said = await lines();
  assert.deepEqual(
    said.map((line) => `${line.level} ${line.code}`),
    [
      'debug message_accepted',
      'debug turn_started',
      'debug model_answered',
      'debug turn_finished',
      'debug reply_delivered',
      'debug message_accepted',
    ],
  );
  assert.ok(!JSON.stringify(said).includes('the answer'));
});

test('tools are counted by grant and outcome, and told without their arguments', async () => {
  const { hub, lines } = start();
  const use = { channel, id, brain: 'main', tool: 'calc', rule: 'no_governance', ms: 3 } as const;
  hub.toolUsed({ ...use, mode: 'allow', outcome: 'done' });
  hub.toolUsed({ ...use, mode: 'allow', outcome: 'done' });
  hub.toolUsed({ ...use, mode: 'deny', outcome: 'denied' });
  const counted = [...hub.meters.tools.values()];
  assert.deepEqual(counted, [
    { tool: 'calc', mode: 'allow', outcome: 'done', count: 2 },
    { tool: 'calc', mode: 'deny', outcome: 'denied', count: 1 },
  ]);
  const [line] = await lines();
  assert.deepEqual(
    { ...line, time: '', message: '' },
    {
      time: '',
      level: 'debug',
      code: 'tool_used',
      message: '',
      ...use,
      mode: 'allow',
      outcome: 'done',
    },
  );
});

test('at level info a message that goes well makes no line', async () => {
  const { hub, lines } = start('info');
  oneMessage(hub);
  assert.deepEqual(await lines(), []);
});

test('every kind of decision is counted by its name', () => {
  const { hub } = start();
  for (const apology of [
    'no_consensus',
    'busy',
    'no_answer',
    'unfinished',
    'unseen',
    'too_long',
    'fault',
  ] as const) {
    const decision = { kind: 'apology', apology, why: 'because' } as const;
    hub.turnFinished({ channel, id, sender: ada, brain: 'main', decision, ms: 1 });
  }
  const why = 'so';
  const decision = { kind: 'apology', apology: 'over_budget', opensAt: null, why } as const;
  hub.turnFinished({ channel, id, sender: ada, brain: 'main', decision, ms: 1 });
  const gone = { kind: 'abandoned', why } as const;
  hub.turnFinished({ channel, id, sender: ada, brain: 'main', decision: gone, ms: 1 });
  assert.deepEqual(hub.meters.decisions, {
    reply: 0,
    by_hand: 0,
    abandoned: 1,
    no_consensus: 1,
    busy: 1,
    no_answer: 1,
    over_budget: 1,
    unfinished: 1,
    unseen: 1,
    too_long: 1,
    fault: 1,
  });
});

test('a flood of refusals is counted one by one and said once in ten seconds', async () => {
  const { hub, lines, clock } = start('info');
  for (let n = 0; n < 500; n++) hub.messageRefused({ channel, code: 'inbox_full' });
  hub.messageRefused({ channel, code: 'unauthorized' });
  clock.pass(10_000);
  hub.messageRefused({ channel, code: 'inbox_full' });
  const { refused } = hub.meters.channels.get('webhook')!;
  assert.equal(refused.get('inbox_full')?.count, 501);
  assert.equal(refused.get('unauthorized')?.count, 1);
  assert.deepEqual(
    (await lines()).map(({ level, code, unsaid }) => [level, code, unsaid]),
    [
      ['warn', 'message_refused', undefined],
      ['warn', 'message_refused', undefined],
      ['warn', 'message_refused', 499],
    ],
  );
});

test('codes without end do not become counters without end', () => {
  const { hub } = start('error');
  for (let n = 0; n < 1_000; n++) hub.messageRefused({ channel, code: `made_up_${n}` });
  const { refused } = hub.meters.channels.get('webhook')!;
  assert.equal(refused.size, 65);
  assert.equal(refused.get('other')?.count, 1_000 - 64);
});

test('a failed try is a warning, and each dead letter a line of level error', async () => {
  const { hub, lines } = start('info');
  const down = failure('connect_failed');
  const out = { channel, id: id as string as ReplyId, message: id, failure: down };
  hub.deliveryFailed({ ...out, attempt: 1, nextAt: 1_005_000 });
  hub.deliveryFailed({ ...out, attempt: 2, nextAt: null });
  hub.buried({ box: 'out', channel, id, failure: down });
  hub.buried({ box: 'in', channel, id, failure: failure('fault') });
  const counts = hub.meters.channels.get('webhook')!;
  assert.equal(counts.failedTries.get('connect_failed')?.count, 2);
  assert.deepEqual(counts.deadLetters, { in: 1, out: 1 });
  const said = await lines();
  assert.deepEqual(
    said.map((line) => `${line.level} ${line.code}`),
    ['warn delivery_failed', 'error dead_letter', 'error dead_letter'],
  );
  assert.equal(said[0]!['next'], '1970-01-01T00:16:45.000Z');
});

test('a model that fails is a warning, one that svc gave up is not', async () => {
  const { hub, lines } = start('debug');
  for (const result of ['timeout', 'timeout', 'cancelled', 'outranked', 'answer'] as const) {
    hub.modelAnswered({ model, provider: 'local_runtime', result, ms: 5 });
  }
  assert.equal(hub.meters.providers.get('local_runtime')?.calls.get('timeout')?.took.count, 2);
  assert.deepEqual(
    (await lines()).map((line) => `${line.level} ${line.code}`),
    ['warn model_failed', ...Array.from({ length: 4 }, () => 'debug model_answered')],
  );
});

test('the line of a model that failed says what can be done', async () => {
  const { hub, lines } = start();
  for (const [name, result] of [
    ['local_runtime/llama3.2', 'connect_failed'],
    ['local_runtime/library/tiny:1b', 'not_found'],
    ['hosted_runtime/large', 'unauthorized'],
    ['hosted_runtime/large', 'answer_too_large'],
  ] as const) {
    const [provider = ''] = name.split('/');
    hub.modelAnswered({ model: name as ModelName, provider, result, ms: 5 });
  }
  assert.deepEqual(
    (await lines()).map((line) => line['message']),
    [
      'local_runtime/llama3.2 gave no answer: connect_failed. ' +
        'Ollama is not running: `ollama serve`. If it is, check base_url.',
      'local_runtime/library/tiny:1b gave no answer: not_found. ' +
        'Fetch the model: `ollama pull library/tiny:1b`, or name another.',
      'hosted_runtime/large gave no answer: unauthorized. Check the key in the environment.',
      'hosted_runtime/large gave no answer: answer_too_large.',
    ],
  );
});

test('a messenger is counted under its type, never under the id of its bot', () => {
  const { hub } = start();
  for (const bot of ['messenger_a:1', 'messenger_a:2']) {
    hub.messageAccepted({ channel: bot as ChannelKey, id, duplicate: false });
  }
  assert.deepEqual([...hub.meters.channels.keys()], ['messenger_a']);
  assert.equal(hub.meters.channels.get('messenger_a')?.accepted, 2);
});

test('states, notices and warnings have the level that they deserve', async () => {
  const { hub, lines } = start();
  hub.channelChanged({ channel: 'webhook', state: 'up', reason: null });
  hub.channelChanged({ channel: 'webhook', state: 'degraded', reason: 'it answers 502' });
  hub.channelChanged({ channel: 'webhook', state: 'failed', reason: 'the token was refused' });
  hub.configUsed({ revision: 'abc', channels: 1, brains: 1, models: [] });
  hub.warned({ code: 'open_bind', message: 'Anyone can reach it.', path: 'channels[0]' });
  hub.noticed({ code: 'listening', message: 'Ready.', details: { port: 1 } });
  assert.deepEqual(
    (await lines()).map((line) => `${line.level} ${line.code}`),
    [
      'info channel_changed',
      'warn channel_changed',
      'error channel_changed',
      'info plan_used',
      'warn open_bind',
      'info listening',
    ],
  );
});

test('a bug is named at level error; its stack, and what a parser read, are not', async () => {
  const { hub, lines } = start('info');
  hub.faulted({ where: 'the pipeline', error: new TypeError('x is not a function') });
  hub.faulted({ where: 'the pipeline', error: new SyntaxError('"my secret diary" is not JSON') });
  hub.faulted({ where: 'the pipeline', error: 'a thrown string' });
  assert.equal(hub.meters.faults, 3);
  const said = await lines();
  assert.deepEqual(
    said.map(({ level, error, reason }) => [level, error, reason]),
    [
      ['error', 'TypeError', 'x is not a function'],
      ['error', 'SyntaxError', undefined],
      ['error', 'string', undefined],
    ],
  );
  assert.ok(!JSON.stringify(said).includes('events.test.ts'));
  const loud = start('debug');
  loud.hub.faulted({ where: 'the pipeline', error: new Error('oh') });
  assert.match(JSON.stringify(await loud.lines()), /events\.test\.ts/);
});

test('messages of the last minute are counted, those that came before are not', () => {
  const { hub, clock } = start('error');
  oneMessage(hub);
  hub.messageAccepted({ channel, id, duplicate: true });
  clock.pass(30_000);
  oneMessage(hub);
  assert.equal(hub.meters.perMinute(), 2);
  clock.pass(31_000);
  assert.equal(hub.meters.perMinute(), 1);
});

test('a time of day that is set back quiets no warning and loses no count', async () => {
  const { hub, lines, clock } = start('info');
  oneMessage(hub);
  hub.messageRefused({ channel, code: 'inbox_full' });
  clock.set(-3_600_000);
  assert.equal(hub.meters.perMinute(), 1);
  clock.pass(10_000);
  hub.messageRefused({ channel, code: 'inbox_full' });
  assert.equal((await lines()).length, 2);
  clock.pass(51_000);
  assert.equal(hub.meters.perMinute(), 0);
});
