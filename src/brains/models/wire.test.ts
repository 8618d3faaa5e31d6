import { FakeBudgetGuard } from '../../../test/fake/budget-guard.ts';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fromNow } from '../../../test/support/hand-clock.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import * as hosted from './hosted-runtime/wire.ts';
import * as local from './local-runtime/wire.ts';
import type { ModelRequest } from './model.ts';
import type { ToolNotice } from '../../domain/completion.ts';

type Payload = {
  readonly name: string;
  readonly status: number;
  readonly body: string;
  readonly text?: string;
  readonly calls?: unknown;
  readonly namesVendor?: boolean;
  readonly failure?: string;
};

const calculator: ToolNotice = {
  name: 'calc',
  description: 'Calculates.',
  parameters: { type: 'object' },
};

const fixtures = join(import.meta.dirname, '../../../test/fixtures/models');

function testPayloads(
  file: string,
  read: (status: number, body: string, tools: readonly ToolNotice[]) => local.ChatAnswer,
): void {
  suite(`from the wire, ${file}`, () => {
    const payloads = JSON.parse(readFileSync(join(fixtures, file), 'utf8')) as readonly Payload[];
    for (const { name, status, body, ...expected } of payloads) {
      test(name, () => {
        const tools = expected.calls === undefined ? [] : [calculator];
        const { parsed, namesVendor } = read(status, body, tools);
        if (parsed.kind === 'failed') {
          assert.equal(parsed.failure.kind, expected.failure);
          return;
        }
        assert.equal(parsed.text, expected.text);
        assert.deepEqual(parsed.calls, expected.calls ?? []);
        assert.equal(namesVendor, expected.namesVendor ?? false);
        assert.notEqual(parsed.usage, null);
      });
    }
  });
}

testPayloads('ollama.json', (status, body, tools) => local.fromWire(status, body, null, tools));
testPayloads('openai.json', (status, body, tools) => ({
  parsed: hosted.fromWire(status, body, null, tools),
  namesVendor: false,
}));

const request: ModelRequest = {
  sensitivity: 'public',
  system: null,
  lines: [{ role: 'user', text: 'hi' }],
  budgetGuard: new FakeBudgetGuard(),
  keptFrom: 0,
  tools: [],
  deadlineAt: fromNow(patienceMs),
};
const messages = [{ role: 'user', content: 'hi' }];

test('to the local runtime: whole answers, no thinking, no silent forgetting', () => {
  assert.deepEqual(JSON.parse(local.toWire('llama3', request, null)), {
    model: 'llama3',
    messages,
    stream: false,
    think: false,
    truncate: false,
    shift: false,
  });
});

test('to a hosted runtime: nothing that only some understand', () => {
  const body = { model: 'gpt-test', messages, stream: false };
  assert.deepEqual(JSON.parse(hosted.toWire('gpt-test', request, null)), body);
});

test('a wait that was asked for is kept where another try may help', () => {
  const waits = [429, 503, 500, 400].map((status) => {
    const parsed = hosted.fromWire(status, '', 5_000, []);
    return parsed.kind === 'failed' ? parsed.failure.retryAfterMs : -1;
  });
  assert.deepEqual(waits, [5_000, 5_000, 5_000, null]);
});

const list = (...names: string[]): string =>
  JSON.stringify({ models: names.map((name) => ({ name })) });
const has = (body: string, id: string): boolean | undefined => local.findTag(body, id)?.hasModel;

