/** What `_try` may hold, the problems of everything else, and that the service does not read it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from './locate.ts';
import { ProblemList } from './problems.ts';
import { describeExpectation, readTestCases } from './test-case.ts';
import { templates, textOf } from './templates/templates.ts';
import { validateText } from './validate.ts';

const any = {
  text: null,
  contains: [],
  matches: null,
  calls: [],
  notCalls: [],
  judge: null,
  of: { runs: 1, pass: 1 },
};

function read(value: Json) {
  const problems = new ProblemList('', new Map());
  const cases = readTestCases(value, 'brains[0]._try', problems);
  return { cases, faults: problems.sorted().map(({ path, message }) => `${path}: ${message}`) };
}

test('a case is read with its history and every part of what it expects', () => {
  const { cases, faults } = read([
    { text: 'a', _why: 'a note', note: '', history: [{ asked: 'b', answered: '' }] },
    { text: 'c', note: null, expect: { contains: 'nine', calls: 'time', not_calls: ['calc'] } },
    {
      text: 'd',
      expect: {
        text: 'yes',
        contains: ['x', 'y'],
        matches: '^y',
        calls: ['time', { tool: 'calc', arguments: { expression: '1' } }],
        judge: { model: 'ollama/m', asks: 'Is it so?' },
        of: { runs: 3, pass: 2 },
      },
    },
  ]);
  assert.deepEqual(faults.length === 1 && faults[0], 'brains[0]._try[0].note: this text is empty');
  assert.deepEqual(cases[0]!.history, [{ asked: 'b', answered: '' }]);
  assert.equal(cases[0]!.expect, null);
  const time = { tool: 'time', arguments: null };
  assert.deepEqual(cases[1]!.expect, {
    ...any,
    contains: ['nine'],
    calls: [time],
    notCalls: ['calc'],
  });
  assert.deepEqual(cases[2]!.expect, {
    text: 'yes',
    contains: ['x', 'y'],
    matches: '^y',
    calls: [time, { tool: 'calc', arguments: { expression: '1' } }],
    notCalls: [],
    judge: { model: 'ollama/m', asks: 'Is it so?' },
    of: { runs: 3, pass: 2 },
  });
  assert.equal(
    describeExpectation(cases[2]!.expect ?? assert.fail()),
    'is “yes”, contains “x”, contains “y”, matches /^y/, calls time, calls calc with ' +
      '{"expression":"1"}, is judged by ollama/m: “Is it so?”, in 2 of 3 runs',
  );
});

const faulty: readonly (readonly [Json, RegExp])[] = [
  ['a note of a person', /^brains\[0\]\._try: the test cases are no list$/],
  [[7], /_try\[0\]: svc try cannot read this/],
  [[{ note: 'x' }], /_try\[0\]\.text: this text is missing/],
  [[{ text: ' ' }], /_try\[0\]\.text: svc try cannot read this/],
  [[{ text: 'a', expects: {} }], /_try\[0\]\.expects: a test case has no "expects" here/],
  [[{ text: 'a', history: {} }], /history: svc try cannot read this/],
  [[{ text: 'a', history: [{ answered: 'b' }] }], /history\[0\]\.asked: this text is missing/],
  [[{ text: 'a', expect: 'nine' }], /expect: svc try cannot read this/],
  [[{ text: 'a', expect: { contains: 9 } }], /expect\.contains: svc try cannot read this/],
  [[{ text: 'a', expect: { contains: [] } }], /expect\.contains: the list is empty/],
  [[{ text: 'a', expect: { matches: '(' } }], /expect\.matches: this is no regular expression/],
  [[{ text: 'a', expect: { matches: 'x'.repeat(1_001) } }], /more than 1000 characters/],
  [[{ text: 'a', expect: { calls: {} } }], /expect\.calls\.tool: this text is missing/],
  [
    [{ text: 'a', expect: { calls: { tool: 'calc', arguments: 'x' } } }],
    /expect\.calls\.arguments: svc try cannot read this/,
  ],
  [[{ text: 'a', expect: { judge: { model: 'm' } } }], /expect\.judge\.asks: this text is missing/],
  [[{ text: 'a', expect: { of: { runs: 21, pass: 1 } } }], /of\.runs: this number does not fit/],
  [[{ text: 'a', expect: { of: { runs: 2, pass: 3 } } }], /of\.pass: this number does not fit/],
  [[{ text: 'a', expect: { of: { runs: 2.5 } } }], /of\.pass: this number is missing/],
];

test('of a case that cannot be read it is told where and why', () => {
  for (const [value, words] of faulty) {
    const { faults } = read(value);
    assert.ok(
      faults.some((fault) => words.test(fault)),
      `${JSON.stringify(value).slice(0, 80)}: ${faults.join('; ')}`,
    );
  }
});

test('the check of a configuration takes whatever stands in _try', () => {
  const start = textOf(templates[0]!.document);
  const deep = '['.repeat(5_000) + ']'.repeat(5_000);
  const values = [
    ...faulty.map(([value]) => JSON.stringify(value)),
    '7',
    'null',
    '""',
    '{}',
    '[null, true, [[]]]',
    deep,
    `{"a": [${deep}, "]"]}`,
    '[{"text": "a", "text": "b"}]',
    '{"__proto__": {"text": 1}}',
  ];
  for (const value of values) {
    const text = start.replace('"brains": [\n    {', (found) => `${found} "_try": ${value},`);
    assert.notEqual(text, start);
    assert.deepEqual(validateText(text).problems, validateText(start).problems, value.slice(0, 80));
  }
});

test('what is no JSON is refused, also deep inside of _try', () => {
  const start = textOf(templates[0]!.document);
  for (const inside of ['01', '"\u0001"', '1 2', '{1}', '"open']) {
    const value = '['.repeat(100) + inside + ']'.repeat(100);
    const text = start.replace('"brains": [\n    {', (found) => `${found} "_try": ${value},`);
    assert.equal(validateText(text).problems[0]?.code, 'syntax', inside);
  }
});
