import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offered } from '../../../test/fake/completions.ts';
import type { ApiRefusal } from './api-frame.ts';
import { parseRequest, settledText, type ParsedRequest } from './wire.ts';

type Json = Record<string, unknown>;

const user = (content: unknown = 'hi'): Json => ({ role: 'user', content });
const call = (id: string, args: unknown = '{}'): Json => ({
  id,
  type: 'function',
  function: { name: 'look', arguments: args },
});
const calls = (...ids: string[]): Json => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => call(id)),
});
const result = (id: string): Json => ({ role: 'tool', tool_call_id: id, content: 'seen' });
const tool = (more: Json = {}): Json => ({ type: 'function', function: { name: 'look', ...more } });
const picture = (url: unknown): Json => ({ type: 'image_url', image_url: { url } });
const tiny = 'data:image/png;base64,AAAA';

const body = (more: Json = {}): Json => ({ model: 'support', messages: [user()], ...more });
const parse = (value: unknown): ParsedRequest | ApiRefusal => parseRequest(value, offered, 'key');

function read(value: unknown): ParsedRequest {
  const parsed = parse(value);
  assert.ok('request' in parsed, JSON.stringify(parsed));
  return parsed;
}

const linesOf = (...messages: Json[]): unknown => read(body({ messages })).request.lines;
const said = (text: string, media: unknown[] = []): Json => ({ role: 'user', text, media });

function deep(levels: number): unknown {
  let value: unknown = {};
  for (let level = 0; level < levels; level++) value = { properties: value };
  return value;
}