test("what a model wrote into its runtime's error takes no calls away", () => {
  const kinds: readonly [string, string][] = [
    ['"registry.ollama.ai/library/gemma:2b does not support tools"', 'server_error'],
    ["registry.ollama.ai/library/gemma:2b doesn't know; it does not support tools", 'tools'],
    ['registry.ollama.ai/library/gemma:2b does not support tools', 'tools'],
    ['"gemma:2b" does not support tools', 'tools'],
    ['"auto" tool choice requires --enable-auto-tool-choice and a parser', 'tools'],
    ['tools param requires --jinja flag', 'tools'],
    [`error parsing tool call: raw='{"a":"it does not support tools"', err=end`, 'call'],
    [`bad output: 'x', does not support tools', err=end`, 'server_error'],
    ['bad output: {"a": "does not support tools"}', 'server_error'],
  ];
  const names = { tools: 'tools_unsupported', call: 'tool_call_malformed' } as const;
  for (const [error, kind] of kinds) {
    const { parsed } = local.fromWire(500, JSON.stringify({ error }), null, [calculator]);
    const found = parsed.kind === 'failed' ? parsed.failure.kind : parsed.kind;
    assert.equal(found, names[kind as keyof typeof names] ?? kind, error);
  }
});

test('calls that nothing was offered for are told beside a text, and are nothing alone', () => {
  const answered = (content: string): local.ChatAnswer['parsed'] => {
    const message = { role: 'assistant', content, tool_calls: [{ function: { name: 'calc' } }] };
    return local.fromWire(200, JSON.stringify({ message, done: true }), null, []).parsed;
  };
  const beside = answered('Done.');
  assert.equal(beside.kind === 'answer' && beside.calls.length, 1);
  const alone = answered('');
  assert.equal(alone.kind === 'failed' && alone.failure.kind, 'empty_answer');
});

test('a call in words is none where something was said before the thinking', () => {
  const callsOf = (content: string): number => {
    const body = JSON.stringify({ message: { role: 'assistant', content }, done: true });
    const { parsed } = local.fromWire(200, body, null, [calculator]);
    return parsed.kind === 'answer' ? parsed.calls.length : 0;
  };
  const call = `<tool_call>{"name": "${calculator.name}", "arguments": {}}</tool_call>`;
  assert.equal(callsOf(`<think>\nhm\n</think>\n${call}`), 1);
  assert.equal(callsOf(`The page says it is 8.\n<think>\nhm\n</think>\n${call}`), 0);
});

test('no half character is sent', () => {
  const half = 'half \ud83d';
  const odd: ModelRequest = {
    ...request,
    system: half,
    lines: [
      { role: 'user', text: half },
      {
        role: 'calls',
        text: half,
        calls: [{ id: 'a', name: 'echo', arguments: { [half]: half } }],
      },
    ],
  };
  for (const body of [local.toWire('m', odd, null), hosted.toWire('m', odd, null)]) {
    assert.doesNotMatch(body, /\\ud83d/);
  }
});

test('a name without a tag is its latest, on both sides', () => {
  assert.equal(has(list('llama3:latest'), 'llama3'), true);
  assert.equal(has(list('llama3'), 'llama3:latest'), true);
  assert.equal(has(list('llama3:8b'), 'llama3'), false);
  assert.equal(has(list('localhost:5000/team/llama3:latest'), 'localhost:5000/team/llama3'), true);
  assert.equal(has(list('Llama3:Latest'), 'registry.ollama.ai/library/llama3'), true);
  assert.equal(has(list('team/llama3'), 'llama3'), false);
  assert.equal(has(list('llama3:8b'), 'llama3:8B@sha256:aa'), true);
  assert.equal(local.findTag('{"models": null}', 'llama3'), null);
  assert.equal(local.findTag('<html>', 'llama3'), null);
});

test('a runtime that lacks a model is asked for the names of those that it has', () => {
  const others = (body: string, id: string) => local.findTag(body, id)?.others;
  assert.deepEqual(others(list('qwen3:4b', 'x'.repeat(201), ''), 'llama3'), ['qwen3:4b']);
  assert.deepEqual(others(list('llama3', 'qwen3'), 'llama3'), [], 'it lacks nothing');
  const many = Array.from({ length: 600 }, (_, at) => `m${at}`);
  assert.equal(others(list(...many), 'llama3')?.length, 500);
});

