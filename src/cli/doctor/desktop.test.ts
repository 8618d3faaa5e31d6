import assert from 'node:assert/strict';
import { test } from 'node:test';
import { desktopLines, linesOf } from './desktop.ts';

const runs = { webview: 'WebKit 2.50', chromium: '/usr/bin/chromium', browser: '' };

test('each window is told: which is opened, which would do, and why not', () => {
  const lines = linesOf({ webview: 'it is too new', chromium: null, browser: null }, runs);
  assert.deepEqual(
    lines.map(({ mark, message }) => [mark, message]),
    [
      ['ok', 'a window of its own: not here, since it is too new'],
      ['ok', 'a window of Chromium (/usr/bin/chromium) is what svc desktop opens'],
      ['ok', 'a tab of your browser would do as well'],
    ],
  );
});

test('a display without any window is a warning', () => {
  const last = linesOf({ webview: 'a', chromium: 'b', browser: 'c' }, runs).at(-1);
  assert.equal(last?.mark, 'warning');
});

test('without a display there is one line, and nothing is wrong', async (t) => {
  if (process.platform !== 'linux') return t.skip('other systems always have one');
  const lines = await desktopLines({});
  assert.deepEqual(
    lines.map(({ mark }) => mark),
    ['ok'],
  );
});
