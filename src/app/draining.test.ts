import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeDraining, describeLost } from './draining.ts';

type Told = Parameters<typeof describeDraining>;

function told(gauges: object, durability: object): string {
  const none = { inboxClaimed: 0, inboxWaiting: 0, outboxClaimed: 0, outboxWaiting: 0 };
  return describeDraining({ ...none, ...gauges } as Told[0], durability as Told[1]);
}

test('who stops svc is told what is in hand, how long at most, and how to end it now', () => {
  const kept = { drainsBacklog: false, drainMs: 5_000 };
  assert.equal(
    told({ inboxClaimed: 1, outboxClaimed: 2, inboxWaiting: 7 }, kept),
    'No new messages; finishing what is in hand (1 message, 2 replies), for 5 s at most. ' +
      'A second Ctrl-C (or SIGTERM) ends it now.',
  );
  const lost = { drainsBacklog: true, drainMs: 30_000 };
  assert.match(told({ inboxClaimed: 1, inboxWaiting: 7 }, lost), /\(8 messages\), for 30 s/);
  assert.equal(told({ inboxWaiting: 7 }, kept), 'No new messages; nothing is in hand.');
});

test('what is lost is counted as people count', () => {
  assert.equal(describeLost(1, ['a']), '1 row was not finished in time and is lost: a');
  assert.equal(describeLost(2, ['a', 'b']), '2 rows were not finished in time and are lost: a b');
});
