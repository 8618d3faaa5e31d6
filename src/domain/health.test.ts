import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runs } from '../../test/support/runs.ts';
import {
  emptyWindow,
  nextHealth,
  healthOfAll,
  sinceOf,
  type Evidence,
  type HealthLevel,
} from './health.ts';

/** Evidence for a state that has lasted long, so that only the results keep it there. */
const seen = (evidence: Partial<Evidence>): Evidence => ({
  ...emptyWindow,
  run: -1,
  runMs: 0,
  heldMs: 600_000,
  isSure: false,
  troubledFrom: 0.2,
  ...evidence,
});
const span = (good: number, bad: number) => ({ good, bad });
const both = (good: number, bad: number) => ({
  minute: span(good, bad),
  fiveMinutes: span(good, bad),
});

const table: readonly (readonly [string, HealthLevel, Partial<Evidence>, HealthLevel])[] = [
  ['the first that goes well', 'unknown', { ...both(1, 0), run: 1 }, 'up'],
  ['the first that fails', 'unknown', both(0, 1), 'degraded'],
  ['two of two that fail', 'degraded', { ...both(0, 2), run: -2 }, 'failing'],
  ['the first, for a reason that lasts', 'unknown', { ...both(0, 1), isSure: true }, 'failing'],
  ['one for such a reason, after others', 'up', { ...both(5, 1), isSure: true }, 'up'],
  ['one in ten, of many', 'up', both(90, 10), 'up'],
  ['one in ten, where few are too many', 'up', { ...both(90, 10), troubledFrom: 0.05 }, 'degraded'],
  ['one in thirty, where few are too many', 'up', { ...both(58, 2), troubledFrom: 0.05 }, 'up'],
  ['one of two, for such a reason', 'up', { ...both(1, 1), isSure: true }, 'degraded'],
  [
    'two in a row, for such a reason',
    'degraded',
    { ...both(1, 2), run: -2, isSure: true },
    'failing',
  ],
  ['two in a row of many', 'degraded', { ...both(20, 8), run: -2, isSure: true }, 'degraded'],
  ['the only one in five minutes', 'up', both(0, 1), 'degraded'],
  ['one among few', 'up', both(4, 1), 'up'],
  ['two among few', 'up', both(5, 2), 'degraded'],
  ['one in ten of many', 'up', both(90, 10), 'up'],
  ['one in five of many', 'up', both(80, 20), 'degraded'],
  [
    'one in five of five minutes, none but this of the last',
    'up',
    { minute: span(40, 1), fiveMinutes: span(100, 50) },
    'up',
  ],
  ['ten in a row at once', 'degraded', { ...both(40, 10), run: -10, runMs: 100 }, 'degraded'],
  [
    'ten in a row within eight seconds',
    'up',
    { ...both(60, 10), run: -10, runMs: 8_000 },
    'failing',
  ],
  [
    'three in a row, and nothing else in a minute',
    'up',
    { minute: span(0, 3), fiveMinutes: span(20, 3), run: -3 },
    'failing',
  ],
  [
    'two in a row, of which it had some before',
    'degraded',
    { ...both(3, 4), run: -2, isSure: true },
    'degraded',
  ],
  [
    'three in a row, of which it had some before',
    'degraded',
    { ...both(3, 5), run: -3, isSure: true },
    'failing',
  ],
  ['one of three that goes well', 'failing', { ...both(20, 40), run: 1 }, 'degraded'],
  ['nine of ten that fail', 'degraded', both(1, 9), 'failing'],
  ['eight of ten that fail', 'degraded', both(2, 8), 'degraded'],
  ['one that goes well after many', 'failing', { ...both(1, 20), run: 1 }, 'failing'],
  ['five that go well after many', 'failing', { ...both(5, 60), run: 5 }, 'degraded'],
  ['one that goes well after one', 'failing', { ...both(1, 1), run: 1 }, 'degraded'],
  ['it only just began', 'failing', { ...both(5, 60), run: 5, heldMs: 29_999 }, 'failing'],
  [
    'ten in a row of mostly such',
    'degraded',
    { ...both(20, 40), run: -10, runMs: 9_000 },
    'degraded',
  ],
  ['twenty in a row of such', 'degraded', { ...both(20, 50), run: -20, runMs: 19_000 }, 'failing'],
  ['three that go well, after a minute', 'degraded', { ...both(3, 0), run: 3 }, 'up'],
  ['two that go well, after a minute', 'degraded', { ...both(2, 0), run: 2 }, 'up'],
  ['two that go well, one failed', 'degraded', { ...both(2, 1), run: 2 }, 'degraded'],
  ['one that goes well, after a minute', 'degraded', { ...both(1, 0), run: 1 }, 'degraded'],
  ['three within fifteen seconds', 'up', { ...both(20, 3), run: -3, runMs: 15_000 }, 'failing'],
  ['three in less', 'up', { ...both(20, 3), run: -3, runMs: 14_000 }, 'up'],
  [
    'three within fifteen seconds, after others',
    'degraded',
    { ...both(20, 6), run: -3, runMs: 15_000 },
    'degraded',
  ],
  ['three that go well, one failed', 'degraded', { ...both(3, 1), run: 3 }, 'degraded'],
  ['many that go well, one failed', 'degraded', { ...both(60, 1), run: 30 }, 'up'],
];