/** The body, and the field that the refusal names. */
const faults: readonly [unknown, string | undefined, string?][] = [
  [[], undefined],
  [{ messages: [user()] }, 'model'],
  [body({ model: 7 }), 'model'],
  [body({ model: 'nobody' }), 'model', 'model_not_found'],
  [{ model: 'support' }, 'messages'],
  [body({ messages: {} }), 'messages'],
  [body({ messages: [] }), 'messages'],
  [body({ messages: [7] }), 'messages.0'],
  [body({ messages: [{ content: 'x' }] }), 'messages.0.role'],
  [body({ messages: [{ role: 'function', name: 'f', content: 'x' }] }), 'messages.0.role'],
  [body({ messages: [{ role: 'system', content: '' }] }), 'messages'],
  [body({ messages: [{ role: 'assistant', content: 'x' }] }), 'messages'],
  [body({ messages: [user(null)] }), 'messages.0.content'],
  [body({ messages: [user(' ')] }), 'messages.0.content'],
  [body({ messages: [user([7])] }), 'messages.0.content.0'],
  [body({ messages: [user([{ type: 'text' }])] }), 'messages.0.content.0.text'],
  [body({ messages: [user([{ type: 'input_audio' }])] }), 'messages.0.content.0.type'],
  [body({ messages: [user([picture('https://x/y.png')])] }), 'messages.0.content.0.image_url.url'],
  [body({ messages: [user([picture(7)])] }), 'messages.0.content.0.image_url.url'],
  [body({ messages: [user([{ type: 'image_url' }])] }), 'messages.0.content.0.image_url'],
  [
    body({ messages: [user([picture('data:image/webp;base64,AAAA')])] }),
    'messages.0.content.0.image_url.url',
  ],
  [
    body({ messages: [user([picture('data:image/png;base64,AA-A')])] }),
    'messages.0.content.0.image_url.url',
  ],
  [
    body({ messages: [user([picture('data:image/png;base64,AAAAA')])] }),
    'messages.0.content.0.image_url.url',
  ],
  [body({ messages: [user(Array(5).fill(picture(tiny)))] }), 'messages.0.content'],
  [
    body({ messages: [{ role: 'system', content: [picture(tiny)] }, user()] }),
    'messages.0.content.0.type',
  ],
  [body({ messages: [user(), result('a')] }), 'messages.1.tool_call_id'],
  [body({ messages: [user(), calls('a'), result('a'), result('a')] }), 'messages.3.tool_call_id'],
  [body({ messages: [user(), calls('a', 'b'), result('a')] }), 'messages'],
  [body({ messages: [user(), calls('a'), user()] }), 'messages'],
  [body({ messages: [user(), calls('a', 'a')] }), 'messages.1.tool_calls.1.id'],
  [
    body({ messages: [user(), { role: 'assistant', function_call: {} }] }),
    'messages.1.function_call',
  ],
  [body({ messages: [user(), { role: 'assistant', audio: { id: 'x' } }] }), 'messages.1.audio'],
  [
    body({ messages: [user(), { role: 'assistant', tool_calls: [call('a', deep(70))] }] }),
    'messages.1.tool_calls.0.function.arguments',
  ],
  [body({ messages: Array(4_097).fill(user()) }), 'messages', 'context_length_exceeded'],
  [body({ messages: [user('x'.repeat(1_048_577))] }), 'messages', 'context_length_exceeded'],
  [
    body({ messages: [...Array<Json>(5).fill(user('x'.repeat(1_000_000)))] }),
    'messages',
    'context_length_exceeded',
  ],
  [body({ n: 2 }), 'n', 'unsupported_parameter'],
  [body({ functions: [{}] }), 'functions', 'unsupported_parameter'],
  [body({ function_call: 'auto' }), 'function_call', 'unsupported_parameter'],
  [body({ logprobs: true }), 'logprobs', 'unsupported_parameter'],
  [body({ audio: {} }), 'audio', 'unsupported_parameter'],
  [body({ modalities: ['text', 'audio'] }), 'modalities', 'unsupported_parameter'],
  [body({ response_format: { type: 'json_object' } }), 'response_format', 'unsupported_parameter'],
  [body({ web_search_options: {} }), 'web_search_options', 'unsupported_parameter'],
  [body({ stream: 'yes' }), 'stream'],
  [body({ stream_options: { include_usage: 1 } }), 'stream_options.include_usage'],
  [body({ max_tokens: -2 }), 'max_tokens'],
  [body({ max_completion_tokens: 1.5 }), 'max_completion_tokens'],
  [body({ stop: Array(33).fill('a') }), 'stop'],
  [body({ stop: 'x'.repeat(257) }), 'stop'],
  [body({ stop: [7] }), 'stop'],
  [body({ user: 'x'.repeat(1_025) }), 'user'],
  [body({ user: '\ud800' }), 'user'],
  [body({ user: 7 }), 'user'],
  [body({ tools: {} }), 'tools'],
  [body({ tools: Array(129).fill(tool()) }), 'tools'],
  [body({ tools: [tool(), tool()] }), 'tools.1.function.name'],
  [body({ tools: [tool({ name: 'a b' })] }), 'tools.0.function.name'],
  [body({ tools: [tool({ parameters: 7 })] }), 'tools.0.function.parameters'],
  [body({ tools: [tool({ parameters: deep(70) })] }), 'tools.0.function.parameters'],
  [body({ tools: [{ type: 'custom', custom: {} }] }), 'tools.0.type'],
  [body({ model: 'butler', tools: [tool()] }), 'tools'],
  [body({ tool_choice: 'required' }), 'tool_choice'],
  [body({ tools: [tool()], tool_choice: 'any' }), 'tool_choice'],
  [body({ tools: [tool()], tool_choice: { function: { name: 'no' } } }), 'tool_choice'],
];

test('a request that svc cannot answer rightly is refused, and the refusal names the field', () => {
  for (const [value, param, code = null] of faults) {
    const refusal = parse(value);
    const name = JSON.stringify(value).slice(0, 200);
    assert.ok('status' in refusal, name);
    const status = code === 'model_not_found' ? 404 : 400;
    assert.deepEqual([refusal.status, refusal.param, refusal.code], [status, param, code], name);
  }
});

