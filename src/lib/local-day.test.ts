import assert from 'node:assert/strict';
import { test } from 'node:test';
import { daysBetween, localDay } from './local-day.ts';

test('a day is named in the zone of the machine, over the ends of months and years', () => {
  assert.equal(localDay(new Date(2026, 0, 1, 0, 0, 1).getTime()), '2026-01-01');
  assert.equal(localDay(new Date(2026, 0, 1, 0, 0, 1).getTime(), 1), '2025-12-31');
  assert.equal(localDay(new Date(2026, 2, 1, 23, 59).getTime(), 29), '2026-01-31');
});

test('days between two are whole, whatever clocks were set meanwhile', () => {
  assert.equal(daysBetween('2026-03-01', '2026-03-01'), 0);
  assert.equal(daysBetween('2025-12-31', '2026-12-31'), 365);
});
