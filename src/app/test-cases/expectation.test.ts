/** A table: the expectation, the result, and the sentence if they differ. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../config/locate.ts';
import { ProblemList } from '../../config/problems.ts';
import { readExpectation } from '../../config/test-case.ts';
import { missesOf, type Uses } from './expectation.ts';
import { verdictOf, matchedCharactersMax, matchWithin } from './run-cases.ts';

const calc = (given: unknown): Uses => [{ tool: 'calc', arguments: JSON.stringify(given) }];
const none: Uses = [];

const table: readonly (readonly [expect: Json, reply: string, uses: Uses, RegExp | null])[] = [
  [{}, 'anything', none, null],
  [{ text: 'yes' }, '**Yes.**', none, null],
  [{ text: 'yes' }, 'no', none, /^the reply “yes”: the reply is “no”$/],
  [{ text: '5' }, '-5', none, /the reply “5”/],
  [{ contains: 'nine' }, 'At nine.', none, null],
  [{ contains: 'Nine' }, 'At nine.', none, /contains “Nine”/],
  [{ contains: ['at', 'ten'] }, 'at nine', none, /^a reply that contains “ten”: /],
  [{ matches: '^at \\d+$' }, 'at 9', none, null],
  [{ matches: '^at \\d+$' }, 'at nine', none, /matches \/\^at \\d\+\$\/: the reply is/],
  [{ matches: '(?i:NINE)' }, 'nine', none, null],
  [{ matches: '(a+)+$' }, `${'a'.repeat(50)}b`, none, /matching the reply took too long/],
  [{ matches: 'a' }, 'a'.repeat(matchedCharactersMax + 1), none, /too long to be matched/],
  [{ calls: 'calc' }, 'x', calc({}), null],
  [{ calls: 'calc' }, 'x', none, /^a call of calc: no tool was asked for$/],
  [{ calls: ['calc', 'time'] }, 'x', calc({}), /^a call of time: the calls were: calc with {}$/],
  [{ calls: { tool: 'calc', arguments: { a: 1 } } }, 'x', calc({ b: 2, a: 1 }), null],
  [{ calls: { tool: 'calc', arguments: { a: [1] } } }, 'x', calc({ a: [1] }), null],
  [{ calls: { tool: 'calc', arguments: { a: 1 } } }, 'x', calc({ a: 2 }), /calc with {"a":1}: /],
  [{ calls: { tool: 'calc', arguments: { toString: 1 } } }, 'x', calc({}), /a call of calc/],
  [{ calls: { tool: 'calc', arguments: { a: 1 } } }, 'x', calc([1]), /a call of calc/],
  [
    { calls: { tool: 'calc', arguments: { a: 1 } } },
    'x',
    [{ tool: 'calc', arguments: '{"a":1,"b":"cu' }],
    /a call of calc/,
  ],
  [{ not_calls: 'time' }, 'x', calc({}), null],
  [{ not_calls: ['time', 'calc'] }, 'x', calc({}), /^no call of calc: the calls were/],
  [{ contains: 'x', not_calls: 'calc' }, 'x', calc({}), /no call of calc/],
];

test('every part must hold, and what does not is told', () => {
  for (const [written, reply, uses, words] of table) {
    const problems = new ProblemList('', new Map());
    const expect = readExpectation(written, '', problems)!;
    assert.deepEqual(problems.sorted(), [], JSON.stringify(written));
    const misses = missesOf(expect, reply, uses, matchWithin);
    const said = misses.map(({ expected, came }) => `${expected}: ${came}`);
    assert.equal(said.length, words === null ? 0 : 1, `${JSON.stringify(written)}: ${said.join()}`);
    if (words !== null) assert.match(said[0]!, words);
  }
});

test('a judge says yes or no by its first word', () => {
  const told = [
    ['Yes', 'yes'],
    ['**No**, it does not.', 'no'],
    ['<think>yes or no?</think>\n no', 'no'],
    ['- yes: nine is told', 'yes'],
    ['Yesterday it did.', 'unclear'],
    ['nope', 'unclear'],
    ['The answer is yes.', 'unclear'],
    ['', 'unclear'],
    ['1. yes', 'unclear'],
  ] as const;
  for (const [answer, verdict] of told) assert.equal(verdictOf(answer), verdict, answer);
});