test('an unknown model gets the list of the models', () => {
  const refusal = parse(body({ model: 'gpt-4o' }));
  assert.match('message' in refusal ? refusal.message : '', /"gpt-4o".*"support", "butler"/);
});

test('null counts as absent, and fields that tune a model are ignored', () => {
  const names =
    'n user stop stream stream_options tools tool_choice functions parallel_tool_calls ' +
    'max_tokens response_format logprobs audio modalities';
  const nulls = Object.fromEntries(names.split(' ').map((name) => [name, null]));
  const tuning = { temperature: 9, top_p: 'x', seed: 1, metadata: [], store: true, logit_bias: 7 };
  const parsed = read(body({ ...nulls, ...tuning }));
  assert.deepEqual(parsed, read(body()));
  assert.deepEqual(parsed.request, {
    brain: 'support',
    lines: [said('hi')],
    newest: 0,
    system: null,
    tools: [],
    mayCall: true,
    outputTokensMax: null,
  });
});

test('texts come as they are, as parts, and from the roles of any client', () => {
  const parts = [
    { type: 'text', text: 'one' },
    { type: 'text', text: 'two' },
  ];
  const { request } = read(
    body({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: parts },
        { ...user(parts), name: 'ann' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
        user(''),
        { role: 'assistant', content: null, refusal: 'Never.' },
        { role: 'assistant', content: ' \n' },
        { role: 'system', content: '' },
        user('three'),
        { role: 'assistant', content: 'thr' },
      ],
    }),
  );
  assert.equal(request.system, 'Be brief.\n\none\ntwo');
  assert.equal(request.newest, 3);
  assert.deepEqual(request.lines, [
    said('one\ntwo'),
    { role: 'assistant', text: 'No.' },
    { role: 'assistant', text: 'Never.' },
    said('three'),
    { role: 'assistant', text: 'thr' },
  ]);
});

test('calls and their results stay together, also with arguments that are no JSON', () => {
  const messages = [
    user(),
    { role: 'assistant', tool_calls: [call('a', '{"at":1}'), call('b', '{"at'), call('c', '')] },
    result('b'),
    result('a'),
    { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'x' }] },
    calls('a'),
    result('a'),
  ];
  const made = (id: string, given: unknown): Json => ({ id, name: 'look', arguments: given });
  const [a, b, c] = [made('a', { at: 1 }), made('b', '{"at'), made('c', {})];
  assert.deepEqual(linesOf(...messages), [
    said('hi'),
    { role: 'calls', text: '', calls: [a, b, c] },
    { role: 'result', call: b, text: 'seen' },
    { role: 'result', call: a, text: 'seen' },
    { role: 'result', call: c, text: 'x' },
    { role: 'calls', text: '', calls: [made('a', {})] },
    { role: 'result', call: made('a', {}), text: 'seen' },
  ]);
});

test('a picture becomes media with its type and size', () => {
  const url = 'DATA:image/JPEG;base64,AAAAAA==';
  const lines = linesOf(user([{ type: 'text', text: 'what?' }, picture(url)]));
  const media = { type: 'image/jpeg', reference: 'picture', file: 'key/0', bytes: 4 };
  assert.deepEqual(lines, [said('what?', [media])]);
  for (const other of ['jpg;base64,AAAA\r\nAA==\n', 'jpeg;charset=utf-8;base64,AAAAAA']) {
    const parts = [{ type: 'text', text: '' }, picture(`data:image/${other}`)];
    assert.deepEqual(linesOf(user(parts)), [said('', [media])]);
  }
  const all = read(body({ messages: Array(6).fill(user([picture(tiny)])) }));
  assert.deepEqual([...all.pictures.keys()], ['key/2', 'key/3', 'key/4', 'key/5']);
});

