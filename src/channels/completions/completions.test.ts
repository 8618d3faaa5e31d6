import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answered,
  apiKey,
  ask,
  chatPath,
  offered,
  question,
  startCompletions,
  type RunningCompletions,
} from '../../../test/fake/completions.ts';
import { pngOf } from '../../../test/fake/pictures.ts';
import { freePort } from '../../../test/support/program.ts';
import { patienceMs, until, within } from '../../../test/support/waiting.ts';
import type { CompletionEnd } from '../../domain/completion.ts';
import type { Decision } from '../../domain/decision.ts';
import { createListeners } from '../../lib/listener.ts';
import { Stopper } from '../../lib/stop.ts';
import { OpenRequests } from './open-requests.ts';

type Json = Record<string, unknown>;
const jsonOf = async (answer: Response): Promise<Json> => (await answer.json()) as Json;
const errorOf = async (answer: Response): Promise<Json> => (await jsonOf(answer))['error'] as Json;

/** The events of a stream, as parsed JSON or as text. */
function eventsOf(text: string): unknown[] {
  return text.split('\n\n').flatMap((event) => {
    if (event === '') return [];
    const data = event.replace(/^data: /, '');
    return [data.startsWith('{') ? (JSON.parse(data) as unknown) : data];
  });
}

/** Reads a stream part by part. */
function readerOf(answer: Response): { next(): Promise<string>; rest(): Promise<string> } {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  const next = async (): Promise<string> => (await reader.read()).value ?? '';
  return {
    next,
    async rest() {
      let text = '';
      for (let part = await next(); part !== ''; part = await next()) text += part;
      return text;
    },
  };
}

test('the models are the offered brains, in their order', async () => {
  await using api = await startCompletions();
  const { object, data } = await jsonOf(await ask(api, '/v1/models'));
  assert.equal(object, 'list');
  const models = data as Json[];
  assert.deepEqual(
    models.map(({ id }) => id),
    [...offered.keys()],
  );
  assert.deepEqual(Object.keys(models[0]!), ['id', 'object', 'created', 'owned_by']);
  const one = await ask(api, '/v1/models/b%75tler');
  assert.deepEqual(await jsonOf(one), models[1]);
  const missing = await errorOf(await ask(api, '/v1/models/%E0%A4'));
  assert.equal(missing['code'], 'model_not_found');
  assert.equal((await ask(api, '/v1//models')).status, 200);
  const head = await ask(api, '/v1/models', null, { method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [200, '']);
});

test('an answer has the form of the API, and its message the facts of the request', async () => {
  await using api = await startCompletions();
  const asking = ask(api, chatPath, question({ user: 'ann' }));
  const { request } = await api.opened();
  assert.equal(request.brain, 'support');
  const usage = { inputTokens: 7, outputTokens: 2, cachedTokens: 5 };
  assert.deepEqual(await api.reply(answered('hello', {}, usage)), { kind: 'delivered' });
  const received = await asking;
  assert.equal(received.headers.get('x-request-id'), 'm1');
  const { created, ...answer } = await jsonOf(received);
  assert.equal(created, Math.floor(api.clock.now() / 1_000));
  const message = { role: 'assistant', content: 'hello', refusal: null, annotations: [] };
  assert.deepEqual(answer, {
    id: 'chatcmpl-m1',
    object: 'chat.completion',
    model: 'support',
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: 7,
      completion_tokens: 2,
      total_tokens: 9,
      prompt_tokens_details: { cached_tokens: 5 },
    },
  });
  const { conversation, sender, dedupeKey, route, text } = api.accept.messages[0]!;
  assert.deepEqual([sender.id, dedupeKey, text], ['ann', null, 'hi']);
  assert.equal(route?.brain, 'support');
  const again = ask(api, chatPath, question());
  await api.opened(1);
  const second = api.accept.messages[1]!;
  assert.equal(second.sender.id, 'completions');
  assert.notEqual(second.conversation, conversation);
  await api.reply(answered('x'), 'x', 1);
  await again;
});

