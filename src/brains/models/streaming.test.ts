import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testStreaming } from '../../../test/contract/model-streaming.ts';
import { Bench, neverStopped, requestOf } from '../../../test/contract/model.ts';
import { startFakeOllama } from '../../../test/fake/ollama.ts';
import { startFakeOpenai } from '../../../test/fake/openai.ts';
import { callMarks } from '../../domain/model-habits.ts';
import { HostedStream } from './hosted-runtime/stream.ts';
import { LocalStream } from './local-runtime/wire.ts';
import { StreamReceiver, ThinkingHabit, type AnswerStream } from './streaming.ts';

testStreaming({ provider: 'local_runtime', modelId: 'llama3', start: startFakeOllama });
testStreaming({ provider: 'hosted_runtime', modelId: 'gpt-test', start: startFakeOpenai });

const greeting = 'Größe: 4 €, 👍';
const lines = greeting
  .split('')
  .map((content) => JSON.stringify({ message: { content }, done: false }));
const local = [...lines, '{"message":{"content":""},"done":true,"eval_count":3}'].join('\n');
const events = greeting
  .split('')
  .map((content) => JSON.stringify({ choices: [{ delta: { content } }] }));
const hosted = [...events, '[DONE]'].map((data) => `: ping\r\ndata: ${data}\r\n\r\n`).join('');

const streams: readonly (readonly [string, string, () => AnswerStream])[] = [
  ['lines of JSON', local, () => new LocalStream()],
  ['server-sent events', hosted, () => new HostedStream()],
];

for (const [name, body, make] of streams) {
  test(`${name}: it does not matter where the pieces are cut`, () => {
    const bytes = Buffer.from(body);
    const wholes = [1, 2, 3, 7, 64, bytes.length].map((size) => {
      const texts: string[] = [];
      const receiver = new StreamReceiver(
        make(),
        (whole) => texts.push(whole),
        new ThinkingHabit('m'),
      );
      for (let at = 0; at < bytes.length; at += size) {
        receiver.receive(200, bytes.subarray(at, at + size));
      }
      assert.equal(texts.at(-1), greeting);
      for (const one of texts) assert.ok(greeting.startsWith(one.replace(/[\uD800-\uDFFF]$/, '')));
      const answer = { kind: 'answer', status: 200, headers: {}, body } as const;
      const whole = receiver.whole(answer, 1_000_000);
      assert.ok(whole.kind === 'answer');
      return whole.body;
    });
    assert.equal(new Set(wholes).size, 1);
    assert.ok(wholes[0]!.includes('Größe'));
  });

  test(`${name}: without an end it is cut, and an error in it is the answer`, () => {
    const half = make();
    half.push(body.slice(0, body.length / 2));
    assert.deepEqual(half.end(), { kind: 'cut' });
    const wrong = make();
    const error = '{"error":"upstream"}';
    wrong.push(name === 'lines of JSON' ? `${lines[0]}\n${error}\n` : `data: ${error}\n\n`);
    assert.match(JSON.stringify(wrong.end()), /whole.*error.*upstream/);
  });
}

const unverified = 'Your organization must be verified to stream this model.';

for (const [field, error] of [
  ['stream_options', { message: 'Unknown parameter: stream_options' }],
  ['stream', { message: unverified, param: 'stream' }],
  ['stream', { message: 'Streaming is not supported for this model' }],
] as const) {
  test(`who is refused ${field} asks without from then on: ${error.message}`, async () => {
    await using fake = await startFakeOpenai(({ body }) => {
      const given = (body as Record<string, unknown>)[field];
      if (given === undefined || given === false) return { answer: 'hello' };
      return { status: 400, body: JSON.stringify({ error }) };
    });
    await using bench = new Bench();
    const kind = { provider: 'hosted_runtime', modelId: 'gpt-test' } as const;
    const model = bench.build(kind, fake.url);
    for (let times = 0; times < 2; times++) {
      const outcome = await model.ask(requestOf({ onText() {} }), neverStopped);
      assert.ok(outcome.kind === 'answer' && outcome.text === 'hello');
    }
    assert.equal(fake.calls.length, 3);
  });
}

/** The texts that are shown while a model writes this text, one character at a time. */
function shownOf(written: string, habit: ThinkingHabit): readonly string[] {
  const shown: string[] = [];
  const receiver = new StreamReceiver(new LocalStream(), (whole) => shown.push(whole), habit);
  const line = (content: string, done: boolean): Buffer =>
    Buffer.from(`${JSON.stringify({ message: { content }, done })}\n`);
  for (const character of written) receiver.receive(200, line(character, false));
  receiver.receive(200, line('', true));
  receiver.whole({ kind: 'answer', status: 200, headers: {}, body: '' }, 1_000_000);
  return shown;
}

test('thinking that the prompt opens is shown to nobody, once that is known', () => {
  const written = 'The code is 1234.\n</think>\n\nWe open at nine.';
  const secret = /1234|think/;
  const byName = shownOf(written, new ThinkingHabit('deepseek-r1:8b'));
  assert.equal(byName.at(-1), 'We open at nine.');
  for (const one of byName) assert.doesNotMatch(one, secret);
  const other = new ThinkingHabit('a-model');
  assert.equal(shownOf(written, other).at(-1), 'We open at nine.');
  for (const one of shownOf(written, other)) assert.doesNotMatch(one, secret);
});

