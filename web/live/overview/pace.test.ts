import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { timeText } from '../../../src/domain/ids.ts';
import { Pace } from './pace.ts';

const minuteMs = 60_000;
const nextAt = 1_000 * minuteMs;

function paceBefore(t: TestContext): Pace {
  t.mock.timers.enable({ apis: ['Date'], now: nextAt - 1_000 });
  return new Pace(2);
}

const idAt = (at: number): string => `${timeText(at)}${'0'.repeat(12)}`;

test('a message counts in its own minute, though its event comes in the next one', (t) => {
  const pace = paceBefore(t);
  pace.heard({ id: idAt(nextAt - 1), at: nextAt + 1 });
  assert.deepEqual(
    pace.minutesUntil(nextAt + 5).map(({ messages }) => messages),
    [null, 0],
  );
  pace.heard({ id: idAt(nextAt), at: nextAt + 2 });
  assert.equal(pace.minutesUntil(nextAt + 5).at(-1)!.messages, 1);
});

test('a message counts in the minute of its event where the clock was set back', (t) => {
  const pace = paceBefore(t);
  pace.heard({ id: idAt(nextAt + 60 * minuteMs), at: nextAt + 1 });
  assert.equal(pace.minutesUntil(nextAt + 5).at(-1)!.messages, 1);
});
