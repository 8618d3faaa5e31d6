import assert from 'node:assert/strict';
import { test } from 'node:test';
import { daysNamed } from './days.ts';

/** A Wednesday. */
const now = new Date(2026, 11, 2, 15, 30);

function dayIn(search: string): string | null {
  const [found] = daysNamed(search, now);
  if (found === undefined) return null;
  const { since, until } = found.place;
  const [from, to] = [new Date(Number(since)), new Date(Number(until))];
  assert.equal(from.getHours() + to.getHours(), 0, 'from midnight to midnight');
  assert.equal(new Date(+to - 1).getDate(), from.getDate());
  return `${from.getFullYear()}-${from.getMonth() + 1}-${from.getDate()}`;
}

test('a search names a day by its distance, its weekday or its date', () => {
  for (const [search, day] of [
    ['today', '2026-12-2'],
    ['Yesterday', '2026-12-1'],
    ['last tuesday', '2026-12-1'],
    ['tue', '2026-12-1'],
    ['wednesday', '2026-11-25'],
    ['on thursday', '2026-11-26'],
    ['3 november', '2026-11-3'],
    ['3rd Nov.', '2026-11-3'],
    ['november 3', '2026-11-3'],
    ['24 december', '2025-12-24'],
    ['29 february 2024', '2024-2-29'],
    ['2026-11-03', '2026-11-3'],
    [' 2026-1-5 ', '2026-1-5'],
  ] as const) {
    assert.equal(dayIn(search), day, search);
  }
});

test('other words name no day', () => {
  for (const search of [
    '',
    'last',
    'last parcel',
    'tu',
    'tuesday parcel',
    'today tomorrow',
    '31 november',
    '0 november',
    '2026-13-01',
    '2026-12-24',
    '3 november 26',
    'marching 3 on',
    '3',
    'on',
  ]) {
    assert.equal(dayIn(search), null, search);
  }
});