test('a stream has the role, the text in parts, the reason, the usage and the end', async () => {
  await using api = await startCompletions();
  const stream_options = { include_usage: true };
  const asking = ask(api, chatPath, question({ stream: true, stream_options }));
  const open = await api.opened();
  open.show('Hel');
  const answer = await asking;
  assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.equal(answer.headers.get('x-request-id'), 'm1');
  const reader = readerOf(answer);
  const first = await reader.next();
  open.show('Hello ');
  const more = await reader.next();
  await api.reply(answered('Hello world', { isCut: true }));
  const events = eventsOf(first + more + (await reader.rest())) as Json[];
  assert.equal(events.pop(), '[DONE]');
  const usage = events.pop()!;
  assert.deepEqual(usage['choices'], []);
  assert.deepEqual(usage['usage'], { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
  const isCors = (name: string): boolean => name.startsWith('access-control-');
  assert.ok(![...answer.headers.keys()].some(isCors), 'web pages cannot read it');
  const choices = events.map((event) => (event['choices'] as Json[])[0]!);
  assert.deepEqual(
    choices.map(({ delta, finish_reason: reason }) => [delta, reason]),
    [
      [{ role: 'assistant', content: '' }, null],
      [{ content: 'Hel' }, null],
      [{ content: 'lo' }, null],
      [{ content: ' world' }, null],
      [{}, 'length'],
    ],
  );
  for (const event of events) {
    assert.equal(event['object'], 'chat.completion.chunk');
    assert.deepEqual([event['id'], event['usage']], ['chatcmpl-m1', null]);
  }
});

test('the calls of a client’s tools are in the answer and in the stream', async () => {
  await using api = await startCompletions();
  const calls = [
    { id: 'a', name: 'look', arguments: { at: 1 } },
    { id: '', name: 'look', arguments: '{"at":' },
    { id: 'c', name: 'look', arguments: '' },
  ];
  const sent = [
    { id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
    { id: 'call00001', type: 'function', function: { name: 'look', arguments: '{"at":' } },
    { id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } },
  ];
  const tools = [{ type: 'function', function: { name: 'look' } }];
  const whole = ask(api, chatPath, question({ tools }));
  await api.reply(answered('', { calls }), 'it calls look');
  const [choice] = (await jsonOf(await whole))['choices'] as Json[];
  const { content, tool_calls } = choice!['message'] as Json;
  assert.deepEqual([content, tool_calls], [null, sent]);
  assert.equal(choice!['finish_reason'], 'tool_calls');
  const stream = ask(api, chatPath, question({ tools, stream: true, parallel_tool_calls: false }));
  await api.reply(answered('', { calls }), 'it calls look', 1);
  const events = eventsOf(await (await stream).text()).slice(1, -1) as Json[];
  const deltas = events.map((event) => (event['choices'] as Json[])[0]!['delta']);
  const { function: called, ...head } = sent[0]!;
  assert.deepEqual(deltas, [
    { tool_calls: [{ index: 0, ...head, function: { ...called, arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: called.arguments } }] },
    {},
  ]);
});

const apology = (more: Partial<Decision> = {}): CompletionEnd => ({
  kind: 'decided',
  decision: { kind: 'apology', apology: 'busy', why: '', ...more } as Decision,
  usage: null,
});

const ends: readonly [string, CompletionEnd, number, string, string | null, string | null][] = [
  ['busy', apology(), 503, 'busy', null, 'false'],
  ['no answer', apology({ apology: 'no_answer' }), 503, 'no_answer', null, 'false'],
  ['too long', apology({ apology: 'too_long' }), 400, 'context_length_exceeded', null, null],
  ['unseen', apology({ apology: 'unseen' }), 400, 'image_unsupported', null, null],
  ['a fault', apology({ apology: 'fault' }), 500, 'fault', null, 'false'],
  [
    'a bad picture',
    { kind: 'refused', fault: 'picture', why: 'it is broken' },
    400,
    'invalid_image',
    null,
    null,
  ],
];

test('an end without an answer has a status, a code, and says whether to try again', async () => {
  await using api = await startCompletions();
  for (const [at, [name, end, status, code, after, again]] of ends.entries()) {
    const asking = ask(api, chatPath, question({ stream: true }));
    await api.reply(end, 'sorry', at);
    const answer = await asking;
    assert.equal(answer.status, status, name);
    assert.equal(answer.headers.get('retry-after'), after, name);
    assert.equal(answer.headers.get('x-should-retry'), again, name);
    assert.equal(answer.headers.get('x-request-id'), `m${at + 1}`, name);
    const error = await errorOf(answer);
    assert.deepEqual(Object.keys(error), ['message', 'type', 'param', 'code']);
    assert.equal(error['code'], code, name);
    assert.equal(error['message'], end.kind === 'refused' ? end.why : 'sorry', name);
  }
});

test('over budget is 429 until the budget opens, and not tried again', async () => {
  await using api = await startCompletions();
  const opensAt = api.clock.now() + 90_500;
  const asking = ask(api, chatPath, question());
  await api.reply(apology({ apology: 'over_budget', opensAt }));
  const answer = await asking;
  const { headers, status } = answer;
  const seen = [status, headers.get('retry-after'), headers.get('x-should-retry')];
  assert.deepEqual(seen, [429, '91', 'false']);
  const { type, code } = await errorOf(answer);
  assert.deepEqual([type, code], ['insufficient_quota', 'insufficient_quota']);
});

test('a stop ends the text, and no part of it goes out before', async () => {
  await using api = await startCompletions();
  const asking = ask(api, chatPath, question({ stream: true, stop: ['END', '##'] }));
  const open = await api.opened();
  open.show('one EN');
  const reader = readerOf(await asking);
  const first = await reader.next();
  open.show('one ENtwo ENDthree');
  await api.reply(answered('one ENtwo ENDthree', { isCut: true }));
  const events = eventsOf(first + (await reader.rest())).slice(0, -1) as Json[];
  const choices = events.map((event) => (event['choices'] as Json[])[0]!);
  const text = choices.map(({ delta }) => (delta as { content?: string }).content).join('');
  assert.equal(text, 'one ENtwo ');
  assert.equal(choices.at(-1)!['finish_reason'], 'stop');
});

test('an error after the first text, and another answer, end the stream without DONE', async () => {
  await using api = await startCompletions();
  const endings = [apology(), answered('Bye')];
  for (const [at, end] of endings.entries()) {
    const asking = ask(api, chatPath, question({ stream: true }));
    (await api.opened(at)).show('Hello');
    const reader = readerOf(await asking);
    const first = await reader.next();
    await api.reply(end, 'sorry', at);
    const last = eventsOf(first + (await reader.rest())).at(-1) as Json;
    const { code } = last['error'] as Json;
    assert.equal(code, ['busy', 'answer_changed'][at]);
  }
});

test('a silent stream begins with its role, and its error is an event', async () => {
  await using api = await startCompletions();
  const asking = ask(api, chatPath, question({ stream: true }));
  const open = await api.opened();
  api.clock.pass(15_000);
  const reader = readerOf(await asking);
  const deltas: unknown[] = [];
  for (const _ of [1, 2, 3]) {
    const [event] = eventsOf(await reader.next()) as Json[];
    const [choice] = event!['choices'] as Json[];
    assert.equal(choice!['finish_reason'], null);
    deltas.push(choice!['delta']);
    api.clock.pass(15_000);
  }
  assert.deepEqual(deltas, [{ role: 'assistant', content: '' }, {}, {}]);
  await reader.next();
  open.fail('stopped');
  const [event] = eventsOf(await reader.rest()) as Json[];
  assert.equal((event!['error'] as Json)['code'], 'shutting_down');
});

test('text that comes before the message has an id waits for it', async () => {
  await using api = await startCompletions();
  const accepted = Promise.withResolvers<void>();
  const { accept } = api;
  const slow = Object.assign(
    async (batch: Parameters<typeof accept>[0]) => {
      const result = await accept(batch);
      await accepted.promise;
      return result;
    },
    { ...accept },
  );
  const ending = new AbortController();
  const running = api.channel.run(slow, ending.signal);
  const asking = ask(api, chatPath, question({ stream: true }));
  const open = await api.opened();
  open.show('early');
  accepted.resolve();
  const reader = readerOf(await asking);
  assert.match(await reader.next(), /"id":"chatcmpl-m1".*early/s);
  ending.abort();
  await running;
});

test('a client that hangs up stops its turn, and its reply finds nobody', async () => {
  await using api = await startCompletions();
  for (const [at, stream] of [false, true].entries()) {
    const leaving = new AbortController();
    const asking = ask(api, chatPath, question({ stream }), {}, leaving.signal);
    const open = await api.opened(at);
    if (stream) {
      open.show('Hello');
      await asking;
    }
    asking.catch(() => {});
    leaving.abort();
    await until('the turn is stopped', () => open.gone.stopped);
    const message = api.accept.messages[at]!;
    assert.equal(api.channel.openRequest(message), null);
    open.show('Hello you');
    open.end(answered('Hello you'));
    open.fail('deleted');
    const reply = { conversation: message.conversation, inReplyTo: 'm1', text: '' } as never;
    const attempt = { number: 1, possibleDuplicate: false, late: false };
    const outcome = await api.channel.deliver(reply, attempt, new Stopper());
    assert.equal(outcome.kind === 'dead' && outcome.failure.kind, 'gone');
  }
});

test('a request of a finished answer is not stopped', async () => {
  await using api = await startCompletions();
  const asking = ask(api, chatPath, question());
  const { gone } = await api.opened();
  await api.reply(answered('x'));
  await (await asking).text();
  await until('it is closed', () => api.channel.openRequest(api.accept.messages[0]!) === null);
  assert.equal(gone.stopped, false);
});

const dataUrl = (bytes: Uint8Array): string =>
  `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`;

test('the newest four pictures can be fetched, each once and within its bound', async () => {
  await using api = await startCompletions();
  const pictures = Array.from({ length: 5 }, (_, at) => pngOf(at + 1, 1, [9, 9, 9]));
  const content = pictures.map((bytes) => ({
    type: 'image_url',
    image_url: { url: dataUrl(bytes) },
  }));
  const messages = [content.slice(0, 2), content.slice(2)].map((parts) => ({
    role: 'user',
    content: parts,
  }));
  const asking = ask(api, chatPath, question({ messages }));
  const { request } = await api.opened();
  const media = request.lines.flatMap((line) => (line.role === 'user' ? line.media : []));
  assert.deepEqual(api.accept.messages[0]!.media, media[2]);
  assert.deepEqual(api.accept.messages[0]!.further, media.slice(3));
  const fetch = (at: number, max = 1_000): ReturnType<typeof api.channel.fetch> =>
    api.channel.fetch(media[at]!.file!, max, new Stopper());
  assert.equal((await fetch(0)).kind, 'failed');
  const fetched = await fetch(4);
  assert.ok(fetched.kind === 'fetched');
  assert.deepEqual(Uint8Array.from(fetched.bytes), Uint8Array.from(pictures[4]!));
  assert.equal(media[4]!.bytes, pictures[4]!.length);
  assert.equal((await fetch(4)).kind, 'failed');
  assert.equal((await fetch(3, 10)).kind, 'too_large');
  assert.equal((await api.channel.fetch('none', 10, new Stopper())).kind, 'failed');
  await api.reply(answered('x'));
  await asking;
});

test('more requests than allowed are 429, at one time and in a minute', async () => {
  await using few = await startCompletions({ config: { inFlightMax: 1 } });
  const first = ask(few, chatPath, question());
  await few.opened();
  const second = await ask(few, chatPath, question());
  assert.deepEqual([second.status, second.headers.get('retry-after')], [429, '1']);
  assert.equal((await errorOf(second))['code'], 'rate_limit_exceeded');
  assert.equal((await ask(few, '/v1/models')).status, 200);
  await few.reply(answered('x'));
  await (await first).text();
  await using slow = await startCompletions({ config: { requestsPerMinute: 2 } });
  for (const status of [400, 400, 429]) {
    slow.clock.pass(10_000);
    const answer = await ask(slow, chatPath, {});
    assert.equal(answer.status, status);
    if (status === 429) assert.equal(answer.headers.get('retry-after'), '40');
    await answer.text();
  }
  slow.clock.pass(40_000);
  assert.equal((await ask(slow, chatPath, {})).status, 400);
});

test('without room, and with a ledger that refuses or throws, the answer says so', async () => {
  await using api = await startCompletions();
  const statusOf = async (): Promise<readonly unknown[]> => {
    const answer = await ask(api, chatPath, question());
    return [answer.status, answer.headers.get('retry-after'), (await errorOf(answer))['code']];
  };
  api.accept.free = 0;
  assert.deepEqual(await statusOf(), [503, '1', 'full']);
  api.accept.free = 1;
  api.accept.next = [{ kind: 'refused', reason: 'storage_failed', retryAfterMs: 2_500 }];
  assert.deepEqual(await statusOf(), [503, '3', 'storage_failed']);
  api.accept.next.shift = () => {
    throw new Error('broken');
  };
  assert.deepEqual(await statusOf(), [500, null, 'fault']);
  assert.ok(api.calls.some(([name]) => name === 'faulted'));
});

test('a newer channel takes the address over, and answers requests under way', async () => {
  const openRequests = new OpenRequests();
  const listeners = createListeners({ requestMs: patienceMs });
  const port = await freePort();
  const bind = { host: '127.0.0.1', port, text: '', loopback: true, given: true };
  const start = (token = apiKey): Promise<RunningCompletions> =>
    startCompletions({ openRequests, listeners, token, config: { bind } });
  const first = await start();
  const asking = ask(first, chatPath, question());
  await first.opened();
  await using second = await start('another-key');
  await first[Symbol.asyncDispose]();
  assert.equal((await ask(second, chatPath, question())).status, 401);
  const [message] = first.accept.messages;
  const open = second.channel.openRequest(message!)!;
  open.end(answered('late'));
  const reply = { conversation: message!.conversation, inReplyTo: 'm1', text: '' } as never;
  const attempt = { number: 1, possibleDuplicate: false, late: false };
  await second.channel.deliver(reply, attempt, new Stopper());
  assert.match(await (await asking).text(), /"content":"late"/);
});

test('without a newer channel, its end fails the requests that are left', async () => {
  const api = await startCompletions();
  const answers = [false, true].map((stream) => ask(api, chatPath, question({ stream })));
  await api.opened(1);
  api.stop();
  assert.ok(api.channel.openRequest(api.accept.messages[0]!) !== null);
  await within('the disposal', Promise.resolve(api[Symbol.asyncDispose]()));
  for (const asking of answers) {
    const answer = await asking;
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1']);
    assert.equal((await errorOf(answer))['code'], 'shutting_down');
  }
});

test('a taken address names the field and the next step', async () => {
  await using api = await startCompletions();
  const { port } = api;
  const bind = { host: '127.0.0.1', port, text: `127.0.0.1:${port}`, loopback: true, given: true };
  await assert.rejects(startCompletions({ config: { bind } }), /^Error: completions\.bind: .*stop/);
});
