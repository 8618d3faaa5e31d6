import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertOnePass } from '../../../test/support/one-pass.ts';
import { callMarks } from '../../domain/model-habits.ts';
import { callInText, withoutCallMarkup } from './streaming.ts';

const tools = [
  {
    name: 'look_up',
    description: 'Looks it up.',
    parameters: {
      type: 'object',
      properties: { place: { type: 'string' }, days: { type: 'integer' } },
    },
  },
  { name: 'calc', description: 'Works it out.', parameters: { type: 'object' } },
];

const call = (text: string): unknown => {
  const found = callInText(text, text, tools);
  return found === null ? null : [found.name, found.arguments];
};

const wanted = ['look_up', { place: '12', days: 3 }];

/** One call in the form of each family of models. */
const forms: Readonly<Record<string, string>> = {
  'bare JSON': '{"name": "look_up", "arguments": {"place": "12", "days": 3}}',
  'bare JSON of Llama': '{"name": "look_up", "parameters": {"place": "12", "days": 3}}',
  'a fence': '```json\n{"name": "look_up", "arguments": {"place": "12", "days": 3}}\n```',
  'a list of one': '[{"name": "look_up", "arguments": {"place": "12", "days": 3}}]',
  'the form of the API':
    '{"type": "function", "function": ' +
    '{"name": "look_up", "arguments": {"place": "12", "days": 3}}}',
  Hermes: '<tool_call>\n{"name": "look_up", "arguments": {"place": "12", "days": 3}}\n</tool_call>',
  'Hermes without its end':
    '<tool_call>\n{"name": "look_up", "arguments": {"place": "12", "days": 3}}',
  'Hermes with white space around it':
    '\n\n <tool_call> {"name": "look_up", "arguments": {"place": "12", "days": 3}} </tool_call>\n',
  'Llama with its tag':
    '<|python_tag|>{"name": "look_up", "parameters": {"place": "12", "days": 3}}<|eom_id|>',
  'Llama with its function': '<function=look_up>{"place": "12", "days": 3}</function>',
  Mistral: '[TOOL_CALLS][{"name": "look_up", "arguments": {"place": "12", "days": 3}}]</s>',
  'newer Mistral': '[TOOL_CALLS]look_up[ARGS]{"place": "12", "days": 3}',
  'Mistral with a name alone': '[TOOL_CALLS]look_up{"place": "12", "days": 3}',
  'Qwen 3 Coder':
    '<tool_call>\n<function=look_up>\n<parameter=place>\n12\n</parameter>\n' +
    '<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>',
  'Qwen 3 Coder without its opening mark':
    '<function=look_up>\n<parameter=place>\n12\n</parameter>\n' +
    '<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>',
  Claude:
    '<function_calls>\n<invoke name="look_up">\n<parameter name="place">12</parameter>\n' +
    '<parameter name="days">3</parameter>\n</invoke>\n</function_calls>',
  MiniMax:
    '<minimax:tool_call>\n<invoke name="look_up">\n<parameter name="place">12</parameter>\n' +
    '<parameter name="days">3</parameter>\n</invoke>\n</minimax:tool_call>',
  GLM:
    '<tool_call>look_up\n<arg_key>place</arg_key>\n<arg_value>12</arg_value>\n' +
    '<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>',
  'GLM on one line':
    '<tool_call>look_up<arg_key>place</arg_key><arg_value>12</arg_value>' +
    '<arg_key>days</arg_key><arg_value>3</arg_value></tool_call>',
  'DeepSeek V3':
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look_up<｜tool▁sep｜>{"place": "12", "days": 3}' +
    '<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  'DeepSeek R1':
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look_up\n' +
    '```json\n{"place": "12", "days": 3}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  'DeepSeek V3.2':
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="look_up">\n' +
    '<｜DSML｜parameter name="place" string="true">12</｜DSML｜parameter>\n' +
    '<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n' +
    '</｜DSML｜invoke>\n</｜DSML｜function_calls>',
  'DeepSeek with bars written twice':
    '<｜｜DSML｜｜ calls>\n<｜｜DSML｜｜ invoke name="look_up">\n' +
    '<｜｜DSML｜｜ parameter name="place" string="true">12</｜｜DSML｜｜ parameter>\n' +
    '<｜｜DSML｜｜ parameter name="days" string="false">3</｜｜DSML｜｜ parameter>\n' +
    '</｜｜DSML｜｜ invoke>\n</｜｜DSML｜｜ calls>',
  'DeepSeek with a bar of two strokes, and nothing around the call':
    '<‖DSML‖invoke name="look_up">\n<‖DSML‖parameter name="place">12</‖DSML‖parameter>\n' +
    '<‖DSML‖parameter name="days">3</‖DSML‖parameter>\n</‖DSML‖invoke>',
  Kimi:
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.look_up:0' +
    '<|tool_call_argument_begin|>{"place": "12", "days": 3}<|tool_call_end|>' +
    '<|tool_calls_section_end|>',
  'gpt-oss':
    '<|channel|>analysis<|message|>A place.<|end|><|start|>assistant<|channel|>commentary ' +
    'to=functions.look_up <|constrain|>json<|message|>{"place": "12", "days": 3}<|call|>',
};

