import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from './proof.ts';
import { growthOf } from './soak/flatness.ts';

const seed = Number(process.env['SVC_SEED'] ?? Date.now() % 1_000_000);

const allowed = { growth: 5, share: 0.05 };
const random = seeded(seed);
/** A figure of 100 with a saw on it, as a heap has. */
const saw = (i: number): number => 100 + (i % 3) * 12 + random() * 4;
const samples = (of: (i: number) => number): number[] =>
  Array.from({ length: 80 }, (_, i) => of(i));

test(`what is flat is called flat (seed ${seed})`, () => {
  const flat: Record<string, (i: number) => number> = {
    'nothing moves': () => 7,
    'a saw': saw,
    'warming up': (i) => saw(i) + Math.min(i, 15) * 10,
    'one odd sample': (i) => saw(i) + (i === 70 ? 900 : 0),
    'it shrinks': (i) => saw(i) - i / 2,
  };
  for (const [name, of] of Object.entries(flat)) {
    assert.ok(growthOf(samples(of), allowed).flat, name);
  }
});

test(`a leak is called one (seed ${seed})`, () => {
  const leaks: Record<string, (i: number) => number> = {
    'a little each time': (i) => saw(i) + i / 5,
    'much each time': (i) => saw(i) + i * 20,
    'in steps': (i) => saw(i) + Math.floor(i / 15) * 4,
    'only at the end': (i) => saw(i) + Math.max(0, i - 45) * 2,
    'one handle in ten': (i) => 40 + Math.floor(i / 4),
  };
  for (const [name, of] of Object.entries(leaks)) {
    assert.ok(!growthOf(samples(of), allowed).flat, name);
  }
});
