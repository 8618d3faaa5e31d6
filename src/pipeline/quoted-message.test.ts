import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noTurns, type EarlierTurns, type TurnRow } from '../domain/conversation.ts';
import type { ChannelKey } from '../domain/ids.ts';
import type { SessionConfig } from '../config/config.ts';
import type { InClaim } from '../ledger/ledger.ts';
import type { Message, MessageContext, Quoted } from '../domain/message.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import { labelledQuote, withForwardedLabel } from './quoted-message.ts';

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

/** Shows the text of links, as Telegram does, and splits a reply into two parts. */
const channel = {
  split: (text: string) => text.split('--').map((part) => ({ text: part })),
  plain: ({ text }: { text: string }) => text.replace(/\((?:https?):[^)]*\)/g, ''),
};

type Stage = {
  readonly inGroup?: true;
  readonly brain?: Sensitivity;
  readonly own?: Sensitivity;
  readonly kept?: string | Error;
  readonly earlier?: EarlierTurns | Error;
};

/** Said a moment after the channel became public. */
const bySender = { by: 'sender', at: since + 60_001 } as const;

async function labelOf(quoted: Partial<Quoted>, more: Stage = {}) {
  const {
    inGroup,
    brain = 'public',
    own = 'public',
    kept = String(since),
    earlier = noTurns,
  } = more;
  const route = { channel, brain: { sensitivity: brain } };
  const whole: Quoted = { text: 'x', by: 'other', name: null, at: since + 60_001, ...quoted };
  const context = { quoted: whole, ...(inGroup && { inGroup }) };
  const message = { channel: 'telegram:main', sensitivity: own, context } as unknown as Message;
  const claim = { message, memory: { turns: window } } as unknown as InClaim;
  const ledger = {
    cursor: async () => valueOrThrow(kept),
    earlier: async () => valueOrThrow(earlier),
  };
  return (await labelledQuote(ledger, route, claim))?.sensitivity;
}

function valueOrThrow<T>(what: T | Error): T {
  if (what instanceof Error) throw what;
  return what;
}

test('what a turn has that the brain may see is as private as that', async () => {
  const before = { at: since } as const;
  assert.equal(await labelOf({ ...before, text: 'It is  four', by: 'us' }), 'public');
  assert.equal(await labelOf({ ...before, text: 'two and two', by: 'sender' }), 'public');
  assert.equal(await labelOf({ text: 'opens with 4711', by: 'sender' }), 'private');
  assert.equal(await labelOf({ text: 'noted', by: 'us' }), 'private');
  assert.equal(await labelOf({ text: 'the same word', by: 'sender' }), 'private');
});

const old = (sensitivity: Sensitivity): TurnRow => {
  return { at: 0, text: 'who wrote Faust?', reply: 'It was **Goethe**.', sensitivity };
};
const keptTurns = (...turns: readonly TurnRow[]): Stage => ({ earlier: { kind: 'kept', turns } });

test('what an earlier turn has is as private as that, when it was said or not', async () => {
  for (const at of [since, since + 60_001]) {
    for (const label of ['public', 'private'] as const) {
      const more = keptTurns(old(label));
      assert.equal(await labelOf({ at, text: 'It was Goethe.', by: 'us' }, more), label);
      assert.equal(await labelOf({ at, text: 'Faust', by: 'sender' }, more), label);
      assert.equal(await labelOf({ at, text: 'Faust' }, { ...more, inGroup: true }), label);
    }
    const both = keptTurns(old('public'), old('private'));
    assert.equal(await labelOf({ at, text: 'Goethe', by: 'us' }, both), 'private');
  }
  const elsewhere = { at: 0, text: 'Goethe' } as const;
  assert.equal(await labelOf(elsewhere, keptTurns(old('public'))), 'private');
});

test('of svc what no kept turn has is private', async () => {
  for (const inGroup of [{}, { inGroup: true }] as const) {
    assert.equal(await labelOf({ text: 'never seen', by: 'us' }, inGroup), 'private');
    const unread = { ...inGroup, earlier: new Error('the disk') };
    assert.equal(await labelOf({ text: 'never seen', by: 'us' }, unread), 'private');
  }
});

test('where no turns are kept svc said nothing private since it is public', async () => {
  for (const sensitivity of ['public', 'private'] as const) {
    const more: Stage = { earlier: { kind: 'label', sensitivity } };
    assert.equal(await labelOf({ text: 'never seen', by: 'us' }, more), sensitivity);
    assert.equal(await labelOf({ ...bySender, text: 'never seen' }, more), 'public');
    for (const before of [{ at: since }, { at: 0 }]) {
      assert.equal(await labelOf({ text: 'never seen', by: 'us', ...before }, more), 'private');
      assert.equal(await labelOf({ text: 'never seen', by: 'sender', ...before }, more), 'private');
    }
    const turned = { ...more, kept: 'private' };
    assert.equal(await labelOf({ text: 'never seen', by: 'us' }, turned), 'private');
  }
});

