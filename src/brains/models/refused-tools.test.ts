import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusedTools } from './refused-tools.ts';
import type { ToolNotice } from '../../domain/completion.ts';

const tool = (name: string, schema: object = { type: 'string' }): ToolNotice => ({
  name,
  description: '',
  parameters: {
    type: 'object',
    properties: { a: { description: '', ...schema } },
    required: [],
  },
});

const offered = [
  tool('time'),
  tool('mcp_a_plain'),
  tool('mcp_a_mail', { type: 'string', pattern: '^(?!x).*$' }),
  tool('mcp_a_mail_all', { anyOf: [{ type: 'string' }, { type: 'null' }] }),
  tool('mcp_b_list', { type: 'array', items: { type: 'string' } }),
];

/** Words from public reports. */
const cases = [
  // langchainjs#9804
  [
    "Invalid schema for function 'mcp_a_mail': schema must have type 'object' and not have " +
      "'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
    ['mcp_a_mail'],
    'name',
  ],
  // dodopayments-typescript#189
  [
    'tools.3.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the ' +
      'top level',
    ['mcp_a_mail_all'],
    'place',
  ],
  ["Invalid 'tools[2].function.parameters': expected an object", ['mcp_a_mail'], 'place'],
  [
    'GenerateContentRequest.tools[0].function_declarations[4].parameters.properties[a].items: ' +
      'missing field.',
    ['mcp_b_list'],
    'place',
  ],
  [
    'The value at toolConfig.tools.1.toolSpec.inputSchema.json.type must be one of the following',
    ['mcp_a_plain'],
    'place',
  ],
  ['[{"loc":["body","tools",3,"function","parameters"],"msg":"x"}]', ['mcp_a_mail_all'], 'place'],
  ["Invalid schema for function 'time': x", ['time'], 'name'],
  ['The grammar could not be made this time: see mcp_a_plain.', ['mcp_a_plain'], 'name'],
  // kubernetes-mcp-server#758
  [
    "JSON schema conversion failed:\nPattern must start with '^' and end with '$'",
    ['mcp_a_mail', 'mcp_a_mail_all'],
    'schema',
  ],
  // llama.cpp#25895, qwen-code#10520
  [
    'Failed to initialize samplers: failed to parse grammar',
    ['mcp_a_mail', 'mcp_a_mail_all'],
    'schema',
  ],
] as const;

for (const [words, names, by] of cases) {
  const said = words.slice(0, 50).replaceAll('\n', ' ');
  test(`after "${said}" ${names.join(' and ')} is left out`, () => {
    assert.deepEqual(refusedTools(words, offered), { names, by });
  });
}

test('where every schema is plain, all tools of MCP servers are left out', () => {
  const plain = [tool('time'), tool('mcp_a_plain'), tool('mcp_b_plain')];
  const words = 'Failed to initialize samplers: failed to parse grammar';
  const names = ['mcp_a_plain', 'mcp_b_plain'];
  assert.deepEqual(refusedTools(words, plain), { names, by: 'server' });
  assert.deepEqual(refusedTools(words, [tool('time')]).names, [], 'none of them is from elsewhere');
});

for (const words of [
  'registry.ollama.ai/library/gemma:2b does not support tools',
  'This model does not support function calling, and no tool schema',
  "Unexpected role 'user' after role 'tool'",
  'maximum context length is 4096 tokens',
  'Invalid value for messages[3]: said "mcp_a_mail" before',
  'not so: {"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"time"}}]}',
  '',
]) {
  test(`after "${words.slice(0, 50)}" no tool is left out`, () => {
    assert.deepEqual(refusedTools(words, offered).names, []);
  });
}

test('an error that repeats the whole request names no tool', () => {
  const all = [{ ...tool('time'), description: 'Tells the date and the time of now.' }];
  const request = JSON.stringify({ messages: [], tools: all });
  const none = { names: [], by: 'name' };
  assert.deepEqual(refusedTools(`Invalid request: ${request}`, all), none);
});
