/** The verdicts of the bench's gate on invented rounds with known results. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  figureOf,
  isInDoubt,
  judge,
  type Judged,
  type Pair,
  verdictOf,
} from '../../bench/budget.ts';

/** Starts of servers with a known ratio and the noise of a machine in use. */
function launches(ratio: number, seed: number, { rounds = 0.12, starts = 0.015 } = {}) {
  const draw = normalBy(seed);
  return Array.from({ length: 4 }, () => {
    const luck = Math.exp(starts * draw());
    return Array.from({ length: 40 }, (): Pair => {
      const machine = 80 * Math.exp(0.3 * draw());
      const disturbed = Math.exp(rounds * draw());
      return { svcUs: ratio * luck * machine * disturbed, floorUs: machine };
    });
  });
}

/** Numbers of a normal distribution, the same for the same seed. */
function normalBy(seed: number): () => number {
  let state = seed * 2_654_435 + 1;
  const next = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  return () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next());
}

const kept = { ratio: 1.5, noise: 0.01 };
const seeds = Array.from({ length: 200 }, (_, at) => at + 1);
const kindsAt = (ratio: number): Record<string, number> => {
  const kinds = seeds.map((seed) => judge(figureOf(launches(ratio, seed)), kept).kind);
  return Object.fromEntries(
    Object.entries(Object.groupBy(kinds, (kind) => kind)).map(([kind, of]) => [kind, of.length]),
  );
};

test('what costs as much as it did is not found worse', () => {
  assert.deepEqual(kindsAt(1.5), { within: 200 });
});

test('what costs a tenth more is found worse, and a tenth less better, nine times in ten', () => {
  const [more, less] = [kindsAt(1.65), kindsAt(1.35)];
  assert.ok(more['worse']! >= 180, JSON.stringify(more));
  assert.ok(less['better']! >= 180, JSON.stringify(less));
});

test('a ratio is the same on a machine that is slow, and slower as it goes on', () => {
  const slower = launches(1.5, 1).map((pairs, start) =>
    pairs.map(({ svcUs, floorUs }, at) => {
      const slow = 2 + start + at / 10;
      return { svcUs: svcUs * slow, floorUs: floorUs * slow };
    }),
  );
  const [then, now] = [figureOf(launches(1.5, 1)), figureOf(slower)];
  assert.ok(Math.abs(then.ratio / now.ratio - 1) < 1e-9);
  assert.ok(Math.abs(then.noise - now.noise) < 1e-9);
});

test('rounds that something disturbed move a ratio little, one in five of them', () => {
  const disturbed = launches(1.5, 2).map((pairs) =>
    pairs.map((pair, at) => (at % 5 === 0 ? { ...pair, svcUs: pair.svcUs * 20 } : pair)),
  );
  const now = figureOf(disturbed);
  assert.ok(now.ratio < 1.5 * 1.06, String(now.ratio));
  assert.ok(now.noise < 0.03, String(now.noise));
});

test('a figure is no surer than its starts agree', () => {
  const steady = (ratio: number): Pair[] =>
    Array.from({ length: 40 }, () => ({ svcUs: 80 * ratio, floorUs: 80 }));
  const apart = figureOf([steady(1.35), steady(1.65), steady(1.35), steady(1.65)]);
  assert.ok(Math.abs(apart.noise - 0.0579) < 0.001, String(apart.noise));
  assert.equal(judge({ ...apart, ratio: 1.6 }, kept).kind, 'too-noisy');
});

test('nor surer than its rounds agree, though the starts do', () => {
  const [first] = launches(1.5, 3, { rounds: 0.4, starts: 0 });
  const { noise } = figureOf([first!, first!, first!, first!]);
  assert.ok(Math.abs(noise - (1.2 * 0.4) / Math.sqrt(160)) < 0.01, String(noise));
});

test('and never surer than some', () => {
  const same = Array.from({ length: 4 }, () => [{ svcUs: 120, floorUs: 80 }]);
  assert.deepEqual(figureOf(same), { ratio: figureOf(same).ratio, noise: 0.01 });
  assert.equal(judge(figureOf(same), { ratio: 1.46, noise: 0.01 }).kind, 'within');
});

test('where chance could be a tenth, no change is told from it but a larger one', () => {
  const noisy = { noise: 0.05 };
  assert.equal(judge({ ...noisy, ratio: 1.5 }, kept).kind, 'too-noisy');
  assert.equal(judge({ ...noisy, ratio: 1.65 }, kept).kind, 'too-noisy');
  assert.equal(judge({ ...noisy, ratio: 1.95 }, kept).kind, 'worse');
});

test('only what is a little worse is measured again', () => {
  const isAgain = (ratio: number) => isInDoubt(judge({ ratio, noise: 0.01 }, kept));
  assert.deepEqual([1.5, 1.58, 1.7].map(isAgain), [false, true, false]);
});

test('the change is the share by which the ratio grew', () => {
  const judged = judge({ ratio: 1.65, noise: 0.03 }, { ratio: 1.5, noise: 0.04 });
  assert.ok(Math.abs(judged.change - 0.1) < 1e-9);
  assert.ok(Math.abs(judged.chance - 0.125) < 1e-9);
});

test('one that is worse is told before one that is better, with its change and the noise', () => {
  const of = (kind: Judged['kind'], change: number) => ({ kind, change, chance: 0.04 });
  const better = { name: 'stateless', of: of('better', -0.2) };
  const within = { name: 'durable', of: of('within', 0.01) };
  const worse = { name: 'durable', of: of('worse', 0.098) };
  const [since, keeps] = ['what was kept on a day', '`--gate --keep` keeps it'];
  assert.equal(verdictOf([within], 'a day'), `as ${since}.`);
  assert.equal(
    verdictOf([better, within], 'a day'),
    `better than ${since}: stateless by -20 % (chance: 4 %); ${keeps}.`,
  );
  assert.equal(
    verdictOf([better, worse], 'a day'),
    `WORSE than ${since}: durable by 9.8 % (chance: 4 %).`,
  );
  const noisy = { name: 'durable', of: { kind: 'too-noisy', change: 0.1, chance: 0.2 } as const };
  assert.equal(
    verdictOf([better, noisy], 'a day'),
    `no verdict, too noisy. Off ${since}: durable by 10 % (chance: 20 %).`,
  );
});
