import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawIcon, hasSharedLibrary, webviewFacts, whyNoWebview } from './library.ts';
import { parseOrders } from './orders.ts';

const facts = { platform: 'linux', arch: 'x64', glibc: '2.41', isInstalled: () => true } as const;

test('a webview runs from glibc 2.39 on', () => {
  assert.equal(whyNoWebview(facts), null);
  assert.equal(whyNoWebview({ ...facts, glibc: '2.39' }), null);
  assert.equal(whyNoWebview({ ...facts, glibc: '3.0' }), null);
  const old = whyNoWebview({ ...facts, glibc: '2.36' });
  assert.equal(old, 'it needs glibc 2.39 or newer, and this is 2.36');
  assert.match(whyNoWebview({ ...facts, glibc: null }) ?? '', /this is another$/);
  assert.equal(whyNoWebview({ ...facts, platform: 'darwin', glibc: null }), null);
});

test('it needs the library, and the part of it for this machine', () => {
  const without = (name: string) => ({ ...facts, isInstalled: (one: string) => one !== name });
  assert.match(whyNoWebview(without('@webviewjs/webview')) ?? '', /is not installed$/);
  const part = whyNoWebview(without('@webviewjs/webview-linux-x64-gnu'));
  assert.equal(part, 'its library has no part for linux on x64 here');
});

test('of this machine the facts are told without loading it', () => {
  const { isInstalled } = webviewFacts();
  assert.ok(!isInstalled('@webviewjs/no-such-part'));
});

test('a shared library that is missing is seen', { skip: process.platform !== 'linux' }, () => {
  assert.ok(!hasSharedLibrary('libnothing-of-that-name.so.1'));
});

test('the orders of a window are whole, or none', () => {
  const orders = { socket: '/s', profile: '/p', pidFile: '/f', origins: ['http://127.0.0.1:1'] };
  assert.deepEqual(parseOrders(JSON.stringify(orders)), orders);
  assert.equal(parseOrders(undefined), null);
  for (const text of ['', 'null', '[]', JSON.stringify({ ...orders, socket: 1 })]) {
    assert.equal(parseOrders(text), null, text);
  }
});

test('the icon is a square of pixels with empty corners', () => {
  const { data, width, height } = drawIcon();
  assert.equal(data.length, width * height * 4);
  assert.equal(data[3], 0);
  assert.equal(data[(32 * width + 32) * 4 + 3], 255);
});
