import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestLine } from './model.ts';
import type { ToolNotice } from '../../domain/completion.ts';
import { PromptRecords, type PromptOf } from './prompt-records.ts';

const own: PromptOf = { brain: 'main', model: 'local_runtime/m', conversation: 'webhook\0ada' };
const said = (...texts: readonly string[]): RequestLine[] =>
  texts.map((text, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', text }));
const asked = (
  lines: readonly RequestLine[],
  system: string | null = null,
  tools: ToolNotice[] = [],
) => ({ system, tools, lines });
const tool = (name: string): ToolNotice => ({ name, description: 'd'.repeat(100), parameters: {} });

test('a prompt that goes on from the last has all of it, and the first has none before', () => {
  const records = new PromptRecords();
  assert.equal(records.share(own, asked(said('hello'))), null);
  assert.equal(records.share(own, asked(said('hello', 'hi', 'how are you?'))), 1);
  assert.equal(records.share(own, asked(said('hello', 'hi', 'how are you?'))), 1);
  records.share(own, asked(said('hello', '')));
  assert.equal(records.share(own, asked(said('hello', 'hi'))), 1, 'an empty text is none');
});

test('the share is of the last prompt, and to the block of characters where they part', () => {
  const records = new PromptRecords();
  const old = 'o'.repeat(320);
  records.share(own, asked(said(old, 'a'.repeat(320))));
  assert.equal(records.share(own, asked(said(old, 'b'.repeat(3_200)))), 0.5);
  assert.equal(records.share(own, asked(said('x'.repeat(64)))), 0);
  assert.equal(records.share(own, asked(said('x'.repeat(63)))), 0, 'whole blocks count');
});

test('the oldest line that falls out leaves nothing but what stands before it', () => {
  const records = new PromptRecords();
  const system = 's'.repeat(640);
  const lines = said(...Array.from({ length: 10 }, (_, at) => String(at).repeat(64)));
  records.share(own, asked(lines, system));
  assert.equal(records.share(own, asked(lines.slice(1), system)), 0.5);
});

test('a note in the system prompt takes all behind it away, tools and lines', () => {
  const records = new PromptRecords();
  const tools = [tool('calc')];
  records.share(own, asked(said('hello'), 'You help.'.padEnd(128), tools));
  const share = records.share(own, asked(said('hello'), 'You help.'.padEnd(128, '!'), tools));
  assert.equal(share, 0);
});

test('other tools, other roles, other calls and other pictures are another prompt', () => {
  const text = 'a'.repeat(128);
  const picture = (size: number) => ({ type: 'image/png', bytes: new Uint8Array(size) }) as const;
  const calls = (given: object): RequestLine[] => [
    { role: 'calls', text: '', calls: [{ id: '1', name: 'calc', arguments: given }] },
  ];
  const pairs = [
    [asked(said(text), null, [tool('calc')]), asked(said(text), null, [tool('time')])],
    [asked([{ role: 'user', text }]), asked([{ role: 'assistant', text }])],
    [asked(calls({ a: text })), asked(calls({ a: `b${text}` }))],
    [
      asked([{ role: 'user', text: '', pictures: [picture(5)] }]),
      asked([{ role: 'user', text: '', pictures: [picture(6)] }]),
    ],
  ] as const;
  for (const [one, other] of pairs) {
    const records = new PromptRecords();
    records.share(own, one);
    assert.equal(records.share(own, other), 0);
  }
});

test('conversations, brains and models are apart', () => {
  const records = new PromptRecords();
  records.share(own, asked(said('hello')));
  for (const other of [{ conversation: 'bob' }, { brain: 'b' }, { model: 'm' }]) {
    assert.equal(records.share({ ...own, ...other }, asked(said('hello'))), null);
  }
  assert.equal(records.share(own, asked(said('hello'))), 1);
});

test('the records have a bound, and who was not heard for longest is forgotten', () => {
  const records = new PromptRecords(10_000);
  const long = asked(said('a'.repeat(16_000)));
  for (let at = 0; at < 100; at++) {
    records.share({ ...own, conversation: `c${at}` }, long);
    assert.ok(records.bytes <= 10_000, `${records.bytes} bytes`);
  }
  assert.equal(records.share({ ...own, conversation: 'c99' }, long), 1);
  assert.equal(records.share({ ...own, conversation: 'c0' }, long), null);
  records.share(own, asked(said('a'.repeat(1_000_000))));
  assert.equal(records.bytes, 0, 'one that is too large is not kept');
});

test('the name of a cache tells nothing, and another process has other names', () => {
  const records = new PromptRecords();
  const key = records.cacheKey(own);
  assert.match(key, /^[\w-]{32}$/);
  assert.equal(records.cacheKey(own), key);
  assert.notEqual(records.cacheKey({ ...own, conversation: 'bob' }), key);
  assert.notEqual(records.cacheKey({ ...own, brain: 'b' }), key);
  assert.notEqual(new PromptRecords().cacheKey(own), key);
});
