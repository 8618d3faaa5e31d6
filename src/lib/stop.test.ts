import { deepEqual, equal } from 'node:assert/strict';
import { test } from 'node:test';
import { patienceMs } from '../../test/support/waiting.ts';
import { type Stop, stopOf, stoppedAfter, Stopper } from './stop.ts';

type Made = { readonly stop: Stop; readonly say: (reason?: unknown) => void };

const kinds: Readonly<Record<string, () => Made>> = {
  'a stopper': () => {
    const stopper = new Stopper();
    return { stop: stopper, say: (reason) => stopper.stop(reason) };
  },
  'a real signal': () => {
    const controller = new AbortController();
    return { stop: stopOf(controller.signal), say: (reason) => controller.abort(reason) };
  },
};

for (const [kind, make] of Object.entries(kinds)) {
  test(`${kind} calls once all who listen, in their order`, () => {
    const { stop, say } = make();
    const heard: string[] = [];
    stop.listen(() => heard.push('first'));
    stop.listen(() => heard.push(`second, ${stop.stopped}`));
    equal(stop.stopped, false);
    say();
    say();
    deepEqual(heard, ['first', 'second, true']);
    equal(stop.stopped, true);
  });

  test(`${kind} does not call who has left, also while it calls the others`, () => {
    const { stop, say } = make();
    const heard: string[] = [];
    const [left, last] = [() => void heard.push('left'), () => void heard.push('last')];
    stop.listen(left);
    stop.listen(() => {
      heard.push('first');
      stop.unlisten(last);
    });
    stop.listen(last);
    stop.unlisten(left);
    say();
    stop.unlisten(left);
    deepEqual(heard, ['first']);
  });

  test(`${kind} does not call who listens afterwards`, () => {
    const { stop, say } = make();
    const heard: string[] = [];
    stop.listen(() => stop.listen(() => heard.push('inside')));
    say();
    stop.listen(() => heard.push('afterwards'));
    say();
    deepEqual(heard, []);
  });

  test(`${kind} gives one real signal, which tells the reason`, () => {
    const { stop, say } = make();
    const { signal } = stop;
    const heard: unknown[] = [];
    signal.addEventListener('abort', () => heard.push(signal.reason, stop.stopped));
    equal(signal.aborted, false);
    say('the reason');
    deepEqual(heard, ['the reason', true]);
    equal(stop.signal, signal);
  });

  test(`${kind} gives a real signal afterwards, too`, () => {
    const { stop, say } = make();
    say('the reason');
    equal(stop.signal.aborted, true);
    equal(stop.signal.reason, 'the reason');
  });
}

/** Resolves with 'stopped' once the stop happens. */
const untilStopped = (stop: Stop): Promise<string> =>
  new Promise((resolve) => {
    if (stop.stopped) resolve('stopped');
    stop.listen(() => resolve('stopped'));
  });

test('what has a time is stopped when it is over', async () => {
  equal(await stoppedAfter(1, new Stopper(), untilStopped), 'stopped');
  equal(await stoppedAfter(-1, new Stopper(), untilStopped), 'stopped');
});

test('what has a time is stopped with all around it, and listens until its end', async () => {
  const outer = new Stopper();
  let inner: Stop | undefined;
  await stoppedAfter(patienceMs, outer, async (stop) => void (inner = stop));
  const running = stoppedAfter(patienceMs, outer, untilStopped);
  outer.stop();
  equal(await running, 'stopped');
  equal(inner!.stopped, false);
  equal(await stoppedAfter(patienceMs, outer, untilStopped), 'stopped');
});
