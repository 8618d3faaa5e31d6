import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import { until } from '../../../test/support/waiting.ts';
import { GrowingMessage, type Shown } from './growing-message.ts';

const long = 'This answer has more than forty characters in it.';

type Given = {
  message?: string;
  unseen?: string;
  waitForRoom?: (signal: AbortSignal, isFirst: boolean) => Promise<boolean>;
  repeatMs?: number;
};

function start(given: Given = {}) {
  const clock = handClock();
  type Call = { message: string | null; text: string; settle: (shown: Shown) => void };
  const calls: (Call & { signal: AbortSignal })[] = [];
  const [made, gone]: [string[], string[]] = [[], []];
  const growing = new GrowingMessage({
    message: given.message ?? null,
    unseen: given.unseen ?? null,
    made: (message) => void made.push(message),
    cut: (text) => text.slice(0, 100),
    remove: (message) => void gone.push(message),
    waitForRoom: (signal, isFirst) => given.waitForRoom?.(signal, isFirst) ?? Promise.resolve(true),
    put: (message, text, signal) => {
      const { promise, resolve } = Promise.withResolvers<Shown>();
      calls.push({ message, text, signal, settle: resolve });
      return promise;
    },
    everyMs: 1_500,
    repeatMs: given.repeatMs ?? null,
    steady: clock.steady,
    deadlines: clock.deadlines,
  });
  return {
    clock,
    calls,
    made,
    gone,
    growing,
    /** Waits until all due work has run. */
    acted: async (): Promise<void> => {
      await new Promise<void>((resolve) => void clock.deadlines.after(0, resolve));
      await new Promise(setImmediate);
    },
    /** Shows a text, and waits until the work that follows at once has run. */
    show: async (text: string): Promise<void> => {
      growing.show(text);
      await follows();
    },
    /** Ends the call under way, and waits until the work that follows at once has run. */
    settle: async (shown: Shown): Promise<void> => {
      calls.at(-1)!.settle(shown);
      await follows();
    },
    shown: () => calls.map(({ message, text }) => [message, text]),
  };
}

async function follows(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await Promise.resolve();
}

const made = { kind: 'made', message: 'm' } as const;

const calls = (it: ReturnType<typeof start>, count: number): Promise<void> =>
  until(`call ${count}`, () => it.calls.length === count);

test('a short text is shown after 700 ms, a longer one at once', async () => {
  const it = start();
  await it.show('It');
  assert.deepEqual(it.shown(), []);
  it.clock.pass(700);
  await calls(it, 1);
  await it.settle(made);
  assert.deepEqual(it.made, ['m']);
  const other = start();
  await other.show(long);
  assert.deepEqual(other.shown(), [[null, long]]);
});

test('parts are shown as soon as there are 40 characters', async () => {
  const it = start();
  for (let length = 4; length < 40; length += 4) {
    it.clock.pass(10);
    await it.show(long.slice(0, length));
  }
  assert.deepEqual(it.shown(), []);
  await it.show(long.slice(0, 40));
  assert.deepEqual(it.shown(), [[null, long.slice(0, 40)]]);
  await it.settle(made);
  // The time of the first plan passes without a second call.
  it.clock.pass(1_499);
  await it.show(long);
  await it.acted();
  assert.equal(it.calls.length, 1);
  it.clock.pass(1);
  await calls(it, 2);
});

test('what the platform bears only later comes no sooner by more parts', async () => {
  const it = start();
  await it.show(long.slice(0, 4));
  await it.show(long.slice(0, 40));
  await it.settle({ kind: 'busy', ms: 300 });
  await it.show(long);
  it.clock.pass(299);
  await it.acted();
  assert.equal(it.calls.length, 1);
  it.clock.pass(1);
  await calls(it, 2);
});

test('later texts are edits: one at a time, the newest alone, none before its time', async () => {
  const it = start();
  await it.show(long);
  await it.show(`${long} One.`);
  await it.show(`${long} Two.`);
  assert.equal(it.calls.length, 1);
  await it.settle(made);
  it.clock.pass(1_499);
  await new Promise(setImmediate);
  assert.equal(it.calls.length, 1);
  it.clock.pass(1);
  await calls(it, 2);
  assert.deepEqual(it.shown()[1], ['m', `${long} Two.`]);
  await it.settle({ kind: 'shown' });
  await it.show(`${long} Two.`);
  it.clock.pass(5_000);
  await new Promise(setImmediate);
  assert.equal(it.calls.length, 2, 'what is shown already is not shown again');
  assert.deepEqual(it.made, ['m']);
});

