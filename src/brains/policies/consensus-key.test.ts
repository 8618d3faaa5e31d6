import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { consensusKey, uncappedConsensusKey, normalizedCharactersMax } from './consensus.ts';
import { anyText } from '../../../test/support/any-text.ts';
import { runs } from '../../../test/support/runs.ts';

const same: readonly (readonly string[])[] = [
  ['Paris', 'paris', ' PARIS.', '**Paris**', '"Paris"', '“Paris”'],
  ['Paris', '(Paris)', '`Paris`', 'Paris!', '_Paris_', '__**Paris**__'],
  ['paris', 'Answer: Paris', '**Answer:** Paris', 'answer: **Paris**.', 'Final answer: Paris'],
  ['paris', '```\nParis\n```', '```text\nParis\n```', '<think>France…</think>\nParis', '[Paris]'],
  ['2.5', '2.50', '2.500.', '**2.50**', '２.５'],
  ['2', '2.0', '2.'],
  ['0.5', '.5', '.50'],
  ['-5', '−5', '–5'],
  ["it's 4 o'clock", 'It’s 4  o‘clock.', 'it’s\n4 o’clock'],
  [
    '{"a":1,"b":[2,"x y"]}',
    '{ "b": [2.0, "X  Y"], "a": 1 }',
    '```json\n{"b":[2,"x y"],"a":1}\n```',
  ],
  ['[1000]', '[1e3]', '[ 1000 ]'],
  ['yes...', 'yes…', 'yes', 'Yes!!!'],
];

const different: readonly (readonly [string, string])[] = [
  ['-5', '5'],
  ['50%', '50'],
  ['C#', 'C'],
  ['C++', 'C'],
  ['5*', '5'],
  ['007', '7'],
  ['1.10.0', '1.1.0'],
  ['v1.10', 'v1.1'],
  ['(a) or (b)', 'a) or (b'],
  ['**a** or **b**', 'a** or **b'],
  ['[9007199254740993]', '[9007199254740992]'],
  ['{"A":1}', '{"a":1}'],
  ['...', '!'],
  ['..0', '.0'],
  ['.5.0', '.5'],
  ['yes', 'no'],
  ["5'", '5'],
];

test('answers that differ only in their dress have one key', () => {
  for (const group of same) {
    const keys = group.map(consensusKey);
    assert.deepEqual(new Set(keys).size, 1, `${group.join(' | ')} → ${keys.join(' | ')}`);
  }
});

test('answers that may mean different things have different keys', () => {
  for (const [a, b] of different) assert.notEqual(consensusKey(a), consensusKey(b), `${a} | ${b}`);
});

const pieces = ['(', ')', '[', ']', '{', '}', '*', '**', '_', '`', '```', '"', "'", '“'];
const words = [
  '’',
  '\n',
  'Answer:',
  'a',
  'Σ',
  '2.50',
  '.50',
  '1',
  '0',
  ',',
  '.',
  '-',
  ' ',
  '<think>',
  '</think>',
  '\u200b',
  '\u00ad',
  '＜think＞',
];
const dressed = fc
  .array(fc.oneof(fc.constantFrom(...pieces, ...words), anyText({ maxLength: 3 })))
  .map((parts) => parts.join(''));

test('the key of a key is that key where one spelling uncovers what another hides', () => {
  const crowd = '\u0301'.repeat(31);
  const cases: readonly (readonly [string, string])[] = [
    ['\u200b<think>a', ''],
    ['\u00ad<think>hm', ''],
    ['＜think＞a', ''],
    ['<thin\u212a>a', ''],
    ['```\n<think>a\n```', ''],
    ['\u200b<think>a</think>...', '...'],
    [`(<think>${crowd}</think>２)`, '2'],
    [`["${'［'.repeat(65)}x${'］'.repeat(65)}"]`, `["${'['.repeat(65)}x${']'.repeat(65)}"]`],
  ];
  for (const [text, key] of cases) {
    assert.equal(consensusKey(text), key, JSON.stringify(text));
    assert.equal(consensusKey(key), key, JSON.stringify(key));
  }
});

test('the key of a key is that key', () => {
  fc.assert(
    fc.property(fc.oneof(dressed, anyText(), fc.json()), (text) => {
      const key = consensusKey(text);
      assert.equal(consensusKey(key), key);
    }),
    { numRuns: runs(1_000) },
  );
});

