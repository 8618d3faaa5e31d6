import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runs } from '../../test/support/runs.ts';
import { FollowingClock, type ClockReading, type SteadyTime } from './clock.ts';

/**
 * The clocks of a machine whose time of day can be set forward; both continue only when the test
 * says so.
 */
function machine(now = 1_000_000) {
  let at = 500;
  let wall = now;
  return {
    own: { now: () => wall, steady: () => at as SteadyTime },
    pass(ms: number): void {
      at += ms;
      wall += ms;
    },
    set: (to: number): void => void (wall = to),
    /** A reading of another clock that took this many milliseconds. */
    reading: (there: number, tookMs: number): ClockReading => {
      return { now: there, askedAt: (at - tookMs) as SteadyTime, answeredAt: at as SteadyTime };
    },
  };
}

test('until another clock is read it tells its own time', () => {
  const it = machine();
  const clock = new FollowingClock(it.own);
  it.pass(10);
  assert.equal(clock.now(), 1_000_010);
  it.set(5);
  assert.equal(clock.now(), 5);
});

test('it goes on from the time of another clock, whatever its own is set to', () => {
  const it = machine();
  const clock = new FollowingClock(it.own);
  assert.equal(clock.follow(it.reading(1_300_000.5, 0)), 300_000 - 0.5);
  assert.ok(Math.abs(clock.now() - 1_300_000) <= 1);
  const before = clock.now();
  it.pass(1_000);
  it.set(0);
  assert.equal(clock.now(), before + 1_000);
  assert.ok(Number.isInteger(clock.now()));
});

test('a reading moves it by no more than it calls for', () => {
  const it = machine();
  const clock = new FollowingClock(it.own);
  clock.follow(it.reading(1_000_000, 0));
  const was = clock.now();
  // The reading was made somewhere in these ten seconds.
  clock.follow(it.reading(995_000, 10_000));
  assert.equal(clock.now(), was);
  clock.follow(it.reading(989_000, 10_000));
  assert.equal(clock.now(), 999_000);
  clock.follow(it.reading(1_060_000, 10_000));
  assert.equal(clock.now(), 1_059_999);
});

test('how far the other one is away is told only as far as it is sure', () => {
  const it = machine();
  const clock = new FollowingClock(it.own);
  assert.equal(clock.follow(it.reading(1_000_000, 0)), 0);
  assert.equal(clock.follow(it.reading(996_000, 10_000)), 0);
  assert.equal(clock.follow(it.reading(985_000, 10_000)), -5_000);
  assert.equal(clock.follow(it.reading(1_005_000, 10_000)), 4_999);
});

test('whatever readings take, both ends of them bound how wrong it is', () => {
  for (let run = 0; run < runs(50); run++) {
    const it = machine();
    const clock = new FollowingClock(it.own);
    const ahead = (Math.random() - 0.5) * 600_000;
    let least = Infinity;
    for (let heartbeat = 0; heartbeat < 20; heartbeat++) {
      const took = Math.floor(Math.random() * 200);
      const [before, after] = [Math.floor(Math.random() * (took + 1)), took];
      it.pass(took);
      clock.follow(it.reading(it.own.now() - after + before + ahead, took));
      least = Math.min(least, took);
      const wrong = Math.abs(clock.now() - (it.own.now() + ahead));
      assert.ok(wrong <= least + 2, `${wrong} ms, ${least} ms`);
      it.pass(1_000);
    }
  }
});