test('a message that is there already is edited, and none is made', async () => {
  const it = start({ message: 'before' });
  await it.show(long);
  assert.deepEqual(it.shown(), [['before', long]]);
  await it.settle({ kind: 'shown' });
  assert.deepEqual(it.made, []);
});

for (const [name, kind, times] of [
  ['three failures in a row', 'failed', 3],
  ['a limit', 'over', 1],
] as const) {
  test(`after ${name} it is silent`, async () => {
    const it = start({ message: 'm' });
    for (let n = 1; n <= times; n++) {
      await it.show(`${long} ${n}`);
      it.clock.pass(1_500);
      await calls(it, n);
      await it.settle({ kind });
    }
    await it.show(`${long} more`);
    it.clock.pass(60_000);
    await new Promise(setImmediate);
    assert.equal(it.calls.length, times);
    await it.growing.end();
  });
}

test('its end waits for the call under way, and nothing follows', async () => {
  const it = start();
  await it.show(long);
  await it.show(`${long} more`);
  let isOver = false;
  const ending = it.growing.end().then(() => (isOver = true));
  await new Promise(setImmediate);
  assert.equal(isOver, false);
  await it.settle(made);
  await ending;
  it.clock.pass(5_000);
  await new Promise(setImmediate);
  assert.deepEqual([it.calls.length, it.made, it.gone], [1, ['m'], []]);
});

test('its end waits until an edit has ended, which is given up after 4 s', async () => {
  const it = start({ message: 'm' });
  await it.show(long);
  let isOver = false;
  const ending = it.growing.end().then(() => (isOver = true));
  it.clock.pass(3_999);
  await it.acted();
  assert.deepEqual([isOver, it.calls[0]!.signal.aborted], [false, false]);
  it.clock.pass(1);
  await until('that the edit is given up', () => it.calls[0]!.signal.aborted);
  assert.equal(isOver, false);
  await it.settle({ kind: 'failed' });
  await ending;
});

test('a message that is made 4.5 s after its end, or later, is taken away', async () => {
  const it = start();
  await it.show(long);
  const ending = it.growing.end();
  it.clock.pass(4_499);
  await it.acted();
  assert.equal(it.calls[0]!.signal.aborted, false);
  it.clock.pass(1);
  await ending;
  assert.equal(it.calls[0]!.signal.aborted, true);
  await it.settle(made);
  assert.deepEqual([it.made, it.gone], [[], ['m']]);
});

test('after a stall, too, an edit that is given up has its name by the end', async () => {
  const it = start({ message: 'm' });
  await it.show(long);
  const ending = it.growing.end();
  const [{ signal, settle }] = it.calls as [(typeof it.calls)[0]];
  // A library hands the result on from promise to promise, so it arrives some ticks late.
  const told = async (): Promise<void> => {
    for (let promises = 0; promises < 20; promises++) await Promise.resolve();
    settle({ kind: 'unseen', message: 'm?' });
  };
  signal.addEventListener('abort', () => void told());
  it.clock.pass(4_500);
  await ending;
  assert.deepEqual(it.made, ['m?']);
});

test('a message that may be there is known by what finds it, until it has been found', async () => {
  const it = start({ unseen: 'u' });
  await it.show(long);
  await it.settle({ kind: 'unseen', message: 'u' });
  assert.deepEqual(it.made, ['u']);
  it.clock.pass(1_500);
  await calls(it, 2);
  assert.deepEqual(it.shown()[1], ['u', long]);
  await it.settle(made);
  assert.deepEqual(it.made, ['u', 'm']);
});

test('where it can be found, a message that is made too late is the reply’s to find', async () => {
  const it = start({ unseen: 'u' });
  await it.show(long);
  const ending = it.growing.end();
  it.clock.pass(4_500);
  await ending;
  assert.deepEqual(it.made, ['u']);
  await it.settle(made);
  assert.deepEqual([it.made, it.gone], [['u'], []]);
});

