import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPolling } from '../../../test/fake/polling.ts';
import { said, token, type Planned } from '../../../test/fake/scripted-telegram.ts';
import { handClock } from '../../../test/support/hand-clock.ts';
import { pollTimes } from './polling.ts';

const refusal = (error_code: number, description = ''): Planned => ({
  ok: false,
  error_code,
  description,
});

test('it asks who it is, drops nothing, and names what it wants in every poll', async () => {
  await using it = await startPolling();
  it.telegram.push(said(7, 'hello'));
  it.run();
  await it.telegram.until(() => it.polls().length >= 3);
  const [me, away] = it.telegram.calls;
  assert.equal(me?.method, 'getMe');
  assert.equal(away?.method, 'deleteWebhook');
  assert.deepEqual(away?.params, { drop_pending_updates: false });
  const [first, second, third] = it.polls();
  const rest = { limit: 100, timeout: 8, allowed_updates: ['message', 'callback_query'] };
  assert.deepEqual(first, { ...rest, timeout: 0 }, 'no offset is known after a start');
  assert.deepEqual(second, { offset: 8, ...rest });
  assert.deepEqual(third, rest, 'an offset is not said again: ids may begin anew below it');
  assert.deepEqual(it.ledger.taken, ['501:7']);
  assert.equal(it.health.health.state, 'up');
  assert.ok(it.health.health.lastSeenAt !== null);
});

test('nothing is confirmed before it is safe; new messages come all the same', async () => {
  await using it = await startPolling();
  it.ledger.settles = false;
  it.telegram.push(said(1, 'slow'), said(2, 'other'));
  it.run();
  await it.telegram.until(() => it.polls().length >= 3);
  it.telegram.push(said(3, 'new'));
  await it.telegram.until(() => it.ledger.taken.length === 3);
  it.ledger.settle('501:2');
  await it.telegram.until(() => it.polls().length >= 8);
  for (const { offset, timeout } of it.polls().slice(1))
    assert.deepEqual([offset, timeout], [1, 0]);
  it.ledger.settle('501:1');
  it.ledger.settle('501:3');
  await it.telegram.until(() => it.telegram.pending.length === 0);
  assert.deepEqual(it.ledger.taken, ['501:1', '501:2', '501:3']);
  assert.deepEqual(it.ledger.repeats, []);
});

test('of a hundred that wait the oldest are confirmed all the same, and counted', async () => {
  await using it = await startPolling();
  it.ledger.settles = false;
  it.telegram.push(...Array.from({ length: 130 }, (_, i) => said(i + 1, 'hello')));
  it.run();
  await it.telegram.until(() => it.ledger.taken.length === 130);
  const counted = it.calls
    .filter(([name]) => name === 'confirmedEarly')
    .reduce((sum, [, e]) => sum + (e as { count: number }).count, 0);
  assert.ok(counted >= 30 && counted <= 50, String(counted));
});

for (const openMs of [10, 2_000]) {
  const says = openMs < 1_000 ? 'is said again' : 'has come there, and is not said again';
  test(`what a poll that was open for ${openMs} ms confirms ${says} at the stop`, async () => {
    const clock = handClock();
    await using it = await startPolling({}, clock);
    it.telegram.push(said(7, 'hello'));
    const first = { ok: true, result: [said(7, 'hello')] } as const;
    it.telegram.plan('getUpdates', first, 'hang');
    it.run();
    await it.telegram.until(() => it.polls().length === 2);
    clock.pass(openMs);
    await it.stop();
    const confirms = {
      offset: 8,
      limit: 1,
      timeout: 0,
      allowed_updates: ['message', 'callback_query'],
    };
    assert.deepEqual(it.polls().slice(2), openMs < 1_000 ? [confirms] : []);
  });
}

test('a stop in the middle of a batch confirms what is done and nothing else', async () => {
  await using it = await startPolling();
  it.ledger.settles = false;
  it.telegram.push(said(1, 'done'), said(2, 'at work'), said(3, 'done too'));
  it.run();
  await it.telegram.until(() => it.ledger.taken.length === 3);
  it.ledger.settle('501:1');
  it.ledger.settle('501:3');
  await it.stop();
  assert.deepEqual(
    it.telegram.pending.map(({ update_id }) => update_id),
    [2, 3],
  );
  assert.equal(it.health.health.state, 'stopped');
  it.run();
  await it.telegram.until(() => it.ledger.repeats.length === 2);
  assert.deepEqual(it.ledger.taken, ['501:1', '501:2', '501:3']);
});

test('what the ledger could not write is not confirmed, and comes again', async () => {
  await using it = await startPolling();
  const refused = { kind: 'refused', reason: 'storage_failed', retryAfterMs: 5 } as const;
  it.ledger.refusals.push(refused, refused);
  it.telegram.push(said(1, 'hello'));
  it.run();
  await it.telegram.until(() => it.ledger.taken.length === 1);
  for (const { offset } of it.polls().slice(0, 3)) assert.equal(offset, undefined);
});

test('while there is no room it does not poll', async () => {
  await using it = await startPolling();
  it.ledger.free = 0;
  it.telegram.push(said(1, 'hello'));
  it.run();
  await it.telegram.until(() => it.health.health.state === 'degraded');
  assert.equal(it.polls().length, 0);
  it.ledger.free = 1;
  it.ledger.wake.resolve();
  await it.telegram.until(() => it.ledger.taken.length === 1);
});

