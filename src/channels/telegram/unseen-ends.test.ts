/** Sends without a seen end: which of them svc repeats, when, and how often. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { first, refusal, startSending } from '../../../test/fake/sending-telegram.ts';

test('a refused token is tried again', async () => {
  await using it = await startSending();
  it.telegram.plan('sendMessage', refusal(401, 'Unauthorized'));
  const outcome = await it.send('four');
  assert.ok(outcome.kind === 'retry' && outcome.failure.kind === 'unauthorized');
});

test('a send whose end was not seen is tried once more, marked, and then dead', async () => {
  await using it = await startSending();
  it.telegram.plan('sendMessage', 'cut', 'cut');
  const outcome = await it.send('four');
  assert.ok(outcome.kind === 'retry' && outcome.mayHaveArrived);
  assert.equal(outcome.failure.retryAfterMs, 20_000);
  const marked = { ...first, number: 2, possibleDuplicate: true };
  const left = await it.send('four', undefined, marked);
  assert.ok(left.kind === 'dead');
  assert.match(left.failure.detail, /^the connection broke .*; it may have arrived, so it is not/);
});

const page = (status: number) => ({ page: '<h1>Sorry</h1>', status });

for (const planned of [page(504), refusal(504, 'Gateway Timeout')]) {
  test(`so is one that a gateway gave up: ${JSON.stringify(planned)}`, async () => {
    await using it = await startSending();
    it.telegram.plan('sendMessage', planned, planned);
    const outcome = await it.send('four');
    assert.ok(outcome.kind === 'retry' && outcome.mayHaveArrived);
    assert.equal(outcome.failure.retryAfterMs, 20_000);
    const left = await it.send('four', undefined, { ...first, possibleDuplicate: true });
    assert.ok(left.kind === 'dead' && left.failure.kind === 'server_error');
    assert.match(left.failure.detail, /it may have arrived, so it is not sent again/);
  });
}

test('behind the pages of a relay whose other side is away it is tried on, marked', async () => {
  await using it = await startSending();
  for (const status of [500, 502, 520]) {
    it.telegram.plan('sendMessage', page(status), page(status));
    for (const attempt of [first, { ...first, number: 2, possibleDuplicate: true }]) {
      const outcome = await it.send('four', undefined, attempt);
      assert.ok(outcome.kind === 'retry' && outcome.mayHaveArrived);
      assert.equal(outcome.failure.retryAfterMs, 20_000);
    }
  }
});

test('what surely did not arrive is tried on by the schedule, also when marked', async () => {
  await using it = await startSending();
  for (const planned of [
    page(503),
    refusal(500, 'Internal Server Error'),
    refusal(502, 'Bad Gateway'),
  ]) {
    it.telegram.plan('sendMessage', planned);
    const outcome = await it.send('four', undefined, { ...first, possibleDuplicate: true });
    assert.ok(outcome.kind === 'retry' && !outcome.mayHaveArrived);
    assert.equal(outcome.failure.retryAfterMs, null);
  }
});

test('a page that refuses it says nothing of the person or the chat: it is tried on', async () => {
  await using it = await startSending();
  for (const status of [403, 404]) {
    it.telegram.plan('sendMessage', page(status));
    const outcome = await it.send('four');
    assert.ok(outcome.kind === 'retry' && !outcome.mayHaveArrived, String(status));
  }
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