test('a model whose name says that it thinks is shown once it has not', () => {
  const habit = new ThinkingHabit('deepseek-r1:8b');
  assert.deepEqual(shownOf('It is 8.', habit), []);
  assert.equal(shownOf('It is 9.', habit).at(-1), 'It is 9.');
});

for (const written of [
  '<think duration="3s">\nThe code is 1234.\n</think>\n\nWe open at nine.',
  '◁think▷The code is 1234.◁/think▷We open at nine.',
  '[THINK]The code is 1234.[/THINK]We open at nine.',
  'Well.\n<think>\nThe code is 1234.\n</think>\n\nWe open at nine.',
  '<|channel|>analysis<|message|>The code is 1234.<|end|>' +
    '<|start|>assistant<|channel|>final<|message|>We open at nine.<|return|>',
]) {
  test(`thinking is not shown while it grows: ${written.slice(0, 24)}`, () => {
    const shown = shownOf(written, new ThinkingHabit('a-model'));
    assert.equal(shown.at(-1), 'We open at nine.');
    for (const one of shown) assert.doesNotMatch(one, /1234|think|channel|analysis/i);
  });
}

for (const { open, close } of callMarks) {
  test(`a call that is written as a text is not shown while it grows: ${open}`, () => {
    const written = `I look.\n${open}calc>\n{"name": "calc", "code": 1234}\n${close}\nIt is 8.`;
    const shown = shownOf(written, new ThinkingHabit('a-model'));
    assert.equal(shown.at(-1), 'I look.\n\nIt is 8.');
    for (const one of shown) assert.doesNotMatch(one, /1234|calc/);
  });
}

test('what an error in a stream names beside itself, and tells of usage, is told', () => {
  const ofLocal = new LocalStream();
  ofLocal.push(
    '{"remote_host":"https://vendor","message":{"content":"a"}}\n{"error":"upstream"}\n',
  );
  assert.match(JSON.stringify(ofLocal.end()), /vendor.*upstream/);
  const streamed = new HostedStream();
  streamed.push('data: {"usage":{"prompt_tokens":7}}\n\ndata: {"error":"upstream"}\n\n');
  assert.match(JSON.stringify(streamed.end()), /upstream.*prompt_tokens/);
});

test('what several chunks of a stream tell of usage is told together', () => {
  const usageOf = (...reports: readonly object[]): object => {
    const streamed = new HostedStream();
    for (const usage of reports) {
      const choices = [{ delta: { content: 'a' }, finish_reason: 'stop' }];
      streamed.push(`data: ${JSON.stringify({ choices, usage })}\n\n`);
    }
    const end = streamed.end();
    assert.equal(end.kind, 'whole');
    return (JSON.parse((end as { body: string }).body) as { usage: object }).usage;
  };
  // Portkey, for Anthropic's models on Vertex: src/providers/google-vertex-ai/chatComplete.ts
  assert.deepEqual(usageOf({ prompt_tokens: 25 }, { completion_tokens: 15 }), {
    prompt_tokens: 25,
    completion_tokens: 15,
  });
  // llmio#71: a count of 0 after a real count does not count.
  const details = { prompt_tokens_details: { cached_tokens: 8 } };
  const real = { prompt_tokens: 10, completion_tokens: 2, ...details };
  const nothing = { prompt_tokens: 0, completion_tokens: 0, prompt_tokens_details: null };
  assert.deepEqual(usageOf(real, nothing), real);
  // oh-my-pi#5022: vLLM reports its cache only in the last chunk.
  assert.deepEqual(usageOf({ prompt_tokens: 10, completion_tokens: 1 }, real), real);
});

test('a text that comes in typed parts is told without those that are no text', () => {
  const streamed = new HostedStream();
  const content = [
    { type: 'thinking', thinking: 'hm' },
    { type: 'text', text: 'four' },
  ];
  streamed.push(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
  assert.equal(streamed.text, 'four');
});

test('a line may list more calls than a function takes arguments', () => {
  const streamed = new LocalStream();
  const calls = Array.from({ length: 500_000 }, () => 0);
  streamed.push(`${JSON.stringify({ message: { tool_calls: calls }, done: true })}\n`);
  assert.match(JSON.stringify(streamed.end()), /tool_calls/);
});

test('a streamed answer has the bound of another one, and of a long one no more is told', () => {
  const lengths: number[] = [];
  const receiver = new StreamReceiver(
    new LocalStream(),
    (whole) => lengths.push(whole.length),
    new ThinkingHabit('m'),
  );
  const line = (content: string, done: boolean) =>
    `${JSON.stringify({ message: { content }, done })}\n`;
  for (const content of ['a', 'b'.repeat(70_000), 'c']) {
    receiver.receive(200, Buffer.from(line(content, false)));
  }
  receiver.receive(200, Buffer.from(line('', true)));
  assert.deepEqual(lengths, [1]);
  const answer = { kind: 'answer', status: 200, headers: {}, body: '' } as const;
  const whole = receiver.whole(answer, 70_000);
  assert.equal(whole.kind === 'fault' && whole.fault, 'answer_too_large');
});
