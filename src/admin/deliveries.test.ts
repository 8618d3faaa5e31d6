/** Replies that wait for another try, over the API. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ids } from '../../test/fake/admin-ledger.ts';
import { adminToken, makeWorld, openAdmin, withToken } from '../../test/fake/admin-world.ts';
import type { RetriedNow } from '../domain/records.ts';

const head = ['Host: localhost'];
const asOperator = [...head, `Authorization: Bearer ${adminToken}`];

test('a group is named by channel, reason and status, and moved in steps', async () => {
  const world = makeWorld();
  await using admin = await openAdmin(world, { access: withToken });
  const ask = async (query: string) => {
    const { status, body } = await admin.send('POST', `/api/v1/deliveries/try${query}`, asOperator);
    return { status, told: JSON.parse(body) as Record<string, unknown> };
  };
  world.clockMs = 9_000;
  const first = await ask('?channel=telegram&failure=server_error&status=502');
  assert.deepEqual(first.told, { moved: 1, more: false, before: 9_000 });
  const filter = { channel: 'messenger_a', failure: 'server_error', status: 502 };
  assert.deepEqual(world.calls.at(-1), ['tryNow', { kind: 'all', filter, before: 9_000 }, 500]);
  await ask('?before=8000');
  const any = { channel: null, failure: null, status: null };
  assert.deepEqual(world.calls.at(-1), [
    'tryNow',
    { kind: 'all', filter: any, before: 8_000 },
    500,
  ]);
  assert.equal((await ask('?channel=Slack')).status, 400);
  assert.equal((await ask('?failure=lost')).status, 400);
  assert.equal(world.calls.length, 2);
});

test('who tried what again is in the audit', async () => {
  const world = makeWorld();
  await using admin = await openAdmin(world, { access: withToken });
  await admin.send('POST', `/api/v1/deliveries/${ids.reply}/try`, asOperator);
  await admin.send('POST', '/api/v1/deliveries/none/try', asOperator);
  await admin.send('POST', '/api/v1/deliveries/try?channel=webhook', asOperator);
  const told = world.audited!.map(({ action, target, status }) => ({ action, target, status }));
  assert.deepEqual(told, [
    { action: 'try_delivery', target: { id: ids.reply }, status: 200 },
    { action: 'try_delivery', target: { id: 'none' }, status: 404 },
    { action: 'try_deliveries', target: { channel: 'webhook' }, status: 200 },
  ]);
  assert.equal((await admin.send('POST', '/api/v1/deliveries/try', head)).status, 401);
});

test('a storage that has failed moves none, and that is said', async () => {
  const world = makeWorld();
  const failed = { kind: 'storage_failed' } satisfies RetriedNow;
  const deferred = { ...world.ports.writes.deferred, tryNow: async () => failed };
  const ports = { ...world.ports, writes: { ...world.ports.writes, deferred } };
  await using admin = await openAdmin({ ...world, ports }, { access: withToken });
  const { status, body } = await admin.send('POST', '/api/v1/deliveries/try', asOperator);
  assert.equal(status, 503);
  assert.equal((JSON.parse(body) as { code: string }).code, 'storage_failed');
});

test('the reasons are told to a reader, without more than they are', async () => {
  const world = makeWorld();
  await using admin = await openAdmin(world, { access: withToken });
  const { status, body } = await admin.send('GET', '/api/v1/deliveries/reasons', head);
  assert.equal(status, 200);
  const row = {
    channel: 'webhook',
    failure: 'gone',
    status: 410,
    count: 1,
    oldestAt: 1,
    nextAt: 2,
  };
  assert.deepEqual(JSON.parse(body), { rows: [row] });
});