for (const [name, text] of Object.entries(forms)) {
  test(`a call is read that a model writes as a text: ${name}`, () => {
    assert.deepEqual(call(text), wanted);
  });
}

test('a call without arguments has none', () => {
  for (const text of [
    '<tool_call>calc</tool_call>',
    '<function=calc>\n</function>',
    '<tool_call>{"name": "calc", "arguments": {}}</tool_call>',
  ]) {
    assert.deepEqual(call(text), ['calc', {}], text);
  }
});

test('only a message that is one call of an offered tool runs anything', () => {
  const json = '{"name": "look_up", "arguments": {"place": "12"}}';
  const not = [
    '',
    'Of course.',
    `I call it:\n${json}`,
    `${json}\nThat is how it is called.`,
    `<tool_call>${json}</tool_call> is how it is called.`,
    `It is called so: <tool_call>${json}</tool_call>`,
    `<tool_call>${json}</tool_call>\n<tool_call>${json}</tool_call>`,
    `[${json}, ${json}]`,
    `> <tool_call>${json}</tool_call>`,
    json.replace('look_up', 'rm'),
    `<tool_call>${json.replace('look_up', 'rm')}</tool_call>`,
    '<function=rm>{"place": "12"}</function>',
    '<function=look_up>\n<parameter=place>\n1\n</parameter>\n<function=calc>\n</function>',
    // A quoted page, and words about it.
    '<function=look_up>\n<parameter=place>\n1\n</parameter>\n</function>\nSo the page says.',
    '<function_calls>\n<invoke name="look_up">\n<parameter name="place">1</parameter>\n' +
      '</invoke>\nSo the page says.',
    '<tool_call>look_up\n<arg_key>place</arg_key>\n<arg_value>1</arg_value>\nSo it says.',
    // Data that a person requested.
    '{"name": "look_up", "arguments": {"place": "12"}, "price": 3}',
    '{"name": "look_up"}',
    '{"name": "look_up", ',
    '[TOOL_CALLS]',
    '<tool_call>',
    'look_up',
    'look_up {"place": "12"}',
    '<|channel|>analysis<|message|>A place.<|end|>' +
      '<|channel|>final<|message|> to=functions.look_up<|message|>{}',
  ];
  for (const text of not) assert.equal(call(text), null, text);
});

test('where no tool is offered nothing is a call', () => {
  for (const text of Object.values(forms)) assert.equal(callInText(text, text, []), null, text);
});

