import assert from 'node:assert/strict';
import { test } from 'node:test';
import { later, type SteadyTime } from '../lib/clock.ts';
import { OpenCalls } from './call-meters.ts';

function start() {
  let time = 1_000_000 as SteadyTime;
  const calls = new OpenCalls();
  return {
    calls,
    pass: (ms: number): void => void (time = later(time, ms)),
    begin: (many = 1): void => {
      for (let one = 0; one < many; one++) calls.began(time);
    },
    end: (shows = true): void => calls.ended(shows, time),
    answer: (ms: number): void => {
      calls.answered(ms, time);
      calls.ended(true, time);
    },
    silent: () => calls.silentMs(time),
  };
}

test('of three open calls none ends for ten seconds, where answers took far less', () => {
  const it = start();
  it.begin();
  it.answer(400);
  it.pass(60_000);
  it.begin(3);
  it.pass(9_999);
  assert.equal(it.silent(), null);
  it.pass(1);
  assert.equal(it.silent(), 10_000);
  it.end();
  assert.equal(it.silent(), null, 'one came to its end');
});

test('a slow model is given four times as long as its slowest answer of the last minutes', () => {
  const it = start();
  it.begin();
  it.answer(25_000);
  it.begin(3);
  it.pass(99_999);
  assert.equal(it.silent(), null);
  it.pass(1);
  assert.equal(it.silent(), 100_000);
  it.pass(500_000);
  it.end();
  it.begin();
  it.pass(59_999);
  assert.equal(it.silent(), null);
  it.pass(1);
  assert.equal(it.silent(), 60_000, 'how slow it was is forgotten');
});

test('one call, or a model that has not answered yet, is given a minute', () => {
  const alone = start();
  alone.begin();
  alone.answer(400);
  alone.begin(2);
  alone.pass(59_999);
  assert.equal(alone.silent(), null);
  alone.pass(1);
  assert.equal(alone.silent(), 60_000);
  const fresh = start();
  fresh.begin(9);
  fresh.pass(59_999);
  assert.equal(fresh.silent(), null);
  fresh.pass(1);
  assert.equal(fresh.silent(), 60_000);
});

test('a call that is given up shows nothing, and nothing that is not asked is silent', () => {
  const it = start();
  it.begin();
  it.answer(1);
  it.begin(4);
  it.pass(9_000);
  it.end(false);
  it.pass(1_000);
  assert.equal(it.silent(), 10_000);
  for (let one = 0; one < 3; one++) it.end(false);
  assert.equal(it.silent(), null);
  it.pass(500_000);
  it.begin(3);
  assert.equal(it.silent(), null);
});
