import { hourMs, minuteMs } from '../../lib/durations.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bucket } from '../../telemetry/figures/counting.ts';
import { FigureRing } from './story-ring.ts';

const body = JSON.stringify(new Bucket(0).body());

test('a day of minutes and a month of hours are kept, and no more of them', async () => {
  const ring = new FigureRing();
  const days = 32;
  for (let at = 0; at < days * 24 * hourMs; at += minuteMs) {
    const hour = at - (at % hourMs);
    await ring.keep([
      { lengthMs: minuteMs, at, run: 1, body },
      { lengthMs: hourMs, at: hour, run: 1, body },
    ]);
    // A minute row for each minute would be slow: one an hour is enough here.
    if (at % hourMs === 0 && at < (days - 2) * 24 * hourMs) at += hourMs - minuteMs;
  }
  const until = days * 24 * hourMs;
  const own = { run: 2, first: 0, last: 0 };
  const many = async (lengthMs: typeof minuteMs | typeof hourMs): Promise<number> => {
    const asked = { lengthMs, stepMs: lengthMs, from: 0, until, own } as const;
    return (await ring.figures(asked)).steps.filter((step) => step !== null).length;
  };
  assert.equal(await many(minuteMs), 24 * 60);
  assert.equal(await many(hourMs), 30 * 24);
});
