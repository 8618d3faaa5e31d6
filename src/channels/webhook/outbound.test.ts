import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../lib/clock.ts';
import type { DeliveryOutcome, Reply } from '../../domain/reply.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient } from '../../lib/http-client.ts';
import { PlainStop } from '../../../test/fake/plain-stop.ts';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { startReceiver, type Answer } from '../../../test/fake/receiver.ts';
import { defaultMapping } from '../../../test/fake/webhook.ts';
import { handClock } from '../../../test/support/hand-clock.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import { createDeliver, type Deliver, type OutboundDeps } from './webhook.ts';

const reply = {
  id: 'r1',
  inReplyTo: 'm1',
  conversation: '42',
  address: { channel: 'webhook', target: '42' },
  brain: 'helper',
  text: 'hi \ud83d\ude00',
  createdAt: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  sessionStarted: null,
} as unknown as Reply;
const first = { number: 1, possibleDuplicate: false, late: false };

type Bench = AsyncDisposable & { deliver: Deliver };

function startDeliver(url: string, more: Partial<OutboundDeps> = {}): Bench {
  const http = createHttpClient(createDeadlines(), { connectMs: patienceMs });
  const parts = {
    url,
    mapping: defaultMapping,
    secret: null,
    signingKey: null,
    http,
    version: '1.2.3',
  };
  const deliver = createDeliver({ ...parts, ...systemClock, ...more });
  return { deliver, [Symbol.asyncDispose]: () => http.close() };
}

const never = new PlainStop();

test('a reply is one POST with its fields and headers', async () => {
  await using receiver = await startReceiver();
  await using bench = startDeliver(receiver.url, { secret: 'out', now: () => 1_700_000_000_999 });
  const late = { number: 7, possibleDuplicate: true, late: true };
  assert.deepEqual(await bench.deliver(reply, first, never), { kind: 'delivered' });
  assert.deepEqual(await bench.deliver(reply, late, never), { kind: 'delivered' });
  const [one, two] = receiver.received;
  assert.deepEqual(one?.body, {
    conversation_id: 42,
    text: 'hi \ud83d\ude00',
    sender_id: 'helper',
    sender_name: 'helper',
    message_id: 'r1',
    in_reply_to: 'm1',
    created_at: '2026-01-02T03:04:05.006Z',
  });
  assert.equal(one?.path, '/replies');
  const expected = {
    'content-type': 'application/json',
    authorization: 'Bearer out',
    'user-agent': 'svc/1.2.3',
    'webhook-id': 'r1',
    'webhook-timestamp': '1700000000',
    'svc-attempt': '1',
  };
  const headers = one?.headers ?? {};
  for (const [name, value] of Object.entries(expected)) assert.equal(headers[name], value);
  assert.equal('svc-late' in headers || 'svc-possible-duplicate' in headers, false);
  assert.equal(two?.headers['svc-attempt'], '7');
  assert.equal(two?.headers['svc-possible-duplicate'], 'true');
  assert.equal(two?.headers['svc-late'], 'true');
  assert.equal(two?.text, one?.text);
});

test('without a secret there is no authorization header', async () => {
  await using receiver = await startReceiver();
  await using bench = startDeliver(receiver.url);
  await bench.deliver(reply, first, never);
  assert.equal(receiver.received[0]?.headers.authorization, undefined);
});

/** Kind, failure, requested pause, may have arrived. */
const brief = (outcome: DeliveryOutcome): readonly unknown[] => {
  if (outcome.kind === 'delivered' || outcome.kind === 'paced') return [outcome.kind];
  const { kind, retryAfterMs } = outcome.failure;
  if (outcome.kind === 'dead') return ['dead', kind];
  return ['retry', kind, retryAfterMs, outcome.mayHaveArrived];
};

