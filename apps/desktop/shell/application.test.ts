import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../../test/support/program.ts';
import type { ApplicationState, WindowKind } from '../desktop.ts';
import { ShellApplication } from './shell.ts';
import { SettingsFile } from './settings.ts';

const origin = 'http://127.0.0.1:2112';
const starting: ApplicationState = { at: 'starting' };
const serving: ApplicationState = { at: 'serving', origin, canWrite: true };
const never = new AbortController().signal;

async function make(kind: WindowKind) {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(await scratch());
  const settings = await SettingsFile.read(join(folder.path, 'desktop.json'));
  const did: string[] = [];
  const now = { state: starting, autostart: false };
  const application = await ShellApplication.make({
    version: '1.2.3',
    config: '/svc.json',
    logFile: '/svc.log',
    core: {
      get state() {
        return now.state;
      },
      link: {
        offer: () => Promise.resolve(`${origin}/ui#code`),
        grant: () => Promise.resolve('a token'),
      },
      restart: () => void did.push('restart'),
      quit: () => void did.push('quit'),
    },
    window: { kind, hide: () => Promise.resolve(void did.push('hide')) },
    settings,
    autostart: {
      isOn: () => Promise.resolve(now.autostart),
      set: (on) => {
        now.autostart ||= on;
        return Promise.resolve(on ? null : 'It stays.');
      },
    },
  });
  const become = (state: ApplicationState): void => {
    now.state = state;
    application.stateChanged();
  };
  const open = opening.move();
  return { application, did, become, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

test('pages are waited for while the service starts, and come with a code', async () => {
  await using made = await make('chromium');
  const { application, become } = made;
  const pages = application.pages(never);
  become({ at: 'starting' });
  become(serving);
  assert.equal(await pages, `${origin}/ui#code`);
  become({ at: 'needs_you', why: { of: 'in_use', message: '' } });
  assert.equal(await application.pages(never), null);
  become(starting);
  const leaving = new AbortController();
  const left = application.pages(leaving.signal);
  leaving.abort();
  assert.equal(await left, null);
});

test('a window of its own needs no code, and is handed a token', async () => {
  await using made = await make('webview');
  const { application, become } = made;
  become(serving);
  assert.equal(await application.pages(never), `${origin}/ui`);
  become({ at: 'first_run', origin });
  assert.equal(await application.pages(never), `${origin}/setup`);
  assert.deepEqual(await application.signIn('/page'), { token: 'a token', page: '/page' });
});

test('a change is told to all who wait, at once where it has come already', async () => {
  await using made = await make('browser');
  const { application, become } = made;
  const waits = [application.changed(starting, never), application.changed(starting, never)];
  become(serving);
  await Promise.all([...waits, application.changed(starting, never)]);
  const leaving = new AbortController();
  const left = application.changed(serving, leaving.signal);
  leaving.abort();
  await assert.rejects(left, { name: 'AbortError' });
  await assert.rejects(application.changed(serving, leaving.signal), { name: 'AbortError' });
});

test('what closing does is kept, and done', async () => {
  await using made = await make('webview');
  const { application, did } = made;
  assert.equal(application.facts.onClose, 'ask');
  await application.answerClosing('keep');
  assert.deepEqual([application.facts.onClose, did], ['keep', ['hide']]);
  await application.answerClosing('quit');
  assert.deepEqual([application.facts.onClose, did], ['quit', ['hide', 'quit']]);
  await application.restart();
  assert.equal(did.at(-1), 'restart');
});

test('whether it starts with the session is told as it is', async () => {
  await using made = await make('webview');
  const { application } = made;
  assert.equal(application.facts.autostart, false);
  assert.equal(await application.setAutostart(true), null);
  assert.equal(application.facts.autostart, true);
  assert.equal(await application.setAutostart(false), 'It stays.');
  assert.equal(application.facts.autostart, true, 'as it is, not as it was wanted');
});
