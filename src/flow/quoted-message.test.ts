import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TurnRow } from '../domain/conversation.ts';
import type { Message, Quoted } from '../domain/message.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import { quotedIn } from './quoted-message.ts';

const since = 1_000_000;
const window: readonly TurnRow[] = [
  { at: 1, text: 'the safe opens with 4711', reply: 'noted', sensitivity: 'private' },
  { at: 2, text: 'what is two and two?', reply: 'It is **four**.', sensitivity: 'public' },
  { at: 3, text: 'where?', reply: '[Here](https://a.test/4)--by us', sensitivity: 'public' },
  { at: 3, text: 'where?', reply: '[There](https://a.test/5) it is', sensitivity: 'private' },
  { at: 3, text: 'where?', reply: '[That](https://a.test/6) is it', sensitivity: 'private' },
  { at: 3, text: 'where?', reply: '[That](https://a.test/7) is it', sensitivity: 'public' },
  { at: 3, text: 'the same word', reply: null, sensitivity: 'private' },
  { at: 4, text: 'the same word', reply: null, sensitivity: 'public' },
];

/** Shows the words of links, as Telegram does, and two parts. */
const channel = {
  split: (text: string) => text.split('--').map((part) => ({ text: part })),
  plain: ({ text }: { text: string }) => text.replace(/\((?:https?):[^)]*\)/g, ''),
};

async function stampOf(
  quoted: Partial<Quoted>,
  more: { inGroup?: true; brain?: Sensitivity; own?: Sensitivity; kept?: string | Error } = {},
) {
  const { inGroup, brain = 'public', own = 'public', kept = String(since) } = more;
  const route = { channel, brain: { sensitivity: brain } };
  const whole: Quoted = { text: 'x', by: 'other', name: null, at: since + 60_001, ...quoted };
  const context = { quoted: whole, ...(inGroup && { inGroup }) };
  const message = { channel: 'telegram:main', sensitivity: own, context } as unknown as Message;
  const cursor = async () => {
    if (kept instanceof Error) throw kept;
    return kept;
  };
  return (await quotedIn({ cursor }, route, message, window))?.sensitivity;
}

test('of ours or in a direct chat: public only where a public turn has it', async () => {
  assert.equal(await stampOf({ text: 'It is  four', by: 'us' }), 'public');
  assert.equal(await stampOf({ text: 'two and two', by: 'sender' }), 'public');
  assert.equal(await stampOf({ text: 'opens with 4711', by: 'sender' }), 'private');
  assert.equal(await stampOf({ text: 'noted', by: 'us' }), 'private');
  assert.equal(await stampOf({ text: 'never seen', by: 'us' }), 'private');
  assert.equal(await stampOf({ text: 'never seen', by: 'us' }, { inGroup: true }), 'private');
  assert.equal(await stampOf({ text: 'never seen', by: 'other' }), 'private');
  assert.equal(await stampOf({ text: 'the same word', by: 'sender' }), 'private');
  assert.equal(await stampOf({ text: ' > ', by: 'us' }), 'private');
});

test('a reply is known by what its channel shows of it, whole or while it grew', async () => {
  const notice = '(New session: a new day.)';
  const recall = '(New session: it was quiet for a while. /recall brings the last exchanges back.)';
  for (const text of ['Here', 'Here\nby', 'Here …', `${notice}\n\nHere`, `${recall}\n\nHere …`]) {
    assert.equal(await stampOf({ text, by: 'us' }), 'public', text);
  }
  for (const text of ['There it is', 'There it …', 'That is it', notice, ' …', 'Here 4 …']) {
    assert.equal(await stampOf({ text, by: 'us' }), 'private', text);
  }
  assert.equal(await stampOf({ text: `${notice} two`, by: 'us' }), 'public');
  assert.equal(await stampOf({ text: '(New session: 4711.) two', by: 'us' }), 'private');
  assert.equal(await stampOf({ text: `${notice} two`, by: 'sender' }), 'private');
});

test('of others in a group: public only where the channel was public by then', async () => {
  const group = { inGroup: true } as const;
  assert.equal(await stampOf({}, group), 'public');
  assert.equal(await stampOf({ at: since + 60_000 }, group), 'private');
  assert.equal(await stampOf({ at: 0 }, group), 'private');
  assert.equal(await stampOf({ text: '4711' }, group), 'private');
  for (const kept of ['private', '', 'x', new Error('the disk')]) {
    assert.equal(await stampOf({}, { ...group, kept }), 'private');
  }
});

test('what anybody can read is public, unless a private turn has it', async () => {
  for (const more of [{}, { inGroup: true, kept: 'private' }] as const) {
    assert.equal(await stampOf({ at: 0, isOpen: true }, more), 'public');
    assert.equal(await stampOf({ at: 0, isOpen: true, text: '4711' }, more), 'private');
    assert.equal(await stampOf({ isOpen: true }, { ...more, brain: 'private' }), 'private');
  }
});

test('in a private brain, and of a private message, all is private', async () => {
  for (const more of [{ brain: 'private' }, { own: 'private' }] as const) {
    assert.equal(await stampOf({ text: 'two and two' }, more), 'private');
    assert.equal(await stampOf({}, { ...more, inGroup: true }), 'private');
  }
});
