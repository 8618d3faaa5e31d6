import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf } from '../config/address.ts';
import { adminPlaces, textAt } from './admin-address.ts';

function placesOf(text: string, { given = true, enabled = true, port = 0 } = {}) {
  const address = addressOf(text, given);
  const { others, window } = adminPlaces({ enabled, address, allowedHosts: [] }, port);
  for (const { loopback } of window) assert.ok(loopback);
  return [others?.text ?? null, window.map((one) => one.text)];
}

test('an address of the file is the only one', () => {
  assert.deepEqual(placesOf('127.0.0.1:9000', { port: 7 }), [null, ['127.0.0.1:9000']]);
});

test('by another name of this machine no window goes there: its browser asks the proxy', () => {
  for (const text of ['localhost:9000', '[::1]:9000', 'LOCALHOST:9000']) {
    assert.deepEqual(placesOf(text, { port: 7 }), [text, ['127.0.0.1:7', '127.0.0.1:0']]);
  }
});

test('the default is tried first, then the port of the last time, then any', () => {
  const given = false;
  const own = '127.0.0.1:2112';
  assert.deepEqual(placesOf(own, { given }), [null, [own, '127.0.0.1:0']]);
  const last = { given, port: 40_123 };
  assert.deepEqual(placesOf(own, last), [null, [own, '127.0.0.1:40123', '127.0.0.1:0']]);
});

test('where the server is off, the window has a listener of its own', () => {
  const off = { enabled: false, given: false, port: 7 };
  assert.deepEqual(placesOf('127.0.0.1:2112', off), [null, ['127.0.0.1:7', '127.0.0.1:0']]);
});

test('an address for other machines stays, and the window has a listener beside it', () => {
  for (const text of ['0.0.0.0:9000', ':9000', '[::]:9000', '192.0.2.1:9000', '127.0.0.2:9000']) {
    assert.deepEqual(placesOf(text), [text, ['127.0.0.1:0']]);
  }
});

test('an address is told with its real port', () => {
  assert.equal(textAt(addressOf('[::1]:0', true), 4_711), '[::1]:4711');
  assert.equal(textAt(addressOf('127.0.0.1:2110', true), 2_110), '127.0.0.1:2110');
});
