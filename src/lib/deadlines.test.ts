import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../test/support/hand-clock.ts';
import { within } from '../../test/support/waiting.ts';
import { later, steadyNow } from './clock.ts';
import { createDeadlines } from './deadlines.ts';

test('deadlines act in the order of their times, each once', async () => {
  const deadlines = createDeadlines();
  const acted: number[] = [];
  const start = steadyNow();

  await acting((resolve) => {
    // One start for all: time passes between two of these lines.
    for (const ms of [9, 3, 6, 1, 12]) {
      deadlines.at(later(start, ms), () => {
        acted.push(ms);
        if (acted.length === 5) resolve();
      });
    }
  });
  assert.deepEqual(acted, [1, 3, 6, 9, 12]);
  assert.equal(deadlines.size, 0);
});

test('a cancelled deadline never acts, and one in the past acts at once', async () => {
  const deadlines = createDeadlines();
  let acted = 0;
  const cancelled = deadlines.after(1, () => acted++);
  cancelled.cancel();
  cancelled.cancel();
  await acting((resolve) => {
    deadlines.after(-1_000, resolve);
  });
  await acting((resolve) => {
    deadlines.after(5, resolve);
  });
  assert.equal(acted, 0);
});

test('cancelling what has acted already counts nothing twice', async () => {
  const deadlines = createDeadlines();
  const far = deadlines.after(60_000, () => {});
  let acted = { cancel(): void {} };
  await acting((resolve) => (acted = deadlines.after(0, resolve)));
  acted.cancel();
  assert.equal(deadlines.size, 1);
  far.cancel();
  assert.equal(deadlines.size, 0);
});

test('a deadline set by a deadline acts too', async () => {
  const deadlines = createDeadlines();
  const order: string[] = [];
  await acting((resolve) => {
    deadlines.after(1, () => {
      order.push('outer');
      deadlines.after(0, () => {
        order.push('inner');
        resolve();
      });
    });
  });
  assert.deepEqual(order, ['outer', 'inner']);
});

test('many deadlines set and cancelled leave nothing behind, and the rest still act', async () => {
  const { deadlines, ...clock } = handClock();
  const far = Array.from({ length: 10_000 }, (_, index) =>
    deadlines.after(1_000_000 + index, () => assert.fail('a far one acted')),
  );
  assert.equal(deadlines.size, 10_000);
  let acted = 0;
  const near = acting((resolve) => {
    for (let i = 0; i < 3; i++) {
      deadlines.after(5 + i, () => {
        acted++;
        if (acted === 3) resolve();
      });
    }
  });
  for (const one of far) one.cancel();
  assert.equal(deadlines.size, 3);
  clock.pass(10);
  await near;
  assert.equal(acted, 3);
  assert.equal(deadlines.size, 0);
});

/** The timer of the deadlines lets the process end, so this waiting must keep it alive. */
const acting = (start: (acted: () => void) => void): Promise<void> =>
  within('a deadline that acts', new Promise((resolve) => start(resolve)));
