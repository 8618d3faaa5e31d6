/** Test cases are in the brain's own `_try`; the rest of the file stays the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../src/config/locate.ts';
import { templates, textOf } from '../../../src/config/templates/templates.ts';
import { validateText } from '../../../src/config/validate.ts';
import { describeExpectation } from '../../../src/config/test-case.ts';
import { casesOf, dropCase, keepCase, type Expected, type TestCase } from './cases.ts';
import { verdictOf } from './verdict.ts';

const brain = ['brains', 0] as const;
const start = textOf(templates[0].document);
const written = (text: string) => ({ text, document: JSON.parse(text) as JsonObject });
const some: TestCase = { text: 'When do you open?', note: '', history: [] };
const other: TestCase = {
  text: 'And on Sundays?',
  note: 'goes on',
  history: [{ asked: 'When do you open?', answered: 'At nine.' }],
};

test('cases are kept, read again, and dropped without a trace', () => {
  const one = keepCase(written(start), brain, some)!;
  const two = keepCase(written(one), brain, other)!;
  assert.deepEqual(casesOf(written(two).document, brain), [
    { ...some, index: 0, expected: { kind: 'any' } },
    { ...other, index: 1, expected: { kind: 'any' } },
  ]);
  assert.deepEqual(validateText(two).problems, [], 'svc itself does not read them');
  const back = dropCase(written(dropCase(written(two), brain, 1)!), brain, 0);
  assert.deepEqual(JSON.parse(back!), JSON.parse(start));
});

test('what is no case is left in the file and not shown', () => {
  const document = JSON.parse(start);
  document.brains[0]._try = ['odd', { note: 'no text' }, { text: 'yes', history: 7 }];
  const cases = casesOf(document, brain);
  assert.deepEqual(cases, [
    { index: 2, text: 'yes', note: '', history: [], expected: { kind: 'any' } },
  ]);
  document.brains[0]._try = 'a note of a person';
  const text = JSON.stringify(document);
  assert.deepEqual(casesOf(document, brain), []);
  assert.equal(keepCase(written(text), brain, some), null);
});

test('what a case expects is shown, and stays when others are kept and dropped', () => {
  const document = JSON.parse(start);
  const expect = { contains: 'nine', not_calls: 'time', of: { runs: 3, pass: 2 }, _odd: 1 };
  document.brains[0]._try = [
    { text: 'first' },
    { text: 'second', expect, _mine: true },
    { text: 'third', expect: { contain: 'x' } },
  ];
  const kept = written(JSON.stringify(document, null, 2));
  assert.deepEqual(
    casesOf(kept.document, brain).map(({ expected }) => say(expected)),
    [
      '',
      'contains “nine”, does not call time, in 2 of 3 runs',
      'expect.contain: a test case has no "contain" here. Did you mean "contains"?',
    ],
  );
  const more = keepCase(kept, brain, some)!;
  const fewer = JSON.parse(dropCase(written(more), brain, 0)!);
  assert.deepEqual(fewer.brains[0]._try[0], { text: 'second', expect, _mine: true });
});

function say(expected: Expected): string {
  if (expected.kind === 'any') return '';
  return expected.kind === 'told' ? describeExpectation(expected.expect) : expected.why;
}

test('a reply is judged as svc try does, but for what takes a judge or a pattern', () => {
  const expect = { contains: 'nine', calls: 'time', matches: '^never$' };
  const document = JSON.parse(start);
  document.brains[0]._try = [{ text: 'first', expect }];
  const [{ expected }] = casesOf(document, brain) as [{ expected: Expected }];
  assert.equal(expected.kind, 'told');
  if (expected.kind !== 'told') return;
  const tool = {
    tool: 'time',
    mode: 'allow',
    outcome: 'done',
    arguments: '{}',
    result: '9',
  } as const;
  const about = { ms: 1, why: '', answers: [], tools: [tool] };
  const trace = {} as never;
  const reply = (text: string) => ({ kind: 'reply', text, model: null }) as const;
  const at = (text: string) =>
    verdictOf(expected.expect, { ...about, trace, decision: reply(text) });
  assert.deepEqual(at('At nine.'), []);
  assert.deepEqual(at('At ten.'), [
    'Expected a reply that contains “nine”, but the reply is “At ten.”.',
  ]);
  const apology = { kind: 'apology', apology: 'busy', text: 'Sorry' } as const;
  assert.equal(verdictOf(expected.expect, { ...about, trace, decision: apology }).length, 1);
});