test('what grows beyond one message is no reason for an edit', async () => {
  const it = start();
  await it.show('x'.repeat(100));
  await it.settle(made);
  for (const more of [1, 2]) {
    await it.show('x'.repeat(100 + more));
    it.clock.pass(1_500);
    await it.acted();
  }
  assert.equal(it.calls.length, 1);
  await it.show('another text');
  it.clock.pass(1_500);
  await calls(it, 2);
});

test('where there is no room it waits for it, and shows what is the newest then', async () => {
  const turn = Promise.withResolvers<boolean>();
  const it = start({ waitForRoom: () => turn.promise });
  await it.show(long);
  it.clock.pass(60_000);
  await it.show(`${long} more`);
  assert.equal(it.calls.length, 0);
  turn.resolve(true);
  await calls(it, 1);
  assert.deepEqual(it.shown(), [[null, `${long} more`]]);
  await it.settle(made);
  await it.show(`${long} and more`);
  it.clock.pass(1_499);
  await it.acted();
  assert.equal(it.calls.length, 1, 'its time goes by the call');
  it.clock.pass(1);
  await calls(it, 2);
});

test('room is asked for as for a first sight, until there was one', async () => {
  const asked: boolean[] = [];
  const it = start({ waitForRoom: (_, isFirst) => Promise.resolve(asked.push(isFirst) > 0) });
  await it.show(long);
  await it.settle({ kind: 'failed' });
  it.clock.pass(1_500);
  await calls(it, 2);
  await it.settle(made);
  await it.show(`${long} more`);
  it.clock.pass(1_500);
  await calls(it, 3);
  assert.deepEqual(asked, [true, true, false]);
});

test('a text that goes by itself is put again, and one that grows has its own time', async () => {
  const it = start({ repeatMs: 20_000 });
  await it.show(long);
  await it.settle({ kind: 'shown' });
  it.clock.pass(19_999);
  await it.acted();
  assert.equal(it.calls.length, 1);
  it.clock.pass(1);
  await calls(it, 2);
  await it.settle({ kind: 'shown' });
  await it.show(`${long} more`);
  it.clock.pass(1_500);
  await calls(it, 3);
  await it.settle({ kind: 'shown' });
  assert.deepEqual(it.shown(), [
    [null, long],
    [null, long],
    [null, `${long} more`],
  ]);
  await it.growing.end();
  it.clock.pass(60_000);
  await it.acted();
  assert.equal(it.calls.length, 3);
});

test('a text beyond one message is put again, too, before it goes', async () => {
  const it = start({ repeatMs: 20_000 });
  await it.show('x'.repeat(100));
  await it.settle({ kind: 'shown' });
  it.clock.pass(2_000);
  await it.show('x'.repeat(101));
  assert.equal(it.calls.length, 1);
  it.clock.pass(18_000);
  await calls(it, 2);
  await it.settle({ kind: 'shown' });
  it.clock.pass(20_000);
  await calls(it, 3);
  await it.settle({ kind: 'shown' });
  await it.growing.end();
});

test('its end waits for no room', async () => {
  const it = start({
    waitForRoom: (signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(false))),
  });
  await it.show(long);
  await it.growing.end();
  assert.deepEqual([it.calls.length, it.made], [0, []]);
});

test('what the platform bears only later is made as soon as it does', async () => {
  const it = start();
  await it.show(long);
  await it.settle({ kind: 'busy', ms: 300 });
  it.clock.pass(299);
  await it.acted();
  assert.equal(it.calls.length, 1);
  it.clock.pass(1);
  await calls(it, 2);
});

test('a message which an edit may still reach has another name from then on', async () => {
  const it = start({ message: 'm' });
  await it.show(long);
  await it.settle({ kind: 'unseen', message: 'm?' });
  assert.deepEqual(it.made, ['m?']);
  it.clock.pass(1_500);
  await calls(it, 2);
  assert.equal(it.shown()[1]![0], 'm?');
  await it.settle({ kind: 'unseen', message: 'm?' });
  assert.deepEqual(it.made, ['m?']);
});
