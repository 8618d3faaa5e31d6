import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeText } from '../../../src/domain/ids.ts';
import { Pace } from './pace.ts';

const minuteMs = 60_000;

test('a message counts in its own minute, though its event comes in the next one', () => {
  const pace = new Pace(2);
  const nextAt = Math.ceil((Date.now() + 1) / minuteMs) * minuteMs;
  pace.heard(`${timeText(nextAt - 1)}${'0'.repeat(12)}`);
  assert.deepEqual(
    pace.minutesUntil(nextAt + 5).map(({ messages }) => messages),
    [null, 0],
  );
  pace.heard(`${timeText(nextAt)}${'0'.repeat(12)}`);
  assert.equal(pace.minutesUntil(nextAt + 5).at(-1)!.messages, 1);
});