const now = Date.UTC(2026, 0, 1);
const inAMinute = new Date(now + 60_000).toUTCString();
const cases: readonly [Answer, readonly unknown[]][] = [
  [200, ['delivered']],
  [204, ['delivered']],
  [{ status: 202, body: 'x'.repeat(1_000_000) }, ['delivered']],
  [301, ['retry', 'redirected', null, false]],
  [{ status: 302, headers: { location: '/else' } }, ['retry', 'redirected', null, false]],
  [400, ['retry', 'rejected', null, false]],
  [401, ['retry', 'unauthorized', null, false]],
  [404, ['retry', 'not_found', null, false]],
  [410, ['dead', 'gone']],
  [{ status: 429, headers: { 'retry-after': '7' } }, ['retry', 'rate_limited', 7_000, false]],
  [{ status: 429, headers: { 'retry-after': 'soon' } }, ['retry', 'rate_limited', null, false]],
  [{ status: 503, headers: { 'retry-after': inAMinute } }, ['retry', 'overloaded', 60_000, false]],
  [500, ['retry', 'server_error', null, true]],
  [502, ['retry', 'server_error', null, true]],
  ['reset', ['retry', 'connection_lost', null, true]],
  ['cut', ['delivered']],
  [{ raw: 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok' }, ['delivered']],
  [{ raw: 'HTTP/1.1 410 Gone\r\n : \r\n\r\n' }, ['dead', 'gone']],
  [{ raw: 'HTTP/1.1 500 Oh\r\nA b: c\r\n\r\n' }, ['retry', 'server_error', null, true]],
  [{ raw: 'no answer at all' }, ['retry', 'connection_lost', null, true]],
];

test('every answer of the receiver has its outcome', async (t) => {
  await using receiver = await startReceiver();
  // The clock stands still.
  const clock = handClock(now);
  const http = createHttpClient(clock.deadlines, { connectMs: patienceMs });
  await using bench = startDeliver(receiver.url, { http, ...clock });
  for (const [answer, expected] of cases) {
    await t.test(JSON.stringify(answer).slice(0, 60), async () => {
      receiver.script.push(answer);
      assert.deepEqual(brief(await bench.deliver(reply, first, never)), expected);
    });
  }
  assert.equal(receiver.received.length, cases.length, 'nothing is followed or sent again');
  await http.close();
});

test('all replies go over one connection, whatever the receiver answers', async () => {
  await using receiver = await startReceiver();
  // With one connection, the next reply waits until the former answer is read.
  const http = createHttpClient(createDeadlines(), { connectMs: patienceMs, connections: 1 });
  await using bench = startDeliver(receiver.url, { http });
  receiver.script.push(200, 204, 500, { status: 202, body: 'x'.repeat(60_000) }, 404, 200);
  for (let at = 0; at < 6; at++) await bench.deliver(reply, first, never);
  assert.equal(receiver.received.length, 6);
  assert.equal(receiver.connections, 1);
  await http.close();
});

test('a receiver that does not listen has certainly not got the reply', async () => {
  await using bench = startDeliver(`http://127.0.0.1:${closedPort}/`);
  const outcome = await bench.deliver(reply, first, never);
  assert.deepEqual(brief(outcome), ['retry', 'connect_failed', null, false]);
});

test('a receiver that never answers is a time-out that may have arrived', async () => {
  await using receiver = await startReceiver();
  const clock = handClock();
  const http = createHttpClient(clock.deadlines, { connectMs: patienceMs });
  await using bench = startDeliver(receiver.url, { http, ...clock });
  receiver.script.push('hang', 'drip');
  const outcome = bench.deliver(reply, first, never);
  await receiver.waitFor(1);
  clock.pass(15_000);
  assert.deepEqual(brief(await outcome), ['retry', 'timeout', null, true]);
  const dripped = await bench.deliver(reply, first, never);
  assert.deepEqual(dripped, { kind: 'delivered' }, 'its 200 was an answer');
  await http.close();
});

test('an abort ends the try', async () => {
  await using receiver = await startReceiver();
  await using bench = startDeliver(receiver.url);
  receiver.script.push('hang');
  const ending = new PlainStop();
  const outcome = bench.deliver(reply, first, ending);
  await receiver.waitFor(1);
  ending.stop();
  assert.deepEqual(brief(await outcome), ['retry', 'cancelled', null, true]);
});
