import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Preview, PreviewRequest } from '../channels/channel.ts';
import type { InClaim } from '../ledger/ledger.ts';
import { TurnPreview } from './previews.ts';

function start(preview?: string, attempt = 1) {
  const shown: string[] = [];
  const kept: string[] = [];
  const begun: PreviewRequest[] = [];
  let ended = 0;
  const before = { waits: false };
  const channel = {
    preview(asked: PreviewRequest): Preview {
      begun.push(asked);
      return {
        show: (text) => void shown.push(text),
        async end() {
          ended++;
        },
      };
    },
    begun: ({ id }: { id: string }) => `begun ${id}`,
  };
  const previews = {
    isNext: () => !before.waits,
    keep: async (_: unknown, one: string) => kept.push(one) > 0,
  };
  const address = { channel: 'c', target: 't' };
  const message = { id: 'm1', acceptedAt: 1_000, address, preview };
  const turnContext = { shownAs: preview ?? null };
  const firstWords: number[] = [];
  const events = { firstWord: ({ ms }: { ms: number }) => firstWords.push(ms) };
  const clock = { ms: 1_500 };
  const turn = new TurnPreview(
    { ledger: { previews }, events, now: () => clock.ms } as never,
    { channel } as never,
    { message, attempt } as unknown as InClaim,
    turnContext,
  );
  return { turn, turnContext, before, clock, shown, kept, begun, firstWords, ended: () => ended };
}

test('nothing is begun before there is something to show', async () => {
  const it = start();
  await it.turn.end();
  assert.deepEqual([it.begun.length, it.ended(), it.turnContext.shownAs], [0, 0, null]);
});

test('one preview shows all texts, and its message is kept at once', async () => {
  const it = start();
  it.turn.show('a');
  it.turn.show('a b');
  it.begun[0]!.made('[7]');
  await it.turn.end();
  assert.deepEqual(it.shown, ['a', 'a b']);
  assert.deepEqual(it.firstWords, [500]);
  assert.deepEqual([it.begun.length, it.kept, it.turnContext.shownAs], [1, ['[7]'], '[7]']);
});

test('the message of an earlier run is shown on, and is replaced though nothing is shown', () => {
  const it = start('[5]');
  assert.equal(it.turnContext.shownAs, '[5]');
  it.turn.show('again');
  assert.equal(it.begun[0]!.replaces, '[5]');
});

test('what a run that died may have begun is found by what names it, once it comes next', () => {
  const it = start(undefined, 2);
  assert.equal(it.turnContext.shownAs, 'begun m1');
  it.before.waits = true;
  it.turn.show('a');
  assert.equal(it.begun.length, 0);
  it.before.waits = false;
  it.turn.show('a b');
  assert.equal(it.begun[0]!.replaces, 'begun m1');
  assert.equal(start('[5]', 2).turnContext.shownAs, '[5]');
});

test('nothing is begun before the reply to an earlier message has arrived', () => {
  const it = start();
  it.before.waits = true;
  it.turn.show('a');
  assert.equal(it.begun.length, 0);
  it.before.waits = false;
  it.turn.show('a b');
  assert.deepEqual(it.shown, ['a b']);
});

test('the first word counts once, when it may stand in the chat', () => {
  const waiting = start();
  waiting.before.waits = true;
  waiting.turn.show('a');
  assert.deepEqual(waiting.firstWords, []);
  waiting.before.waits = false;
  waiting.clock.ms = 4_000;
  waiting.turn.show('a b');
  waiting.turn.show('a b c');
  assert.deepEqual(waiting.firstWords, [3_000]);

  for (const again of [start('[5]'), start(undefined, 2)]) {
    again.turn.show('a');
    assert.equal(again.begun.length, 1);
    assert.deepEqual(again.firstWords, [], 'an earlier run of the turn may have shown it');
  }
});

test('what comes after the end is not shown', async () => {
  const it = start();
  await it.turn.end();
  it.turn.show('late');
  assert.equal(it.begun.length, 0);
});
