/** Sends whose end was not seen: which of them are made again, when, and how often. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { first, refusal, startSending } from '../../../test/fake/sending-telegram.ts';

test('a page of a proxy and a refused token are tried again', async () => {
  await using it = await startSending();
  it.telegram.plan('sendMessage', { page: '<h1>Bad Gateway</h1>', status: 502 });
  it.telegram.plan('sendMessage', refusal(401, 'Unauthorized'));
  for (const kind of ['server_error', 'unauthorized']) {
    const outcome = await it.send('four');
    assert.ok(outcome.kind === 'retry' && outcome.failure.kind === kind);
  }
});

test('a send whose end was not seen is tried once more, marked, and then dead', async () => {
  await using it = await startSending();
  it.telegram.plan('sendMessage', 'cut', 'cut');
  const outcome = await it.send('four');
  assert.ok(outcome.kind === 'retry' && outcome.mayHaveArrived);
  assert.equal(outcome.failure.retryAfterMs, 20_000);
  const marked = { ...first, number: 2, possibleDuplicate: true };
  assert.equal((await it.send('four', undefined, marked)).kind, 'dead');
});

test('the second try of a send whose end was not seen comes 20 to 60 s later', async () => {
  for (const [random, pauseMs] of [
    [0, 20_000],
    [0.5, 40_000],
    [1, 60_000],
  ] as const) {
    await using it = await startSending({ random: () => random });
    it.telegram.plan('sendMessage', 'cut');
    const outcome = await it.send('four');
    assert.ok(outcome.kind === 'retry' && outcome.failure.retryAfterMs === pauseMs);
  }
});

test('so does the one after a page of a relay, and not after an answer of Telegram', async () => {
  await using it = await startSending();
  it.telegram.plan('sendMessage', { page: '<h1>Bad Gateway</h1>', status: 502 });
  it.telegram.plan('sendMessage', refusal(500, 'Internal Server Error'));
  const pauses = [await it.send('four'), await it.send('four')].map((outcome) => {
    assert.ok(outcome.kind === 'retry' && outcome.mayHaveArrived);
    return outcome.failure.retryAfterMs;
  });
  assert.deepEqual(pauses, [20_000, null]);
});

test('no answer is a time-out after 15 s', async () => {
  await using it = await startSending();
  it.telegram.plan('sendMessage', 'hang');
  const sending = it.send('four');
  await it.telegram.until(() => it.payloads().length === 1);
  it.clock.pass(15_000);
  const outcome = await sending;
  assert.ok(outcome.kind === 'retry' && outcome.mayHaveArrived);
  assert.equal(outcome.failure.kind, 'timeout');
});

test('a marked one that never left is tried again by the schedule', async () => {
  await using it = await startSending({ baseUrl: `http://127.0.0.1:${closedPort}` });
  const outcome = await it.send('four', undefined, { ...first, possibleDuplicate: true });
  assert.ok(outcome.kind === 'retry' && !outcome.mayHaveArrived);
  assert.equal(outcome.failure.kind, 'connect_failed');
});

test('a cancelled send says whether it may have arrived', async () => {
  await using it = await startSending();
  it.telegram.plan('sendMessage', 'hang');
  const ending = new AbortController();
  const sending = it.send('four', undefined, first, ending.signal);
  await it.telegram.until(() => it.payloads().length === 1);
  ending.abort();
  const outcome = await sending;
  assert.ok(outcome.kind === 'retry' && outcome.mayHaveArrived);
  assert.equal(outcome.failure.kind, 'cancelled');
});
