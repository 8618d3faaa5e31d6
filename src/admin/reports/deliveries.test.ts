/** Whether replies arrive, merged from several instances. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RowsOfChannel } from '../../cluster/cluster.ts';
import { deliveriesOf } from './merging.ts';
import type { Report, DeliverySummary } from './report.ts';

const none = { tried: 0, failed: 0 };
const quiet: DeliverySummary = {
  channel: 'webhook',
  failingSince: null,
  someArrive: null,
  minute: none,
  fiveMinutes: none,
  reasons: [],
  oldestAt: null,
};

function wholeOf(
  rows: readonly RowsOfChannel[] | null,
  ...told: readonly (readonly DeliverySummary[] | null)[]
): Parameters<typeof deliveriesOf>[0] {
  const reports = told.map((deliveries, at) => ({
    id: at,
    report: { deliveries, backlog: [], channels: [] } as unknown as Report,
  }));
  return { reports, rows };
}

const reason = (status: number, minute: number, fiveMinutes: number) =>
  ({ code: 'server_error', status, minute, fiveMinutes }) as const;

test('what instances tried is added up, and the first to see it fail says since when', () => {
  const one = {
    ...quiet,
    failingSince: 700,
    minute: { tried: 4, failed: 4 },
    fiveMinutes: { tried: 9, failed: 8 },
    reasons: [reason(500, 4, 6), reason(502, 0, 2)],
  };
  const other = {
    ...quiet,
    failingSince: 500,
    minute: { tried: 2, failed: 1 },
    fiveMinutes: { tried: 2, failed: 1 },
    reasons: [reason(502, 1, 1)],
  };
  const rows = [
    { key: 'webhook', inbox: 1, outbox: 30, oldestAt: 90, oldestReplyAt: 100 },
    { key: 'messenger_a:1', inbox: 0, outbox: 2, oldestAt: 60, oldestReplyAt: 60 },
  ];
  // The previous release reports nothing about it.
  const [webhook, messenger] = deliveriesOf(wholeOf(rows, [one], [other], null));
  assert.deepEqual(webhook, {
    channel: 'webhook',
    state: 'failing',
    since: 500,
    someArrive: true,
    minute: { tried: 6, failed: 5 },
    fiveMinutes: { tried: 11, failed: 9 },
    reasons: [reason(500, 4, 6), reason(502, 1, 3)],
    waiting: 30,
    oldestAt: 100,
  });
  assert.deepEqual(
    [messenger!.channel, messenger!.state, messenger!.waiting, messenger!.oldestAt],
    ['messenger_a', 'unknown', 2, 60],
  );
});

test('one instance that sees failures does not fail a receiver that works for the others', () => {
  const failing = { ...quiet, failingSince: 700, minute: { tried: 3, failed: 3 } };
  const working = {
    ...quiet,
    minute: { tried: 900, failed: 0 },
    fiveMinutes: { tried: 900, failed: 0 },
  };
  const [webhook] = deliveriesOf(wholeOf(null, [failing], [working]));
  assert.deepEqual([webhook!.state, webhook!.since], ['arriving', null]);
});

test('what arrived of its own says nothing against an instance that sees failures now', () => {
  const silent = { ...quiet, failingSince: 700, minute: { tried: 900, failed: 0 } };
  const told = { ...silent, fiveMinutes: silent.minute };
  const [webhook] = deliveriesOf(wholeOf(null, [told]));
  assert.deepEqual([webhook!.state, webhook!.since], ['failing', 700]);
});

test('none arrives if none does at any instance', () => {
  const tried = { tried: 9, failed: 9 };
  const deaf = { ...quiet, failingSince: 700, minute: tried, fiveMinutes: tried };
  const told = (...all: readonly DeliverySummary[]) =>
    deliveriesOf(wholeOf(null, ...all.map((one) => [one])))[0]!.someArrive;
  assert.equal(told(deaf), false, 'an older release reports only its tries');
  assert.equal(told({ ...deaf, someArrive: true }), true);
  const other = { ...deaf, someArrive: false };
  assert.equal(told(other, other), false);
  const working = { ...quiet, minute: { tried: 4, failed: 0 }, fiveMinutes: tried };
  assert.equal(told(other, working), true);
  assert.equal(told(working), true);
  assert.equal(told(quiet), null);
});

test('a failure of which nothing is left to try is over', () => {
  const failing = { ...quiet, failingSince: 700 };
  assert.equal(deliveriesOf(wholeOf(null, [failing]))[0]!.state, 'unknown');
  const rows = [{ key: 'webhook', inbox: 0, outbox: 1, oldestAt: 90, oldestReplyAt: 90 }];
  assert.equal(deliveriesOf(wholeOf(rows, [failing]))[0]!.state, 'failing');
});
