import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeOrders } from './orders.ts';

const orders = {
  socket: '/run/svc/desktop.sock',
  port: 40_123,
  logFolder: '/var/log/svc',
  lends: false,
};

test('orders are taken once, so that no process begun by this one is a core', () => {
  const env = { HOME: '/', SVC_DESKTOP: JSON.stringify(orders) };
  assert.deepEqual(takeOrders(env), { kind: 'orders', orders });
  assert.deepEqual(env, { HOME: '/' });
  assert.deepEqual(takeOrders(env), { kind: 'none' });
});

test('what no shell gives is a fault, and taken away as well', () => {
  const others = [
    '',
    '1',
    'null',
    '{"socket":',
    JSON.stringify({ ...orders, socket: '' }),
    JSON.stringify({ ...orders, port: 65_536 }),
    JSON.stringify({ ...orders, port: '1' }),
    JSON.stringify({ ...orders, logFolder: 'log' }),
    JSON.stringify({ ...orders, logFolder: undefined }),
  ];
  for (const text of others) {
    const env = { SVC_DESKTOP: text };
    assert.equal(takeOrders(env).kind, 'fault', text);
    assert.deepEqual(env, {});
  }
});