test('what a person said is public where the channel was by then', async () => {
  assert.equal(await labelOf({ ...bySender, text: 'never seen' }), 'public');
  assert.equal(await labelOf({ ...bySender, text: ' > ' }), 'public');
  assert.equal(await labelOf({ ...bySender, text: 'never seen', at: since }), 'private');
  assert.equal(await labelOf({ ...bySender, text: 'x' }, { kept: 'private' }), 'private');
});

test('a reply is known by what its channel shows of it, whole or while it grew', async () => {
  const notice = '(New session: a new day.)';
  const recall = '(New session: it was quiet for a while. /recall brings the last exchanges back.)';
  for (const text of ['Here', 'Here\nby', 'Here …', `${notice}\n\nHere`, `${recall}\n\nHere …`]) {
    assert.equal(await labelOf({ text, by: 'us' }), 'public', text);
  }
  for (const text of ['There it is', 'There it …', 'That is it', notice, ' …', 'Here 4 …']) {
    assert.equal(await labelOf({ text, by: 'us' }), 'private', text);
  }
  assert.equal(await labelOf({ text: `${notice} two`, by: 'us' }), 'public');
  assert.equal(await labelOf({ text: '(New session: 4711.) two', by: 'us' }), 'private');
  assert.equal(await labelOf({ text: `${notice} two`, by: 'sender', at: since }), 'private');
});

test('of others in a group: public only where the channel was public by then', async () => {
  const group = { inGroup: true } as const;
  assert.equal(await labelOf({}, group), 'public');
  assert.equal(await labelOf({ at: since + 60_000 }, group), 'private');
  assert.equal(await labelOf({ at: 0 }, group), 'private');
  assert.equal(await labelOf({ text: '4711' }, group), 'private');
  for (const kept of ['private', '', 'x', new Error('the disk')]) {
    assert.equal(await labelOf({}, { ...group, kept }), 'private');
  }
});

test('what anybody can read is public, unless a private turn has it', async () => {
  for (const more of [{}, { inGroup: true, kept: 'private' }] as const) {
    assert.equal(await labelOf({ at: 0, elsewhere: 'open' }, more), 'public');
    assert.equal(await labelOf({ at: 0, elsewhere: 'open', text: '4711' }, more), 'private');
    assert.equal(await labelOf({ elsewhere: 'open' }, { ...more, brain: 'private' }), 'private');
    const closed = { text: 'two and two', elsewhere: 'closed' } as const;
    assert.equal(await labelOf(closed, more), 'private', 'though the same was said here');
  }
});

test('in a private brain, and of a private message, all is private', async () => {
  for (const more of [{ brain: 'private' }, { own: 'private' }] as const) {
    assert.equal(await labelOf({ text: 'two and two' }, more), 'private');
    assert.equal(await labelOf({}, { ...more, inGroup: true }), 'private');
  }
});

const session = { triggers: ['/new', 'again'] } as unknown as SessionConfig;

async function labelOfForward(text: string, more: MessageContext = {}, kept = String(since)) {
  const all = new Map([['second@messenger_a:other' as ChannelKey, null]]);
  const route = { channel, session, all, brain: { sensitivity: 'public' } } as const;
  const context = { forwardedFrom: 'Ann', ...more };
  const message = { channel: 'messenger_a:main', sensitivity: 'public', text, context };
  const claim = { message, memory: { turns: window } } as unknown as InClaim;
  const ledger = { cursor: async () => kept, earlier: async () => noTurns };
  return (await withForwardedLabel(ledger, route, claim)).sensitivity;
}

test('a forward is known without what svc took off its words or put before them', async () => {
  const words = 'the safe opens';
  const notice = '(New session: a new day.)';
  for (const before of ['', '/home', '/home@a_bot', '/new', 'again', '/new /home', notice]) {
    assert.equal(await labelOfForward(`${before} ${words}`.trim()), 'private', before);
  }
  for (const text of ['two and two', '/home two and two', '/home', 'others said: the safe opens']) {
    assert.equal(await labelOfForward(text), 'public', text);
  }
});

test('what svc said elsewhere is forwarded as private, unless all was public by then', async () => {
  const text = 'I need a yes for 4711';
  const by = (at: number, id = 'main') => ({ forwardedBot: { id, at } });
  for (const at of [0, since]) {
    assert.equal(await labelOfForward(text, by(at)), 'private');
    assert.equal(await labelOfForward(text, by(at, 'other')), 'private');
    assert.equal(await labelOfForward(text, by(at, 'stranger')), 'public');
    assert.equal(await labelOfForward('', by(at)), 'private', 'a file');
    assert.equal(await labelOfForward('It is four.', by(at)), 'public');
  }
  assert.equal(await labelOfForward(text, by(since + 60_001)), 'public');
  assert.equal(await labelOfForward(text, by(since + 60_001), 'private'), 'private');
});
