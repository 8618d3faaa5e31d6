/** Live events between instances: who sends them when, and how lost ones are reported. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { FakePeers } from '../../test/fake/peers.ts';
import { FakeView } from '../../test/fake/shared-view.ts';
import { handClock } from '../../test/support/hand-clock.ts';
import { until } from '../../test/support/waiting.ts';
import type { ChannelKey } from '../domain/ids.ts';
import { readLiveEvent } from '../admin/schemas/live-event.ts';
import { LiveEvents } from '../telemetry/live-events.ts';
import { LiveEventExchange, liveEventsMax } from './view.ts';

const times = { batchMs: 2, leaseMs: 600, graceMs: 400 };

class Bench implements Disposable {
  readonly members = new FakePeers();
  readonly shared = new FakeView();
  readonly clock = handClock(1_000_000);
  readonly #stack = new DisposableStack();

  /** One more instance, with access to its ring. */
  join(id: number, more: Partial<typeof times> = {}): LiveEvents {
    const peers = this.members.join(id);
    const hub = new LiveEvents(this.clock.now);
    const { shared, clock } = this;
    const parts = {
      ...clock,
      peers,
      view: shared.view,
      liveEvents: hub,
      liveEventOf: readLiveEvent,
    };
    this.#stack.use(new LiveEventExchange(parts, { ...times, ...more }));
    return hub;
  }

  [Symbol.dispose](): void {
    this.#stack.dispose();
  }
}

const hook = 'webhook' as ChannelKey;
const happen = (hub: LiveEvents, code: string): void => hub.messageRefused({ channel: hook, code });

/** The ring's events after that number, in short form. */
function told(hub: LiveEvents, after = 0): string[] {
  return Array.from({ length: hub.newest - after }, (_, n) => {
    const liveEvent = hub.at(after + n + 1)!;
    if (liveEvent.kind === 'dropped') return `dropped ${liveEvent.count}`;
    return liveEvent.kind === 'message_refused' ? liveEvent.code : liveEvent.kind;
  });
}

const has = (hub: LiveEvents, ...wanted: readonly string[]): Promise<void> =>
  until(`${wanted.join()} is told`, () => wanted.every((one) => told(hub).includes(one)));

test('while nobody listens nothing is told, and nothing asked', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  using bench = new Bench();
  const [one, other] = [bench.join(1), bench.join(2)];
  for (const hub of [one, other]) for (let n = 0; n < 50; n++) happen(hub, 'quiet');
  t.mock.timers.tick(10_000);
  await setImmediate();
  assert.deepEqual(bench.shared.asked, {});
  assert.deepEqual(bench.members.told, []);
});

test('who listens at one instance hears what happens at every one, in one order', async () => {
  using bench = new Bench();
  const [one, other, third] = [bench.join(1), bench.join(2), bench.join(3)];
  const leave = one.onLiveEvent(() => {});
  await has(one, 'dropped null');
  const after = one.newest;
  happen(other, 'a');
  await has(one, 'a');
  happen(one, 'b');
  happen(third, 'c');
  await has(one, 'c');
  assert.deepEqual(told(one, after), ['a', 'b', 'c']);
  assert.deepEqual(told(other), ['a'], 'where nobody listens there are only own frames');
  leave();
});

test('where there are several, each frame says of which one it is', async () => {
  using bench = new Bench();
  const one = bench.join(1);
  happen(one, 'alone');
  const other = bench.join(2);
  const leave = one.onLiveEvent(() => {});
  await has(one, 'dropped null');
  happen(one, 'own');
  for (let n = 0; n < liveEventsMax + 1; n++) happen(other, 'theirs');
  await has(one, 'dropped 1');
  const seen = Array.from({ length: one.newest }, (_, n) => one.at(n + 1)!);
  const instances = seen.map((liveEvent, n) => `${told(one)[n]} of ${liveEvent.instance}`);
  assert.deepEqual(
    [...new Set(instances)],
    ['alone of null', 'dropped null of null', 'own of 1', 'theirs of 2', 'dropped 1 of 2'],
  );
  leave();
});

test('what others did before they knew of a listener is told as missed, once', async () => {
  using bench = new Bench();
  const [one, other] = [bench.join(1), bench.join(2)];
  happen(other, 'before');
  const leave = one.onLiveEvent(() => {});
  await has(one, 'dropped null');
  for (const code of ['a', 'b']) {
    happen(other, code);
    await has(one, code);
  }
  const leases = bench.members.told.length;
  await until('the lease is told again', () => bench.members.told.length > leases + 1);
  assert.deepEqual(told(one), ['dropped null', 'a', 'b']);
  bench.join(3);
  await until('another one came, and is listened to', () => told(one).length === 4);
  assert.deepEqual(told(one, 3), ['dropped null']);
  leave();
});