function* textsOf(letters: readonly string[], length: number): Generator<string> {
  if (length === 0) {
    yield '';
    return;
  }
  for (const text of textsOf(letters, length - 1)) {
    for (const letter of letters) yield text + letter;
  }
}

test('the key of a key is that key, for every text of a few dots, digits and brackets', () => {
  const kinds = [
    ['.', ',', '0', '5', 'a', ' ', '('],
    ['.', '0', '-', 'answer:', '*', "'", ')'],
  ];
  let texts = 0;
  for (const letters of kinds) {
    for (let length = 1; length <= 5; length++) {
      for (const text of textsOf(letters, length)) {
        const key = consensusKey(text);
        assert.equal(consensusKey(key), key, JSON.stringify(text));
        texts++;
      }
    }
  }
  assert.equal(texts, 39_214);
});

test('dressing a word up does not change its key, and so agreeing is an equivalence', () => {
  const dress = fc.constantFrom<(text: string) => string>(
    (text) => `**${text}**`,
    (text) => `(${text})`,
    (text) => `"${text}"`,
    (text) => `${text}.`,
    (text) => ` ${text}\n`,
    (text) => `Answer: ${text}`,
    (text) => `<think>x</think>${text}`,
    (text) => text.toUpperCase(),
  );
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{1,8}( [a-z]{1,8})?$/), dress, dress, (word, one, two) => {
      assert.equal(consensusKey(one(word)), word);
      if (one !== two) assert.equal(consensusKey(two(one(word))), consensusKey(one(two(word))));
    }),
  );
});

test('a JSON value has one key whatever its layout and the order of its keys', () => {
  const flip = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(flip)
      : typeof value === 'object' && value !== null
        ? Object.fromEntries(
            Object.entries(value)
              .reverse()
              .map(([key, member]) => [key, flip(member)]),
          )
        : value;
  const objects = fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue({ maxDepth: 3 }));
  fc.assert(
    fc.property(objects, (value) => {
      const one = consensusKey(JSON.stringify(value));
      assert.equal(consensusKey(JSON.stringify(flip(value), null, 2)), one);
    }),
  );
});

const megabyte = 1_000_000;
const hostile: Readonly<Record<string, string>> = {
  'nested brackets': '('.repeat(megabyte / 2) + ')'.repeat(megabyte / 2),
  'nested lists': '['.repeat(megabyte / 2) + ']'.repeat(megabyte / 2),
  'open brackets': '[('.repeat(megabyte / 2),
  'emphasis on both sides': '*_'.repeat(megabyte / 4) + 'x' + '_*'.repeat(megabyte / 4),
  'labels and marks': '**answer:**'.repeat(45_000) + 'x' + '*'.repeat(megabyte / 2),
  'think tags': '<think>'.repeat(megabyte / 7),
  'think blocks in brackets': '(<think></think>'.repeat(megabyte / 16) + ')'.repeat(60_000),
  zeros: `1.${'0001'.repeat(megabyte / 4)}x`,
  digits: '1'.repeat(megabyte),
  dots: '.'.repeat(megabyte),
  'dotted digits': '1.'.repeat(megabyte / 2),
  spaces: `x${' '.repeat(megabyte)}y`,
  fences: '```\n'.repeat(megabyte / 4),
  'combining marks': `a${'\u0301\u0316'.repeat(megabyte / 2)}`,
  'half width marks': `a${'\u0301\uff9e'.repeat(megabyte / 2)}`,
  ligatures: '\ufdfa'.repeat(megabyte / 3),
  'quotes in quotes': `'"`.repeat(megabyte / 4) + `"'`.repeat(megabyte / 4),
  'a wide list': `[${'1.50,'.repeat(megabyte / 5)}1]`,
};

// Linear time is well under a second; a quadratic step takes more than a minute. The test
// measures processor time, because a busy machine does not change it.
test('a megabyte of hostile text takes no more than linear time', () => {
  for (const [name, text] of Object.entries(hostile)) {
    const start = process.threadCpuUsage();
    uncappedConsensusKey(text);
    const { user, system } = process.threadCpuUsage(start);
    const ms = (user + system) / 1_000;
    assert.ok(ms < 10_000, `${name}: ${ms.toFixed(0)} ms`);
  }
});

test('a text that is longer than any answer is its own key', () => {
  const longest = `${'a'.repeat(normalizedCharactersMax - 1)}.`;
  assert.equal(consensusKey(longest), longest.slice(0, -1));
  assert.equal(consensusKey(`a${longest}`), `a${longest}`);
});