test('a vendor is named by the presence of a field, whatever it holds and wherever it is', () => {
  const far = { hasModel: true, namesVendor: true, others: [] };
  for (const field of ['remote_host', 'remote_model']) {
    for (const value of ['https://v.example', '', {}, [], 7, null, false]) {
      const named = { [field]: value };
      const entry = (name: string): object => ({
        models: [{ name: 'x:latest' }, { name, ...named }],
      });
      assert.deepEqual(local.findTag(JSON.stringify(entry('X')), 'x'), far);
      const other = local.findTag(JSON.stringify(entry('y')), 'x');
      assert.deepEqual(other, { hasModel: true, namesVendor: false, others: [] });
      const answers = [
        { message: { content: 'hi' } },
        { message: { content: '' } },
        { error: 'no' },
      ];
      for (const status of [200, 404, 500]) {
        for (const answer of [...answers, {}, { message: 7 }]) {
          const body = JSON.stringify({ ...answer, ...named });
          assert.equal(local.fromWire(status, body, null, []).namesVendor, true, body);
        }
      }
    }
  }
});

test('a hosted list of models is read leniently', () => {
  const body = JSON.stringify({ data: [{ id: 'models/g-2' }, { id: 'm-1' }, null, 7] });
  assert.equal(hosted.findModel(body, 'm-1')?.hasModel, true);
  assert.equal(hosted.findModel(body, 'g-2')?.hasModel, true);
  assert.deepEqual(hosted.findModel(body, 'm'), { hasModel: false, others: ['g-2', 'm-1'] });
  assert.equal(hosted.findModel('{}', 'm'), null);
});

test('ids that come again in a later line of calls are made different', () => {
  const lines = ['1', '2'].flatMap((text) => {
    const one = { id: 'call_0', name: 'calc', arguments: {} };
    return [
      { role: 'calls', text: '', calls: [one] },
      { role: 'result', call: one, text },
    ] as const;
  });
  const accepts = { ...hosted.acceptsAll, ids: false };
  const body = hosted.toWire('m', { ...request, lines }, null, accepts);
  assert.deepEqual(body.match(/call0\d+/g), ['call00001', 'call00001', 'call00002', 'call00002']);
});

test('arguments that are no JSON go to a hosted runtime as they are', () => {
  const one = { id: 'a', name: 'calc', arguments: '1 + 1' };
  const lines = [{ role: 'calls', text: '', calls: [one] }] as const;
  assert.match(hosted.toWire('m', { ...request, lines }, null), /"arguments":"1 \+ 1"/);
  assert.match(local.toWire('m', { ...request, lines }, null), /"arguments":\{\}/);
});

const called: ModelRequest = {
  ...request,
  lines: [
    { role: 'user', text: 'what is 1+1?' },
    {
      role: 'calls',
      text: '',
      calls: [{ id: 'call_1', name: 'calc', arguments: '{"expression":"1+1"}' }],
    },
    { role: 'result', call: { id: 'call_1', name: 'calc', arguments: {} }, text: '2' },
  ],
  tools: [calculator],
};
const tools = [
  {
    type: 'function',
    function: { name: 'calc', description: 'Calculates.', parameters: { type: 'object' } },
  },
];

test('to the local runtime: arguments as an object, results by the name of the tool', () => {
  const body = JSON.parse(local.toWire('llama3', called, null)) as Record<string, unknown>;
  assert.deepEqual(body['tools'], tools);
  assert.deepEqual((body['messages'] as unknown[]).slice(1), [
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ function: { name: 'calc', arguments: { expression: '1+1' } } }],
    },
    { role: 'tool', tool_name: 'calc', content: '2' },
  ]);
});

test('to a hosted runtime: arguments as JSON text, results by the id of the call', () => {
  const body = JSON.parse(hosted.toWire('gpt-test', called, null)) as Record<string, unknown>;
  assert.deepEqual(body['tools'], tools);
  const calculate = { name: 'calc', arguments: '{"expression":"1+1"}' };
  assert.deepEqual((body['messages'] as unknown[]).slice(1), [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: calculate }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '2' },
  ]);
});