test('one that comes back within seconds missed nothing; later it is told so', async () => {
  using bench = new Bench();
  const [one, other] = [bench.join(1, { graceMs: 60_000 }), bench.join(2)];
  const first = one.onLiveEvent(() => {});
  await has(one, 'dropped null');
  first();
  happen(other, 'a');
  await has(one, 'a');
  const again = one.onLiveEvent(() => {});
  happen(other, 'b');
  await has(one, 'b');
  assert.deepEqual(told(one), ['dropped null', 'a', 'b']);
  again();
});

test('one that comes back later is told that nobody knows what it missed', async () => {
  using bench = new Bench();
  const [one, other] = [bench.join(1, { graceMs: 1, leaseMs: 600_000 }), bench.join(2)];
  const first = one.onLiveEvent(() => {});
  await has(one, 'dropped null');
  first();
  const leases = bench.members.told.length;
  const left = one.newest;
  let again = (): void => {};
  await until('it begins to listen anew', () => {
    again = one.onLiveEvent(() => {});
    const isNew = bench.members.told.length > leases;
    if (!isNew) again();
    return isNew;
  });
  await until('it is told', () => one.newest > left);
  happen(other, 'a');
  await has(one, 'a');
  assert.deepEqual(told(one, left), ['dropped null', 'a']);
  again();
});

test('what happens faster than may be told is counted', async () => {
  using bench = new Bench();
  const [one, other] = [bench.join(1), bench.join(2)];
  const leave = one.onLiveEvent(() => {});
  await has(one, 'dropped null');
  for (let n = 0; n < liveEventsMax + 30; n++) happen(other, `f${n}`);
  await until('the rest is counted', () => told(one).some((what) => /dropped \d/.test(what)));
  const heard = told(one);
  const count = Number(heard.find((what) => /dropped \d/.test(what))!.split(' ')[1]);
  assert.equal(heard.filter((what) => what.startsWith('f')).length + count, liveEventsMax + 30);
  assert.ok(count > 0 && count <= 30, String(count));
  leave();
});

test('batches that could not be told, or came too late, are told as missed', async () => {
  using bench = new Bench();
  const [one, other] = [bench.join(1), bench.join(2)];
  const leave = one.onLiveEvent(() => {});
  await has(one, 'dropped null');
  happen(other, 'a');
  await has(one, 'a');
  const { shared } = bench;
  const tells = shared.asked['publishEvents']!;
  shared.way = Promise.reject(new Error('away'));
  shared.way.catch(() => {});
  happen(other, 'lost');
  await until('it could not be told', () => shared.asked['publishEvents'] === tells + 1);
  shared.way = Promise.resolve();
  happen(other, 'b');
  await has(one, 'b');
  assert.deepEqual(told(one, 1), ['a', 'dropped null', 'b']);
  leave();
});

test('an instance that nobody listens to any more is silent again', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const passes = async (): Promise<void> => {
    t.mock.timers.tick(10);
    await setImmediate();
  };
  using bench = new Bench();
  const [one, other] = [bench.join(1, { graceMs: 1, leaseMs: 3_000 }), bench.join(2)];
  const leave = one.onLiveEvent(() => {});
  await until('it is told', async () => {
    await passes();
    return told(one).includes('dropped null');
  });
  happen(other, 'heard');
  await until('a lot', async () => {
    await passes();
    return bench.shared.lots.length === 1;
  });
  leave();
  bench.clock.pass(700);
  await passes();
  happen(other, 'quiet');
  for (let count = 0; count < 10; count++) await passes();
  assert.equal(bench.shared.lots.length, 1);
});

test('frames of a kind that only a later release knows are left out', async () => {
  using bench = new Bench();
  const [one] = [bench.join(1), bench.join(2)];
  const leave = one.onLiveEvent(() => {});
  await has(one, 'dropped null');
  const { newest } = one;
  const known = { kind: 'message_refused', at: 1, channel: hook, code: 'a', more: 'of later' };
  const hub = [{ kind: 'of_later', at: 1 }, known, { kind: 'turn_started' }];
  bench.shared.lots.push({ instance: 2, n: 1, leftOut: 0, frames: JSON.stringify(hub) });
  await has(one, 'a');
  assert.deepEqual(told(one, newest), ['a']);
  assert.equal(JSON.stringify(one.at(one.newest)).includes('later'), false);
  leave();
});
