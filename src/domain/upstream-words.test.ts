import assert from 'node:assert/strict';
import { test } from 'node:test';
import { platformWords, providerWords, upToQuotation } from './upstream-words.ts';

const token = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0';
const of = (said: string, ...sent: readonly string[]) => platformWords(said, token, sent);

test('a short refusal is kept as it is', () => {
  for (const said of [
    'Bad Request: not enough rights to send text messages to the chat',
    'Bad Request: chat not found',
    'Bad Request: message is too long',
    'Missing Permissions',
  ]) {
    assert.equal(of(said, 'four'), said);
  }
});

test('what points at somebody, or is a secret, is taken out', () => {
  const cases: readonly [string, string | null][] = [
    [`bot ${token} was refused`, 'bot was refused'],
    ['the bot AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0 was refused', 'the bot was refused'],
    ['see https://api.example/x?key=1 for more', 'see for more'],
    ['see www.example.org/a', 'see'],
    ['user @ann_lee is not here', 'user is not here'],
    ['chat -1001234567890 not found, code 4096', 'chat - not found, code 4096'],
    ['one\r\n{"two":\u0000 \u202e"three"}\t', 'one { two : three }'],
    ['12345678', null],
    ['', null],
  ];
  for (const [said, kept] of cases) assert.equal(of(said), kept, said);
});

test('it is one line of 160 characters at most', () => {
  const line = of('no way '.repeat(1_000))!;
  assert.ok(Array.from(line).length <= 160 && !line.includes('\n'));
});

test('what repeats twelve characters of what was sent is left out', () => {
  const text = 'My password is hunter2, please keep it';
  assert.equal(of(`Bad Request: can't parse "password is h"`, text), null);
  assert.equal(of('Bad Request: PASSWORD\n  IS hunter2', text), null);
  assert.equal(
    of('Bad Request: cannot parse "is hunter"', text),
    'Bad Request: cannot parse is hunter',
  );
  assert.equal(of('Bad Request: wrong text 4471-8', '4471-8'), null);
  assert.equal(of('Bad Request: chat not found', 'not'), 'Bad Request: chat not found');
});

test('of what a provider says nothing is kept that its model wrote', () => {
  const cases: readonly (readonly [said: string, kept: string])[] = [
    // llama.cpp#23838
    [
      "Failed to parse input at pos 395: <|tool_call_start|>[mail(to='Ben', text='I am ill')]",
      'Failed to parse input at pos 395',
    ],
    [
      'server_error Failed to parse input at pos 0: Anna is ill.',
      'server_error Failed to parse input at pos 0',
    ],
    // ollama#11781
    [
      `error parsing tool call: raw='{"to":"Anna"}]', err=invalid character`,
      'error parsing tool call',
    ],
    [
      'Failed to parse tool call arguments as JSON: ill',
      'Failed to parse tool call arguments as JSON',
    ],
  ];
  for (const [said, kept] of cases) assert.equal(providerWords(said, null, []), kept);
});

test('of what a provider says no part of the request is kept, however it is written', () => {
  const sent = ['Jag är gravid\nsedan i maj,\n\nsäg det inte', 'I am ill now'];
  const cases: readonly string[] = [
    'bad value Jag \\u00e4r gravid\\nsedan i maj,\\n\\ns\\u00e4g det inte',
    'bad value Jag är gravid sedan i maj, säg det inte',
    'bad value I am ill now',
  ];
  for (const said of cases) assert.equal(providerWords(said, null, sent), 'bad value …', said);
});

test('of an error about private texts words count up to a quotation, but for a name', () => {
  const cases: readonly (readonly [words: string, own: string])[] = [
    ["Invalid schema for 'calc': it isn't so", "Invalid schema for 'calc': it isn't so"],
    ["model 'a/b:7b' is bad: 'I am ill'", "model 'a/b:7b' is bad: "],
    ['no such thing: {"a": 1}', 'no such thing: '],
    ["raw='4711'", 'raw='],
  ];
  for (const [words, own] of cases) assert.equal(upToQuotation(words), own);
});
