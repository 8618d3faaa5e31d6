/** Asking again makes nothing less private, and shows the pictures again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activeRoute, brainsByName } from '../../test/fake/channel.ts';
import { noteEvents } from '../../test/fake/webhook.ts';
import type { Brain, Turn } from '../brains/brain.ts';
import type { Attachment } from '../domain/attachment.ts';
import { noStarts, type TurnRow } from '../domain/conversation.ts';
import type { ModelName } from '../domain/ids.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { Effects, InClaim } from '../ledger/ledger.ts';
import { Stopper } from '../lib/stop.ts';
import { askAgain } from './ask-again.ts';
import { takeTurn } from './pipeline.ts';
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
  sensitivity: Sensitivity = 'public',
) {
  const turns: Turn[] = [];
  const keptNow: (readonly Attachment[])[] = [];
  const message = {
    sensitivity,
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

test('a command that took a private route makes what was public no less public', async () => {
  const { turn, turnContext } = await asked(row(2, 'the weather'), [], [], 'private');
  assert.deepEqual([turn.message.sensitivity, turnContext.sensitivity], ['public', 'public']);
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

/**
 * A turn that asks `again`, on a channel whose default route is to a private brain. Only `/code`
 * reaches the public brain.
 */
function setupRetry(again: TurnRow, brainOfTurn: () => Promise<string | null>) {
  const thoughts: string[] = [];
  const ended: Effects[] = [];
  const released: InClaim[] = [];
  const brainOf = (name: string, sensitivity: Sensitivity): Brain => ({
    name,
    sensitivity,
    agent: null,
    budget: null,
    historyBounds: { turns: 40, characters: 16_000 },
    deadlineMs: 60_000,
    think: ({ message }) => {
      thoughts.push(`${name}: ${message.sensitivity}`);
      return Promise.resolve({ kind: 'reply', text: 'four', model: 'm' as ModelName, why: '' });
    },
  });
  const [coder, main] = [brainOf('coder', 'public'), brainOf('main', 'private')];
  const when = { senders: null, chats: null, topics: null, commands: ['/code'] };
  const line = activeRoute(main, {
    routes: [
      { number: 1, brain: coder, when, description: null },
      { number: 2, brain: main, when: null, description: null },
    ],
    brains: brainsByName(coder, main),
  });
  const end = (_claim: InClaim, ...rest: readonly unknown[]) => {
    ended.push(rest.at(-1) as Effects);
    return Promise.resolve(true);
  };
  const ledger = {
    durability: { durable: true },
    previews: { of: () => null },
    complete: end,
    deadLetter: end,
    release: (claim: InClaim) => Promise.resolve(void released.push(claim)),
    brainOfTurn,
  };
  const { events } = noteEvents();
  const ids = { reply: () => 'r' };
  const deps = { ledger, events, ids, now: () => 4, steady: () => 4 } as unknown as Deps;
  const message = {
    id: 'm',
    channel: 'messenger_a:77',
    conversation: 'c',
    sensitivity: 'private',
    route: { number: 2, brain: 'main', matched: [] },
    text: '/retry',
    media: null,
    sender: { id: '7', name: null },
    acceptedAt: 3,
    address: { channel: 'messenger_a:77', target: 'c' },
  };
  const seen = { turns: [again], windows: noStarts, previousAt: 2, empty: false };
  const memory = { session: { number: 1, startedAt: 0 }, ...seen };
  const stop = new Stopper();
  const claim = { box: 'in', attempt: 1, message, memory, stop } as unknown as InClaim;
  return { deps, line, claim, thoughts, ended, released };
}

test('a turn is asked again of its own brain, whatever route the command took', async () => {
  for (const [known, sensitivity, expected, label] of [
    ['coder', 'public', 'coder: public', 'public'],
    ['coder', 'private', 'coder: private', 'private'],
    ['gone', 'public', 'main: public', 'private'],
    [null, 'public', 'main: public', 'private'],
  ] as const) {
    const again = row(2, 'two and two?', sensitivity);
    const it = setupRetry(again, () => Promise.resolve(known));
    await takeTurn(it.deps, it.line, it.claim);
    assert.deepEqual(it.thoughts, [expected]);
    const [effects] = it.ended;
    assert.deepEqual([effects?.turn?.sensitivity, effects?.leftOut], [label, [again]]);
    const brain = expected.split(':', 1)[0];
    assert.deepEqual([effects?.trace?.brain, effects?.replies[0]?.brain], [brain, brain]);
  }
});

test('nobody is asked while nobody can read whose turn it was', async () => {
  const it = setupRetry(row(2, 'two and two?'), () => Promise.reject(new Error('unreadable')));
  it.claim.stop.stop();
  await takeTurn(it.deps, it.line, it.claim);
  assert.deepEqual([it.thoughts, it.ended, it.released], [[], [], [it.claim]]);
});

test('a bug, or a poisoned message, makes it no less private, and its brain no other', async () => {
  for (const sensitivity of ['private', 'public'] as const) {
    const again = row(2, 'my diagnosis', sensitivity);
    for (const kind of ['fault', 'poison'] as const) {
      const it = setupRetry(again, () => Promise.resolve('coder'));
      await deadLetterMessage(it.deps, it.line, it.claim, kind);
      const [effects] = it.ended;
      assert.deepEqual(
        [effects?.turn?.sensitivity, effects?.leftOut],
        kind === 'fault' ? [sensitivity, [again]] : [undefined, []],
      );
      assert.equal(effects?.trace?.brain, 'coder');
    }
  }
});
