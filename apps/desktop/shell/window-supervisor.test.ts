import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { createLog } from '../../../src/lib/log.ts';
import { Writable } from 'node:stream';
import type { ApplicationState, ApplicationWindow, OnClose } from '../desktop.ts';
import { statusLine, WindowSupervisor } from './window-supervisor.ts';

const shell = 'http://127.0.0.1:4000';
const core = 'http://127.0.0.1:2112';
const serving: ApplicationState = { at: 'serving', origin: core, canWrite: true };
const needsYou: ApplicationState = { at: 'needs_you', why: { of: 'in_use', message: '' } };
const firstRun: ApplicationState = { at: 'first_run', origin: core };

function supervisor(onClose: OnClose, state: ApplicationState, asksToClose = true) {
  const did: string[] = [];

  const isSessionOver: Promise<boolean> = Promise.resolve(false);
  const now = { onClose, state, steady: 0, isSessionOver };
  const window: ApplicationWindow = {
    kind: asksToClose ? 'webview' : 'chromium',
    asksToClose,
    hasTray: false,
    show: (url) => Promise.resolve(did.push(`show ${url}`) > 0 ? null : ''),
    hide: () => Promise.resolve(void did.push('hide')),
    status: () => {},
    trust: (origins) => void did.push(`trust ${origins.length}`),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const kept = new WindowSupervisor({
    offer: () => `${shell}/open/code`,
    page: () => `${shell}/app/key/`,
    origins: () => [shell],
    state: () => now.state,
    onClose: () => now.onClose,
    quit: () => void did.push('quit'),
    signIn: () => Promise.resolve({ token: null, page: null }),
    isSessionOver: () => now.isSessionOver,
    log: createLog({ stream: new Writable(), level: 'error', format: 'json' }),
    steady: () => now.steady,
  });
  /** The calls since the last time. */
  const done = async (): Promise<readonly string[]> => {
    await turn();
    return did.splice(0).filter((one) => !one.startsWith('trust'));
  };
  return { kept, window, now, did, done };
}

async function opened(...args: Parameters<typeof supervisor>) {
  const all = supervisor(...args);
  await all.kept.opened(all.window);
  await all.done();
  return all;
}

const question = `show ${shell}/app/key/close`;
const offered = `show ${shell}/open/code`;

test('what is to be shown before there is a window is shown in it', async () => {
  const { kept, window, did, done } = supervisor('ask', serving);
  await kept.show();
  assert.deepEqual(await done(), []);
  await kept.opened(window);
  assert.deepEqual(did, ['trust 1', 'trust 1', offered], 'it knows the origins before');
});

test('several starts at once show one window', async () => {
  const { kept, window, did, done } = supervisor('ask', serving);
  const isShown = Promise.withResolvers<null>();
  const slow = { ...window, show: (url: string) => (did.push(`show ${url}`), isShown.promise) };
  const starts = [kept.showOnce(), kept.show(), kept.opened(slow), kept.showOnce()];
  assert.deepEqual(await done(), [offered]);
  isShown.resolve(null);
  await Promise.all(starts);
  await kept.showOnce();
  assert.deepEqual(await done(), [offered]);
});

test('the first time the question comes, then what was answered is done', async () => {
  const { kept, now, done } = await opened('ask', serving);
  kept.events.onClosing();
  assert.deepEqual(await done(), [question]);
  now.onClose = 'keep';
  kept.events.onClosing();
  assert.deepEqual(await done(), ['hide']);
  now.onClose = 'quit';
  kept.events.onClosing();
  assert.deepEqual(await done(), ['quit']);
});

test('where nothing answers in the background, closing ends it', async () => {
  for (const state of [needsYou, firstRun]) {
    const { kept, done } = await opened('ask', state);
    kept.events.onClosing();
    assert.deepEqual(await done(), ['quit'], state.at);
    kept.events.onClosed(null);
    assert.deepEqual(await done(), ['quit'], state.at);
  }
});

test('a window that did not ask leaves the question for the next one, once', async () => {
  const { kept, done } = await opened('ask', serving, false);
  kept.events.onClosed(null);
  assert.deepEqual(await done(), []);
  await kept.show();
  await kept.show();
  assert.deepEqual(await done(), [question, offered]);
  await kept.hide();
  assert.deepEqual(await done(), [], 'it stands, and is not closed over the answer');
});

test('a start right after a window was closed shows the question, too', async () => {
  const { kept, now, done } = await opened('ask', serving, false);
  const answered = Promise.withResolvers<boolean>();
  now.isSessionOver = answered.promise;
  kept.events.onClosed(null);
  const shown = kept.show();
  assert.deepEqual(await done(), []);
  answered.resolve(false);
  await shown;
  assert.deepEqual(await done(), [question]);
});

test('a window that fell is opened again, once in a minute', async () => {
  const { kept, now, done } = await opened('ask', serving, false);
  kept.events.onClosed('It was killed.');
  assert.deepEqual(await done(), [offered]);
  now.steady = 59_999;
  kept.events.onClosed('It was killed.');
  assert.deepEqual(await done(), []);
  now.steady = 60_000;
  kept.events.onClosed('It was killed.');
  assert.deepEqual(await done(), [offered]);
});

test('a window that goes with the session is no answer to anything', async () => {
  const { kept, now, done } = await opened('quit', serving, false);
  now.isSessionOver = Promise.resolve(true);
  kept.events.onClosed(null);
  kept.events.onClosed('It was killed.');
  assert.deepEqual(await done(), []);
});

test('where nobody answers behind its page, the shell says what happened', async () => {
  const { kept, done } = await opened('ask', serving);
  kept.events.onUnanswered(`${core}/ui`);
  assert.deepEqual(await done(), [`show ${shell}/app/key/?waited`]);
  kept.events.onUnanswered(`${shell}/app/key/`);
  assert.deepEqual(await done(), []);
});

test('an address for one use that led to nobody is not used again', async () => {
  const { kept, done } = await opened('ask', serving);
  kept.events.onUnanswered(`${shell}/open/code`);
  assert.deepEqual(await done(), [`show ${shell}/app/key/?waited`]);
});

test('the tray opens it and quits it, and tells how it stands', async () => {
  const { kept, done } = await opened('ask', serving);
  kept.events.onTray('open');
  kept.events.onTray('quit');
  assert.deepEqual(await done(), [offered, 'quit']);
  assert.equal(statusLine(serving), 'svc answers');
  assert.equal(statusLine(needsYou), 'svc needs you');
});