for (const [name, was, evidence, then] of table) {
  test(`${was}: ${name}: ${then}`, () => {
    assert.equal(nextHealth(was, seen(evidence)), then);
  });
}

test('since stays while a trouble eases, and never moves back', () => {
  const failing = { standing: 'failing', since: 100 } as const;
  assert.equal(sinceOf('failing', failing, 200), 100);
  assert.equal(sinceOf('degraded', failing, 200), 100);
  assert.equal(sinceOf('up', failing, 200), 200);
  assert.equal(sinceOf('failing', { standing: 'degraded', since: 100 }, 200), 200);
  assert.equal(sinceOf('failing', { standing: 'up', since: 100 }, 90), 100, 'silent for long');
});

test('a whole fails where all that is known of it does, and what is unknown shows nothing', () => {
  assert.equal(healthOfAll([]), 'unknown');
  assert.equal(healthOfAll(['unknown', 'up']), 'up');
  assert.equal(healthOfAll(['failing', 'unknown', 'failing']), 'failing');
  assert.equal(healthOfAll(['failing', 'up']), 'degraded');
  assert.equal(healthOfAll(['degraded']), 'degraded');
});

/** Ends one call after the other, and returns the times when the health changed. */
function changesOf(
  calls: readonly { readonly isGood: boolean; readonly at: number }[],
  isSure = false,
) {
  let standing: HealthLevel = 'unknown';
  let [run, runAt, changedAt] = [0, 0, 0];
  const changes: number[] = [];
  const path: HealthLevel[] = [];
  for (const [index, { isGood, at }] of calls.entries()) {
    const within = (ms: number) => {
      let [good, bad] = [0, 0];
      for (let i = index; i >= 0 && calls[i]!.at > at - ms; i--) {
        if (calls[i]!.isGood) good++;
        else bad++;
      }
      return { good, bad };
    };
    if (run > 0 !== isGood || run === 0) [run, runAt] = [0, at];
    run += isGood ? 1 : -1;
    const then = nextHealth(standing, {
      minute: within(60_000),
      fiveMinutes: within(300_000),
      run,
      runMs: at - runAt,
      heldMs: at - changedAt,
      isSure: isSure && !isGood,
      troubledFrom: 0.2,
    });
    if (then === standing) continue;
    [standing, changedAt] = [then, at];
    changes.push(at);
    path.push(then);
  }
  return { standing, changes, path };
}

const stream = (many: number, everyMs: number, isGood: (n: number) => boolean) =>
  Array.from({ length: many }, (_, n) => ({ isGood: isGood(n), at: n * everyMs }));

test('what fails every second time changes once from what it was at first', () => {
  for (const everyMs of [10, 100, 1_000, 5_000, 70_000, 400_000]) {
    for (const first of [true, false]) {
      const result = changesOf(stream(300, everyMs, (n) => (n % 2 === 0) === first));
      assert.ok(result.changes.length <= 2, `${everyMs} ${result.path.join(' ')}`);
      assert.equal(result.standing, 'degraded');
    }
  }
});

test('what answers every third call comes to fail at some calls, and stays so', () => {
  for (const everyMs of [10, 100, 1_000, 5_000, 20_000, 60_000]) {
    for (const isSure of [true, false]) {
      const result = changesOf(
        stream(300, everyMs, (n) => n % 3 === 2),
        isSure,
      );
      const path = `${everyMs} ${isSure} ${result.path.join(' ')}`;
      assert.equal(result.standing, 'degraded', path);
      assert.ok(result.changes.length <= 3, path);
    }
  }
});

test('what few calls showed is taken back at the first answer', () => {
  const result = changesOf(stream(3, 100, (n) => n === 2));
  assert.deepEqual(result.path, ['degraded', 'failing', 'degraded']);
});

test('however it goes, within 30 seconds it changes a few times at most', () => {
  for (let run = 0; run < runs(200); run++) {
    const everyMs = 10 + Math.random() * 3_000;
    // The share of failures changes now and then.
    let share = Math.random();
    const { changes } = changesOf(
      stream(400, everyMs, () => {
        if (Math.random() < 0.02) share = Math.random();
        return Math.random() >= share;
      }),
    );
    for (const [n, at] of changes.entries()) {
      const sixth = changes[n + 6];
      assert.ok(sixth === undefined || sixth - at > 30_000, changes.join(' '));
    }
  }
});

test('what fails with a share that stays as it is hardly ever changes', () => {
  let [many, changed] = [0, 0];
  for (let run = 0; run < runs(60); run++) {
    const share = Math.random();
    const { changes } = changesOf(stream(600, 1_000, () => Math.random() >= share));
    many++;
    // After the first minute there are enough results.
    changed += changes.filter((at) => at > 60_000).length;
  }
  assert.ok(changed / many < 3, `${changed} changes in nine minutes of ${many}`);
});

test('what goes down is seen within 10 seconds at one call a second, and is back in 75', () => {
  const result = changesOf(stream(600, 1_000, (n) => n < 200 || n >= 400));
  assert.deepEqual(result.path, ['up', 'failing', 'degraded', 'up']);
  const [, down, better, up] = result.changes as [number, number, number, number];
  assert.ok(down - 200_000 <= 10_000, `${down}`);
  assert.ok(better - 400_000 <= 10_000, `${better}`);
  assert.ok(up - 400_000 <= 75_000, `${up}`);
});
