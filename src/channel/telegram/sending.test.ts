import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reply } from '../../domain/reply.ts';
import { createHttpClient } from '../../lib/http-client.ts';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { ScriptedTelegram, token } from '../../../test/fake/scripted-telegram.ts';
import type { Planned } from '../../../test/fake/scripted-telegram.ts';
import { handClock } from '../../../test/hand-clock.ts';
import { loadBotApi } from './bot-api.ts';
import { loadLexer } from './markdown.ts';
import { createPace } from './pace.ts';
import { send } from './sending.ts';

const first = { number: 1, possibleDuplicate: false, late: false };

/** Time stands still. */
async function start(given: { baseUrl?: string; random?: () => number; paced?: true } = {}) {
  const wide = { everyMs: 0, burst: 1 };
  const limits = given.paced ? {} : { bot: wide, person: wide, group: wide };
  const telegram = await ScriptedTelegram.start();
  const clock = handClock();
  const { deadlines, steady } = clock;
  const http = createHttpClient(deadlines, { connectMs: 60_000 });
  const { baseUrl = telegram.url } = given;
  const parts = { token, baseUrl, http, deadlines, steady };
  const pace = createPace({ steady, deadlines, limits });
  const limited = (ms: number): void => pace.hold(ms);
  const api = await loadBotApi({ ...parts, limited });
  const tools = { api, lexer: await loadLexer(), pace, token, random: given.random ?? (() => 0) };
  const { signal } = new AbortController();
  return {
    telegram,
    clock,
    send: (text: string, target = '[501,null,null]', attempt = first, by = signal, id = 'r1') =>
      send(tools, replyTo(target, text, id), attempt, by),
    ask: (...says: readonly string[]) => {
      const choices = says.map((one) => ({ label: one.split(' ')[0]!, says: one }));
      const reply = { ...replyTo('[501,null,null]', 'May I?'), choices };
      return send(tools, reply, first, signal);
    },
    payloads: () => telegram.callsOf('sendMessage').map(({ params }) => params),
    async [Symbol.asyncDispose]() {
      await http.close();
      await telegram[Symbol.asyncDispose]();
    },
  };
}

function replyTo(target: string, text: string, id = 'r1'): Reply {
  return { id, text, address: { channel: 'messenger_a:1', target } } as unknown as Reply;
}

const refusal = (error_code: number, description: string, parameters = {}): Planned => ({
  ok: false,
  error_code,
  description,
  parameters,
});

test('text with entities, no preview, and in private nothing more', async () => {
  await using it = await start();
  assert.deepEqual(await it.send('**four**, see http://x.example'), { kind: 'delivered' });
  assert.deepEqual(it.payloads(), [
    {
      chat_id: 501,
      text: 'four, see http://x.example',
      link_preview_options: { is_disabled: true },
      entities: [{ type: 'bold', offset: 0, length: 4 }],
    },
  ]);
});

test('in a group it replies to the message, and stays in the topic', async () => {
  await using it = await start();
  await it.send('four', '[-100200,5,17]');
  const [{ message_thread_id, reply_parameters } = {}] = it.payloads();
  assert.equal(message_thread_id, 5);
  assert.deepEqual(reply_parameters, { message_id: 17, allow_sending_without_reply: true });
});

test('refused entities cost the formatting, never the answer', async () => {
  await using it = await start();
  it.telegram.plan('sendMessage', refusal(400, "Bad Request: can't parse entities: x"));
  assert.deepEqual(await it.send('**four**'), { kind: 'delivered' });
  const [, plain] = it.payloads();
  assert.equal(plain?.['text'], '**four**');
  assert.equal(plain?.['entities'], undefined);
});

test('a topic that is gone is left out once', async () => {
  await using it = await start();
  const gone = refusal(400, 'Bad Request: message thread not found');
  it.telegram.plan('sendMessage', gone);
  assert.equal((await it.send('four', '[-100200,5,17]')).kind, 'delivered');
  assert.equal(it.payloads()[1]?.['message_thread_id'], undefined);
  it.telegram.plan('sendMessage', gone, gone);
  assert.equal((await it.send('four', '[-100200,5,17]')).kind, 'dead');
  assert.equal(it.payloads().length, 4);
});

test('a group that became a supergroup is found there', async () => {
  await using it = await start();
  const moved = refusal(400, 'Bad Request: group chat was upgraded to a supergroup chat', {
    migrate_to_chat_id: -100200,
  });
  it.telegram.plan('sendMessage', moved);
  assert.equal((await it.send('four', '[-200,null,8]')).kind, 'delivered');
  const [, again] = it.payloads();
  assert.deepEqual([again?.['chat_id'], again?.['reply_parameters']], [-100200, undefined]);
});

