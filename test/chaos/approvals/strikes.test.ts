import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deeds } from './life.ts';
import type { Scene } from './scene.ts';
import { Strikes } from './strikes.ts';

test('a question whose time is over is not struck again, however long its end takes', async () => {
  const deeds = new Deeds();
  const over = Promise.withResolvers<void>();
  let rounds = 0;
  const services = {
    instances: [{ faults: [], hold: () => () => {}, kill: () => Promise.resolve() }],
    async untilMayDie() {
      if (++rounds === 20) over.resolve();
    },
    passTime: () => Promise.resolve(),
  };
  const moments = { next: () => Promise.resolve(), note() {} };
  const scene = { random: () => 0, services, moments } as unknown as Scene;
  const parts = { scene, deeds, underWay: () => 1, betweenMs: 0, killsMax: 0 };
  const strikes = new Strikes(parts);
  let ended = 0;
  deeds.waiting.set(4, () => ended++);
  await strikes.until(over.promise);
  assert.deepEqual({ jumps: strikes.jumps, ended }, { jumps: 1, ended: 1 });
});