test('what the schema calls a text stays one, and all else is read as JSON', () => {
  const qwen = (key: string, value: string): string =>
    `<function=look_up>\n<parameter=${key}>\n${value}\n</parameter>\n</function>`;
  assert.deepEqual(call(qwen('place', '{"a": 1}')), ['look_up', { place: '{"a": 1}' }]);
  assert.deepEqual(call(qwen('place', 'a\nb')), ['look_up', { place: 'a\nb' }]);
  assert.deepEqual(call(qwen('days', '3')), ['look_up', { days: 3 }]);
  assert.deepEqual(call(qwen('other', '[1]')), ['look_up', { other: [1] }]);
  assert.deepEqual(call(qwen('other', 'so it is')), ['look_up', { other: 'so it is' }]);
});

test('of a value that is given twice the last counts', () => {
  const text =
    '<function=look_up>\n<parameter=days>\n1\n</parameter>\n' +
    '<parameter=days>\n2\n</parameter>\n</function>';
  assert.deepEqual(call(text), ['look_up', { days: 2 }]);
});

test('a parameter with an odd name is no more than a name', () => {
  const text = '<function=calc>\n<parameter=__proto__>\n{"polluted": 1}\n</parameter>\n</function>';
  const found = callInText(text, text, tools);
  assert.deepEqual(Object.keys(found?.arguments as object), ['__proto__']);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
});

test('markup that begins a line is left out of what people see', () => {
  for (const { open, close } of callMarks) {
    const block = `${open}x${close}`;
    assert.equal(withoutCallMarkup(block), '', open);
    assert.equal(withoutCallMarkup(`I look.\n${block}`), 'I look.', open);
    assert.equal(withoutCallMarkup(`I look.\n  ${block}\nIt is 42.`), 'I look.\n\nIt is 42.', open);
    assert.equal(withoutCallMarkup(`I look.\n${open}x\ny`), 'I look.', `${open} without its end`);
  }
});

test('an answer about markup is not cut', () => {
  const block = '<tool_call>\n{"name": "calc"}\n</tool_call>';
  const whole = [
    'Qwen writes `<tool_call>` around it.',
    'Qwen writes <tool_call>{}</tool_call> around it.',
    `So it looks:\n\n\`\`\`xml\n${block}\n\`\`\`\n\nThat is all.`,
    `So it looks:\n\n~~~~\n${block}\n~~~\n${block}\n~~~~`,
    'DeepSeek names its marks DSML.',
    '[TOOL_CALLS] is the token that begins a call.\n\nMistral writes it.',
    'Qwen has two marks.\n<tool_call> opens it, and </tool_call> closes it.\n\nThat is all.',
    '<tool_call>, and then JSON.\nThat is all.',
    'So it looks:\n\n    <tool_call>\n    {"name": "calc"}\n    </tool_call>\n\nThat is all.',
    `1. So it looks:\n\n    \`\`\`xml\n    <tool_call>\n    {}\n    \`\`\`\n2. That is all.`,
  ];
  for (const text of whole) assert.equal(withoutCallMarkup(text), text);
  assert.equal(withoutCallMarkup(`\`\`\`\na\n\`\`\`\n${block}\nb`), '```\na\n```\n\nb');
});

test('whatever it is, reading it throws nothing, and leaves out no more than markup', () => {
  for (const text of Object.values(forms)) {
    for (let length = 0; length <= text.length; length++) {
      const piece = text.slice(0, length);
      callInText(piece, piece, tools);
      assert.ok(withoutCallMarkup(`Before.\n${piece}`).startsWith('Before.'), piece);
    }
  }
});

test('a text made to be slow is read in one pass', () => {
  const hostile = [
    ...callMarks.map(({ open }) => open),
    ...callMarks.map(({ open }) => `${open}\n`),
    '<function=calc>',
    '<parameter=a>',
    '<arg_key>a</arg_key>',
    '<|channel|>commentary to=functions.calc ',
    '<｜DSML｜',
    '```\n',
    '{',
    ' ',
    '\n',
  ];
  const begins = ['', '<tool_call>', '<function=calc>', '<|channel|>', '[TOOL_CALLS]calc'];
  for (const part of hostile) {
    for (const begin of begins) {
      assertOnePass(begin, part, (text) => {
        callInText(text, text, tools);
        withoutCallMarkup(text);
      });
    }
  }
});
