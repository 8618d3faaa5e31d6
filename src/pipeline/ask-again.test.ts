/** Asking again makes nothing less private, and shows the pictures again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activeRoute } from '../../test/fake/channel.ts';
import type { Brain, Turn } from '../brains/brain.ts';
import type { Attachment } from '../domain/attachment.ts';
import type { TurnRow } from '../domain/conversation.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { Effects, InClaim } from '../ledger/ledger.ts';
import { askAgain } from './ask-again.ts';
import type { PipelineTurnContext } from './turn-context.ts';
import { deadLetterMessage } from './turn-failure.ts';
import type { ActiveRoute, Deps } from './deps.ts';
import { rememberedOf } from './attachments/attachment-turn.ts';

const row = (at: number, text: string, sensitivity: Sensitivity = 'public'): TurnRow => {
  return { at, text, reply: null, sensitivity };
};
const photo = (byte: number): Attachment => {
  return {
    kind: 'picture',
    name: 'photo',
    picture: { type: 'image/png', bytes: Uint8Array.of(byte) },
  };
};

async function asked(
  again: TurnRow,
  kept: readonly (readonly Attachment[])[] = [],
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
  const memory = { session: { number: 1, startedAt: 0 } };
  const claim = { message, memory } as unknown as InClaim;
  const attachments = {
    acceptedAt: (_claim: InClaim, at: number) => Promise.resolve(at === again.at ? kept : []),
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
  const turnContext = {
    sensitivity: 'public' as Sensitivity,
    becomePrivate: () => void (turnContext.sensitivity = 'private'),
  };
  const deps = { ledger: { attachments } } as unknown as Deps;
  const shown = { history: [row(1, 'before'), again, ...after] };
  await askAgain(
    deps,
    route,
    claim,
    { again, shown },
    turnContext as unknown as PipelineTurnContext,
  );
  return { turn: turns[0]!, turnContext, keptNow };
}

test('what was private is asked, and remembered, as private', async () => {
  const { turn, turnContext } = await asked(row(2, 'my diagnosis', 'private'));
  assert.equal(turn.message.sensitivity, 'private');
  assert.equal(turnContext.sensitivity, 'private');
  const { turn: open, turnContext: openContext } = await asked(row(2, 'the weather'));
  assert.equal(open.message.sensitivity, 'public');
  assert.equal(openContext.sensitivity, 'public');
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

test('all that came with it comes with it again, whole, and is kept with it', async () => {
  const file = { kind: 'text', name: 'a.txt', text: 'long '.repeat(2_000) } as const;
  const all = [photo(2), file, photo(3)];
  const again = row(2, `Ann: what is it?\n${rememberedOf('', all)}\n\nReplying to Bob:\n> that`);
  const { turn, keptNow } = await asked(again, [[photo(9), photo(9)], all]);
  assert.equal(turn.text, 'Ann: what is it?\n\nReplying to Bob:\n> that');
  assert.deepEqual(turn.attachments, all);
  assert.deepEqual(keptNow, [all]);
});

test('what was kept of another message does not come with it', async () => {
  for (const text of ['no picture', 'a [picture: of me]']) {
    const { turn, keptNow } = await asked(row(2, text), [[photo(1)]]);
    assert.deepEqual([turn.text, turn.attachments, keptNow], [text, undefined, []]);
  }
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
      deadLetter: (_claim: InClaim, _why: object, effects: Effects) => {
        buried.push(effects);
        return Promise.resolve(true);
      },
    };
    const events = { buried: () => {} };
    const ids = { reply: () => 'r' };
    const deps = { ledger, events, ids, now: () => 4 } as unknown as Deps;
    const brain = { name: 'b', sensitivity: 'public', agent: null } as Brain;
    await deadLetterMessage(deps, activeRoute(brain), claim as unknown as InClaim, kind);
    const [effects] = buried;
    assert.deepEqual(
      [effects?.turn?.sensitivity, effects?.leftOut],
      kind === 'fault' ? ['private', [again]] : [undefined, []],
    );
  }
});
