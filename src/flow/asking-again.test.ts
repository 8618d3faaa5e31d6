/** Asking again makes nothing less private, and shows the pictures again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Turn } from '../brain/brain.ts';
import type { Attachment } from '../domain/attachment.ts';
import type { TurnRow } from '../domain/conversation.ts';
import type { Message } from '../domain/message.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { KeptPicture } from '../store/attachments.ts';
import type { Effects, InClaim } from '../store/store.ts';
import { askAgain } from './asking-again.ts';
import type { TurnDesk } from './desk.ts';
import { buryMessage } from './faults.ts';
import type { ActiveRoute, Kit } from './kit.ts';

const row = (at: number, text: string, sensitivity: Sensitivity = 'public'): TurnRow => {
  return { at, text, reply: null, sensitivity };
};
const kept = (at: number): KeptPicture => {
  const picture = { type: 'image/png', bytes: Uint8Array.of(at) } as const;
  return { at, sensitivity: 'public', picture };
};

async function asked(
  again: TurnRow,
  pictures: readonly KeptPicture[] = [],
  after: readonly TurnRow[] = [],
) {
  const turns: Turn[] = [];
  const keptNow: (readonly Attachment[])[] = [];
  const message = {
    sensitivity: 'public',
    text: '/retry',
    media: null,
    context: { inGroup: true },
  };
  const claim = { message: message as unknown as Message } as InClaim;
  const attachments = {
    picturesSince: () => Promise.resolve(pictures),
    keep: (_claim: InClaim, all: readonly Attachment[]) => {
      keptNow.push(all);
      return Promise.resolve(true);
    },
  };
  const think = (turn: Turn) => {
    turns.push(turn);
    return Promise.resolve({ kind: 'apology', apology: 'no_answer', why: '' });
  };
  const route = { brain: { budget: null, think } } as unknown as ActiveRoute;
  const desk = {
    sensitivity: 'public' as Sensitivity,
    becomePrivate: () => void (desk.sensitivity = 'private'),
  };
  const kit = { ledger: { attachments } } as unknown as Kit;
  const seen = [row(1, 'before'), again, ...after];
  await askAgain(kit, route, claim, { again, seen }, desk as unknown as TurnDesk);
  return { turn: turns[0]!, desk, keptNow };
}

test('what was private is asked, and remembered, as private', async () => {
  const { turn, desk } = await asked(row(2, 'my diagnosis', 'private'));
  assert.equal(turn.message.sensitivity, 'private');
  assert.equal(desk.sensitivity, 'private');
  const { turn: open, desk: openDesk } = await asked(row(2, 'the weather'));
  assert.equal(open.message.sensitivity, 'public');
  assert.equal(openDesk.sensitivity, 'public');
});

test('its words stand as they were kept, and no more in the history', async () => {
  const { turn } = await asked(row(2, 'Ann: why?'));
  assert.equal(turn.text, 'Ann: why?');
  assert.equal(turn.message.context, undefined);
  assert.deepEqual(turn.history, [row(1, 'before')]);
});

test('what waits behind it is not asked with it, and what was answered is seen', async () => {
  const answered: TurnRow = { ...row(4, 'hi'), reply: 'hello' };
  const { turn } = await asked(row(2, 'first?'), [], [row(3, 'second?'), answered]);
  assert.deepEqual(turn.history, [row(1, 'before'), answered]);
});

test('its own pictures come with it, oldest first, and are kept with it', async () => {
  const again = row(2, 'what is it?\n[picture: photo]\n[picture: photo]');
  const other = { ...kept(2), picture: { type: 'image/png', bytes: Uint8Array.of(9) } } as const;
  const { turn, keptNow } = await asked(again, [kept(3), other, kept(2)]);
  const bytes = turn.attachments?.map((one) => one.kind === 'picture' && one.picture.bytes[0]);
  assert.deepEqual(bytes, [2, 9]);
  assert.deepEqual(keptNow, [turn.attachments]);
  assert.deepEqual((await asked(row(2, 'no picture'), [kept(2)])).keptNow, []);
});

test('a bug, or a poisoned message, makes it no less private', async () => {
  const again = row(2, 'my diagnosis', 'private');
  for (const kind of ['fault', 'poison'] as const) {
    const buried: Effects[] = [];
    const message = {
      id: 'm',
      channel: 'messenger_a:77',
      conversation: 'c',
      sensitivity: 'public',
      text: '/retry',
      media: null,
      sender: { id: '7', name: null },
      acceptedAt: 3,
      address: { channel: 'messenger_a:77', target: 'c' },
    };
    const memory = { session: { number: 1, startedAt: 0 }, turns: [again], previousAt: 2 };
    const claim = { box: 'in', message, memory: { ...memory, empty: false } };
    const ledger = {
      durability: { durable: true },
      previews: { of: () => null },
      bury: (_claim: InClaim, _why: object, effects: Effects) => {
        buried.push(effects);
        return Promise.resolve(true);
      },
    };
    const events = { buried: () => {} };
    const ids = { reply: () => 'r' };
    const kit = { ledger, events, ids, now: () => 4 } as unknown as Kit;
    const brain = { name: 'b', sensitivity: 'public', agent: null };
    const route = {
      brain,
      session: null,
      channel: {},
      brains: new Map(),
    } as unknown as ActiveRoute;
    await buryMessage(kit, route, claim as unknown as InClaim, kind);
    const [effects] = buried;
    assert.deepEqual(
      [effects?.turn?.sensitivity, effects?.leftOut],
      kind === 'fault' ? ['private', [again]] : [undefined, []],
    );
  }
});