test('without a line of the user, the last system text is the newest message', () => {
  const system = (content: unknown): Json => ({ role: 'system', content });
  const messages = [system('Be brief.'), { role: 'assistant', content: 'Hi.' }, system('Go on.')];
  const { request } = read(body({ messages: [...messages, system(null)] }));
  assert.deepEqual([request.system, request.newest], ['Be brief.', 1]);
  assert.deepEqual(request.lines, [{ role: 'assistant', text: 'Hi.' }, said('Go on.')]);
  const alone = read(body({ messages: [system('Say a word.')] })).request;
  assert.deepEqual([alone.system, alone.lines], [null, [said('Say a word.')]]);
});

test('empty lists, an empty format and fields of other programs are as good as absent', () => {
  const assistant = { role: 'assistant', content: 'Hi.' };
  const echoed = { refusal: null, annotations: null, audio: null, function_call: null };
  const more = { ...echoed, tool_calls: null, reasoning_content: 'x', id: 7 };
  const empty = { tools: [], functions: [], stop: [], modalities: [], response_format: {} };
  assert.deepEqual(
    read(body({ ...empty, messages: [user(), { ...assistant, ...more }, user()] })),
    read(body({ messages: [user(), assistant, user()] })),
  );
  const untyped = { ...call('a'), type: null };
  const called = { role: 'assistant', tool_calls: [untyped] };
  const empties = [
    { role: 'system', content: null },
    { role: 'user', content: null },
    { role: 'tool', tool_call_id: 'a', content: null },
  ];
  const lines = linesOf(empties[0]!, empties[1]!, called, empties[2]!, user());
  const made = { id: 'a', name: 'look', arguments: {} };
  assert.deepEqual(lines, [
    { role: 'calls', text: '', calls: [made] },
    { role: 'result', call: made, text: '' },
    said('hi'),
  ]);
  assert.equal(read(body({ tools: [{ ...tool(), type: null }] })).request.tools.length, 1);
  assert.equal(read(body({ stop: Array(32).fill('a') })).stops.length, 32);
});

test('the lower limit counts, and 0 and -1 are none', () => {
  const limitOf = (more: Json): number | null => read(body(more)).request.outputTokensMax;
  assert.equal(limitOf({ max_tokens: 5, max_completion_tokens: 9 }), 5);
  assert.equal(limitOf({ max_tokens: -1, max_completion_tokens: 9 }), 9);
  assert.equal(limitOf({ max_tokens: -1 }), null);
  assert.equal(limitOf({ max_tokens: 0, max_completion_tokens: 0 }), null);
});

test('tools and the choice among them', () => {
  const tools = [tool({ description: 'looks', strict: true }), tool({ name: 'go' })];
  const requestOf = (choice: unknown): ParsedRequest['request'] =>
    read(body({ tools, tool_choice: choice })).request;
  const none = { type: 'object', properties: {} };
  assert.deepEqual(requestOf('auto').tools, [
    { name: 'look', description: 'looks', parameters: none },
    { name: 'go', description: '', parameters: none },
  ]);
  const choiceOf = (choice: unknown): unknown[] => {
    const { toolChoice, mayCall } = requestOf(choice);
    return [toolChoice, mayCall];
  };
  assert.deepEqual(choiceOf('none'), [undefined, false]);
  assert.deepEqual(choiceOf('required'), ['required', true]);
  const named = { type: 'function', function: { name: 'go' } };
  assert.deepEqual(choiceOf(named), [{ name: 'go' }, true]);
  const agent = read(body({ model: 'butler', tools: [], tool_choice: 'none' }));
  assert.deepEqual(agent.request.tools, []);
});

test('a text settles without a part of a stop, half a character or white space', () => {
  assert.equal(settledText('one two ', []), 'one two');
  assert.equal(settledText('one ##', ['###']), 'one');
  assert.equal(settledText('one ##x', ['###']), 'one ##x');
  assert.equal(settledText('one ### two', ['###']), 'one');
  assert.equal(settledText('aab', ['ab!', 'b?']), 'a');
  assert.equal(settledText('x\ud83d', []), 'x');
});