test('a batch larger than the room is taken in parts', async () => {
  await using it = await startPolling();
  it.ledger.free = 3;
  it.telegram.push(...Array.from({ length: 10 }, (_, i) => said(i + 1, 'hello')));
  it.run();
  await it.telegram.until(() => it.ledger.taken.length === 10);
  assert.deepEqual(
    it.ledger.taken,
    Array.from({ length: 10 }, (_, i) => `501:${i + 1}`),
  );
});

test('ids that begin anew at random lose nothing', async () => {
  await using it = await startPolling();
  it.telegram.push(said(900_000, 'before the quiet week'));
  it.run();
  await it.telegram.until(() => it.telegram.pending.length === 0 && it.polls().length >= 3);
  it.telegram.push({ ...said(5_000, 'after it'), update_id: 17 });
  await it.telegram.until(() => it.ledger.taken.length === 2);
});

test('a poll on a dead connection is given up, and the next one is served', async () => {
  await using it = await startPolling({ pollMs: 100 });
  it.telegram.plan('getUpdates', 'hang', 'hang', 'cut', { page: 'Bad Gateway', status: 502 });
  it.run();
  await it.telegram.until(() => it.polls().length >= 2 && it.degraded.length > 0);
  it.telegram.push(said(1, 'hello'));
  await it.telegram.until(() => it.health.health.state === 'up');
  await it.telegram.until(() => it.ledger.taken.length === 1);
  assert.equal(it.telegram.pollsAtOnceMost, 1);
});

test('the first poll of a silent platform tells, and says what can be done', async () => {
  const failurePauseMs = { baseMs: 1e6, capMs: 1e6 };
  const clock = handClock();
  const begunAt = clock.now();
  await using it = await startPolling({ failurePauseMs }, clock);
  it.telegram.plan('getUpdates', { ok: true, result: [] }, 'hang');
  it.run();
  await it.telegram.until(() => it.polls().length === 2);
  clock.pass(pollTimes.pollMs);
  await it.telegram.until(() => it.health.health.state === 'degraded');
  assert.equal(
    it.health.health.reason,
    'Telegram did not answer in time: check the way from this machine to the network; ' +
      'it is asked again',
  );
  assert.equal(it.polls().length, 2);
  assert.equal(it.health.health.since, begunAt, 'since it was heard of last');
});

test('a conflict is shown and waited for, never the end', async () => {
  await using it = await startPolling();
  it.telegram.plan('getUpdates', refusal(409), refusal(409));
  it.run();
  await it.telegram.until(() => it.degraded.length > 0);
  assert.match(it.degraded[0] ?? '', /another program.*TELEGRAM_TOKEN/);
  await it.telegram.until(() => it.health.health.state === 'up');
  assert.equal(it.telegram.callsOf('deleteWebhook').length, 3, 'it may be a webhook that is set');
});

test('a webhook that another program has set is told as that', async () => {
  await using it = await startPolling();
  const words = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook";
  it.telegram.plan('getUpdates', refusal(409, words));
  it.run();
  await it.telegram.until(() => it.degraded.length > 0);
  assert.match(it.degraded[0] ?? '', /set a webhook.*TELEGRAM_TOKEN.*svc doctor/);
  await it.telegram.until(() => it.health.health.state === 'up');
  for (const { params } of it.telegram.callsOf('deleteWebhook')) {
    assert.deepEqual(params, { drop_pending_updates: false });
  }
});

test('a refused token is for a person to put right: no calls, the variable is named', async () => {
  for (const status of [401, 404]) {
    await using it = await startPolling();
    it.telegram.plan('getMe', { page: 'Not Found', status });
    it.telegram.plan('getMe', refusal(status, 'Unauthorized'));
    it.run();
    await it.telegram.until(() => it.health.health.state === 'failed');
    const reason = it.health.health.reason ?? '';
    assert.match(reason, /TELEGRAM_TOKEN/);
    assert.ok(!reason.includes(token.slice(-10)));
    await it.stop();
    assert.equal(it.telegram.calls.length, 2, 'a page of a proxy says nothing of the token');
    assert.equal(it.health.health.state, 'failed');
  }
});

test('a platform that is down at the start is asked until it is there', async () => {
  await using it = await startPolling();
  it.telegram.plan('getMe', 'cut', { page: 'x', status: 502 }, refusal(429));
  it.run();
  await it.telegram.until(() => it.health.health.state === 'up');
});

test('an update that makes no sense holds up none behind it', async () => {
  await using it = await startPolling();
  it.telegram.push({ update_id: 1 }, { ...said(2, 'x'), message: 7 } as never, said(3, 'hello'));
  it.run();
  await it.telegram.until(() => it.telegram.pending.length === 0);
  assert.deepEqual(it.ledger.taken, ['501:3']);
});

test('a server that does not wait when it is asked to is not pressed', async () => {
  // With a clock that stands still every answer comes at once, however busy the machine is.
  await using it = await startPolling({ heldPauseMs: 300 }, handClock());
  const empty: Planned = { ok: true, result: [] };
  it.telegram.plan('getUpdates', ...Array.from({ length: 1_000 }, () => empty));
  it.run();
  await it.telegram.until(() => it.polls().length >= 5);
  const [, second, , , fifth] = it.telegram.callsOf('getUpdates');
  const ms = fifth!.at - second!.at;
  assert.ok(ms >= 850, `${ms} ms`);
});