test('blocked and refused are dead at once', async () => {
  await using it = await start();
  it.telegram.plan('sendMessage', refusal(403, 'Forbidden: bot was blocked by the user'));
  it.telegram.plan('sendMessage', refusal(400, 'Bad Request: chat not found'));
  const blocked = await it.send('four');
  const unknown = await it.send('four');
  assert.deepEqual([blocked.kind, unknown.kind], ['dead', 'dead']);
  assert.equal(it.payloads().length, 2);
});

test('429 holds every chat for as long as it asks', async () => {
  await using it = await start();
  it.telegram.plan('sendMessage', refusal(429, 'Too Many Requests', { retry_after: 7 }));
  const outcome = await it.send('four');
  assert.ok(outcome.kind === 'paced' && outcome.asked?.kind === 'rate_limited');
  assert.deepEqual([outcome.pauseMs, outcome.asked.status], [7_000, 429]);
  const elsewhere = await it.send('five', '[502,null,null]');
  assert.deepEqual(elsewhere, { kind: 'paced', pauseMs: 7_000, asked: null });
  assert.equal(it.payloads().length, 1);
  it.clock.pass(7_000);
  assert.deepEqual(await it.send('five', '[502,null,null]'), { kind: 'delivered' });
});

test('a chat that has had its allowance is sent away unasked, and others are not', async () => {
  await using it = await start({ paced: true });
  const group = '[-100200,null,null]';
  const kinds: string[] = [];
  for (let i = 0; i < 5; i++) {
    kinds.push((await it.send('four', group)).kind);
    it.clock.pass(100);
  }
  assert.deepEqual(kinds, [...Array<string>(4).fill('delivered'), 'paced']);
  assert.deepEqual(await it.send('four'), { kind: 'delivered' });
  assert.equal(it.payloads().length, 5);
});

test('where a group has had its allowance, what is mended waits for its place', async () => {
  await using it = await start({ paced: true });
  const group = '[-100200,5,null]';
  for (let i = 0; i < 3; i++) {
    await it.send('four', group);
    it.clock.pass(100);
  }
  it.telegram.plan('sendMessage', refusal(400, 'Bad Request: message thread not found'));
  const sending = it.send('five', group);
  await it.telegram.until(() => it.payloads().length === 4);
  let passedMs = 0;
  await it.telegram.until(() => {
    if (passedMs < 5_000) it.clock.pass(100);
    passedMs += 100;
    return it.payloads().length === 5;
  });
  assert.deepEqual(await sending, { kind: 'delivered' });
});

test('a question that was deleted costs the reference, not the reply', async () => {
  await using it = await start();
  const gone = refusal(400, 'Bad Request: message to be replied not found');
  it.telegram.plan('sendMessage', gone);
  assert.deepEqual(await it.send('four', '[-100200,5,17]'), { kind: 'delivered' });
  const sent = it.payloads().map((one) => [one['message_thread_id'], 'reply_parameters' in one]);
  assert.deepEqual(sent, [
    [5, true],
    [5, false],
  ]);
  // Where nothing was answered it is no reason to send again.
  it.telegram.plan('sendMessage', gone);
  assert.equal((await it.send('four')).kind, 'dead');
  assert.equal(it.payloads().length, 3);
});

test('what the platform said is told, and neither the token nor what was sent', async () => {
  await using it = await start();
  const said = async (description: string): Promise<string | undefined> => {
    it.telegram.plan('sendMessage', refusal(400, description));
    const outcome = await it.send('the code is BLUE-HERON-4471');
    assert.ok(outcome.kind === 'dead');
    assert.doesNotMatch(outcome.failure.detail, /chat|HERON/);
    return outcome.failure.said;
  };
  assert.equal(await said('Bad Request: chat not found'), 'Bad Request: chat not found');
  assert.equal(await said(`Bad Request: bot${token} may not`), 'Bad Request: bot may not');
  assert.equal(await said('Bad Request: wrong text "the code is BLUE-HERON-4471"'), undefined);
});

test('a page of a proxy and a refused token are tried again', async () => {
  await using it = await start();
  it.telegram.plan('sendMessage', { page: '<h1>Bad Gateway</h1>', status: 502 });
  it.telegram.plan('sendMessage', refusal(401, 'Unauthorized'));
  for (const kind of ['server_error', 'unauthorized']) {
    const outcome = await it.send('four');
    assert.ok(outcome.kind === 'retry' && outcome.failure.kind === kind);
  }
});

