import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseWindow } from './window.ts';

const all = { webview: null, chromium: null, browser: null };

test('the first of three that runs here is taken, and it is told why not another', () => {
  assert.deepEqual(chooseWindow(null, all), {
    kinds: ['webview', 'chromium', 'browser'],
    passedOver: null,
  });
  const old = chooseWindow(null, { ...all, webview: 'it needs a newer system' });
  assert.deepEqual(old.kinds, ['chromium', 'browser']);
  assert.equal(old.passedOver, 'It is not a window of its own, since it needs a newer system.');
});

test('the one that was named is taken or none', () => {
  assert.deepEqual(chooseWindow('browser', all), { kinds: ['browser'], passedOver: null });
  const none = chooseWindow('chromium', { ...all, chromium: 'none is installed' });
  assert.deepEqual(none.kinds, []);
  assert.equal(none.passedOver, 'It is not a window of Chromium, since none is installed.');
});

test('where nothing runs, each is told', () => {
  const { kinds, passedOver } = chooseWindow(null, { webview: 'a', chromium: 'b', browser: 'c' });
  assert.deepEqual(kinds, []);
  assert.match(passedOver ?? '', /since a\. .*since b\. .*since c\.$/);
});
