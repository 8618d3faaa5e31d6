import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterMs } from './backoff.ts';

test('Retry-After is seconds or a date, and never more than the most', () => {
  const now = Date.parse('Fri, 20 Nov 2026 20:00:00 GMT');
  const read = (header: string | string[] | undefined): number | null =>
    retryAfterMs(header, now, 30_000);
  assert.equal(read('7'), 7_000);
  assert.equal(read(['1.5', '9']), 1_500);
  assert.equal(read('Fri, 20 Nov 2026 20:00:12 GMT'), 12_000);
  assert.equal(read('Fri, 20 Nov 2026 19:00:00 GMT'), 0);
  assert.equal(read('3600'), 30_000);
  for (const unread of [undefined, '', ' ', 'soon', '-']) assert.equal(read(unread), null);
});