test('a send whose end was not seen is tried once more, marked, and then dead', async () => {
  await using it = await start();
  it.telegram.plan('sendMessage', 'cut', 'cut');
  const outcome = await it.send('four');
  assert.ok(outcome.kind === 'retry' && outcome.mayHaveArrived);
  assert.equal(outcome.failure.retryAfterMs, 20_000);
  const marked = { ...first, number: 2, possibleDuplicate: true };
  assert.equal((await it.send('four', undefined, marked)).kind, 'dead');
});

test('the second try of a send whose end was not seen comes 20 to 60 s later', async () => {
  for (const [random, pauseMs] of [
    [0, 20_000],
    [0.5, 40_000],
    [1, 60_000],
  ] as const) {
    await using it = await start({ random: () => random });
    it.telegram.plan('sendMessage', 'cut');
    const outcome = await it.send('four');
    assert.ok(outcome.kind === 'retry' && outcome.failure.retryAfterMs === pauseMs);
  }
});

test('so does the one after a page of a relay, and not after an answer of Telegram', async () => {
  await using it = await start();
  it.telegram.plan('sendMessage', { page: '<h1>Bad Gateway</h1>', status: 502 });
  it.telegram.plan('sendMessage', refusal(500, 'Internal Server Error'));
  const pauses = [await it.send('four'), await it.send('four')].map((outcome) => {
    assert.ok(outcome.kind === 'retry' && outcome.mayHaveArrived);
    return outcome.failure.retryAfterMs;
  });
  assert.deepEqual(pauses, [20_000, null]);
});

test('no answer is a time-out after 15 s', async () => {
  await using it = await start();
  it.telegram.plan('sendMessage', 'hang');
  const sending = it.send('four');
  await it.telegram.until(() => it.payloads().length === 1);
  it.clock.pass(15_000);
  const outcome = await sending;
  assert.ok(outcome.kind === 'retry' && outcome.mayHaveArrived);
  assert.equal(outcome.failure.kind, 'timeout');
});

test('a marked one that never left is tried again by the schedule', async () => {
  await using it = await start({ baseUrl: `http://127.0.0.1:${closedPort}` });
  const outcome = await it.send('four', undefined, { ...first, possibleDuplicate: true });
  assert.ok(outcome.kind === 'retry' && !outcome.mayHaveArrived);
  assert.equal(outcome.failure.kind, 'connect_failed');
});

test('a cancelled send says whether it may have arrived', async () => {
  await using it = await start();
  it.telegram.plan('sendMessage', 'hang');
  const ending = new AbortController();
  const sending = it.send('four', undefined, first, ending.signal);
  await it.telegram.until(() => it.payloads().length === 1);
  ending.abort();
  const outcome = await sending;
  assert.ok(outcome.kind === 'retry' && outcome.mayHaveArrived);
  assert.equal(outcome.failure.kind, 'cancelled');
});

test('the token is in nothing that comes back', async () => {
  await using it = await start();
  it.telegram.plan('sendMessage', 'cut', { page: token, status: 502 });
  it.telegram.plan('sendMessage', refusal(400, `Bad Request: ${token}`));
  for (let i = 0; i < 3; i++) {
    const outcome = await it.send('four');
    assert.ok(!JSON.stringify(outcome).includes(token.slice(-10)));
  }
});

test('of an answer in parts only the first points at the message', async () => {
  await using it = await start();
  for (const id of ['r1-00', 'r1-01']) await it.send('four', '[-200,null,8]', first, undefined, id);
  const pointing = it.payloads().map(({ reply_parameters }) => reply_parameters !== undefined);
  assert.deepEqual(pointing, [true, false]);
});

const asked = ['/approve 4XK2M9TQ0Z', '/refuse 4XK2M9TQ0Z'];

test('what may be pressed stands in a row below the text', async () => {
  await using it = await start();
  assert.deepEqual(await it.ask(...asked), { kind: 'delivered' });
  const [approve, refuse] = asked;
  assert.deepEqual(it.payloads()[0]?.['reply_markup'], {
    inline_keyboard: [
      [
        { text: '/approve', callback_data: approve },
        { text: '/refuse', callback_data: refuse },
      ],
    ],
  });
});

test('where a button is too long, or refused, the text stands alone', async () => {
  await using it = await start();
  assert.deepEqual(await it.ask('/approve 4XK2M9TQ0Z', 'x'.repeat(65)), { kind: 'delivered' });
  it.telegram.plan('sendMessage', refusal(400, 'Bad Request: BUTTON_DATA_INVALID'));
  assert.deepEqual(await it.ask(...asked), { kind: 'delivered' });
  const sent = it.payloads().map(({ text, reply_markup }) => [text, reply_markup !== undefined]);
  assert.deepEqual(sent, [
    ['May I?', false],
    ['May I?', true],
    ['May I?', false],
  ]);
});
