import assert from 'node:assert/strict';
import { test } from 'node:test';

import { receiverCause, undelivered, type FailingReceiver } from './receivers.ts';

const now = Date.UTC(2026, 10, 26, 3);
const failing = (sinceMs: number): FailingReceiver => ({
  channel: 'webhook',
  type: 'webhook',
  state: 'failing',
  since: now - sinceMs,
  minute: { tried: 10, failed: 6 },
  fiveMinutes: { tried: 10, failed: 6 },
  reasons: [{ code: 'server_error', status: 500, minute: 6, fiveMinutes: 6 }],
  waiting: 6,
  oldestAt: null,
});

test('what arrived before it began is no sign that it answers at times', () => {
  assert.match(receiverCause(failing(30_000), now), /^The receiver .* answers 500 since /);
  assert.match(receiverCause(failing(90_000), now), /^The receiver .* answers 500 at times since /);
});

test('the headline says so where some of them arrive', () => {
  assert.equal(undelivered(failing(30_000), now), 'replies on webhook do not arrive');
  assert.equal(undelivered(failing(90_000), now), 'some replies on webhook do not arrive');
  const deaf = { ...failing(90_000), minute: { tried: 6, failed: 6 } };
  assert.equal(undelivered(deaf, now), 'replies on webhook do not arrive');
});
