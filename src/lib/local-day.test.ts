import assert from 'node:assert/strict';
import { test } from 'node:test';
import { daysBetween, localDay, localDayBefore, localTime, nextMidnight } from './local-day.ts';

/** Tests share their process, so this restores the time zone. */
function inZone(zone: string, check: () => void): void {
  const before = process.env['TZ'];
  process.env['TZ'] = zone;
  try {
    check();
  } finally {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  }
}

const hourMs = 3_600_000;

test('a day ends at the midnight of this machine, also where it has 23 or 25 hours', () => {
  inZone('Europe/Berlin', () => {
    for (const [month, day, hours] of [
      [3, 29, 23],
      [10, 25, 25],
      [11, 27, 24],
    ] as const) {
      const begins = new Date(2026, month - 1, day).getTime();
      const ends = nextMidnight(begins);
      assert.equal((ends - begins) / hourMs, hours);
      const name = `2026-${String(month).padStart(2, '0')}-${day}`;
      for (let at = begins; at < ends; at += hourMs) {
        assert.equal(localDay(at), name);
        assert.equal(nextMidnight(at), ends);
      }
      assert.notEqual(localDay(ends), name);
      assert.equal(localTime(ends), '00:00');
    }
  });
});

test('where clocks skip midnight the day begins after it', () => {
  inZone('America/Sao_Paulo', () => {
    const ends = nextMidnight(new Date(2018, 10, 3, 12).getTime());
    assert.deepEqual([localDay(ends), localTime(ends)], ['2018-11-04', '01:00']);
    assert.equal(localDay(ends - 1), '2018-11-03');
  });
});

test('days before are named over the ends of months and years', () => {
  const newYear = new Date(2026, 0, 1, 0, 0, 1).getTime();
  assert.equal(localDayBefore(newYear, 1), '2025-12-31');
  assert.equal(localDayBefore(new Date(2026, 2, 1, 23, 59).getTime(), 29), '2026-01-31');
  assert.equal(daysBetween('2026-03-01', '2026-03-01'), 0);
  assert.equal(daysBetween('2025-12-31', '2026-12-31'), 365);
});
