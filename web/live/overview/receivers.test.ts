import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FailureKind } from '../../../src/domain/failure.ts';
import { receiverCause, receiverMove, undelivered, type FailingReceiver } from './receivers.ts';

const now = Date.UTC(2026, 10, 26, 3);
const failing: FailingReceiver = {
  channel: 'webhook',
  type: 'webhook',
  state: 'failing',
  since: now - 30_000,
  someArrive: false,
  minute: { tried: 30, failed: 6 },
  fiveMinutes: { tried: 30, failed: 6 },
  reasons: [{ code: 'server_error', status: 500, minute: 6, fiveMinutes: 6 }],
  waiting: 6,
  oldestAt: null,
};
const part: FailingReceiver = { ...failing, someArrive: true };
const reason = (code: FailureKind, status: number | null, minute = 6) => ({
  reasons: [{ code, status, minute, fiveMinutes: minute }],
});

test('the headline says whether some replies arrive', () => {
  assert.equal(undelivered(failing), 'replies on webhook do not arrive');
  assert.equal(undelivered(part), 'some replies on webhook do not arrive');
  const older = { ...failing, someArrive: null };
  assert.equal(undelivered(older), 'replies on webhook do not arrive');
});

test('where some arrive, the share is said', () => {
  const said = (more: object) => receiverCause({ ...part, ...more }, now);
  const tries = '6 of 30 tries to deliver on webhook';
  const end = 'in the last minute; 6 replies wait.';
  assert.equal(said(reason('rejected', 422)), `${tries} were refused with 422 ${end}`);
  assert.equal(said({}), `${tries} failed with 500 ${end}`);
  assert.equal(said(reason('connect_failed', null)), `${tries} failed (connect failed) ${end}`);
  assert.equal(said(reason('rejected', 422, 4)), `${tries} failed, 4 of them with 422, ${end}`);
  const one = { ...reason('rejected', 422, 1), minute: { tried: 1, failed: 1 } };
  assert.match(said(one), /^1 of 1 try to deliver on webhook was refused with 422 in/);
  assert.match(receiverCause(failing, now), /^The receiver of webhook replies answers 500 since /);
});

test('a receiver that refuses replies is no matter of the address', () => {
  const moves = (one: FailingReceiver, more: object) => receiverMove({ ...one, ...more });
  for (const one of [failing, part]) {
    assert.match(
      moves(one, reason('rejected', 422)),
      /^Read in the receiver's log .* Dead letters/,
    );
  }
  assert.match(moves(failing, reason('not_found', 404)), /^Check outbound_url\. At Deliveries/);
  assert.match(moves(part, reason('not_found', 404)), /^Read in the receiver's log/);
  assert.match(moves(part, reason('connect_failed', null)), /outbound_url/);
  const bot = { ...reason('rejected', 403), type: 'messenger_a' };
  assert.match(moves(part, bot), /^What svc gave up is at Dead letters\./);
});
