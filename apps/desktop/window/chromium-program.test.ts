import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../../test/support/program.ts';
import { chromiumPlaces, findChromium } from './chromium-program.ts';
import type { WindowEvents } from '../desktop.ts';
import { chromiumArguments, chromiumProfile, ChromiumWindow, holderOf } from './chromium-window.ts';

test('the first of the known names that can be run is taken', async () => {
  await using folder = await scratch();
  const [first, second] = ['a', 'b'].map((name) => join(folder.path, name));
  for (const one of [first!, second!]) await mkdir(one);
  const env = { PATH: `${first}:relative:${second}` };
  assert.equal(findChromium(env, 'linux'), null);
  await writeFile(join(first!, 'google-chrome'), '');
  await writeFile(join(second!, 'chromium'), '');
  await chmod(join(second!, 'chromium'), 0o755);
  const file = join(second!, 'chromium');
  assert.deepEqual(findChromium(env, 'linux'), { file, isSnap: false });
});

test('other systems keep it in places of their own', () => {
  const mac = chromiumPlaces({ HOME: '/Users/ada' }, 'darwin');
  assert.ok(mac.includes('/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'));
  assert.ok(mac.includes('/Users/ada/Applications/Chromium.app/Contents/MacOS/Chromium'));
  const windows = chromiumPlaces({ 'ProgramFiles(x86)': '/p86' }, 'win32');
  assert.ok(windows.includes(join('/p86', 'Microsoft', 'Edge', 'Application', 'msedge.exe')));
});

test('a snap gets a profile where it may write', () => {
  const env = { HOME: '/home/ada' };
  const own = { file: '/usr/bin/chromium', isSnap: false };
  assert.equal(chromiumProfile(own, '/state/window', env), '/state/window/chromium');
  const snap = { file: '/snap/bin/chromium', isSnap: true };
  assert.match(chromiumProfile(snap, '/state/window', env), /^\/home\/ada\/snap\/chromium\//);
});

test('its proxy is the shell, for all but this machine', () => {
  const args = chromiumArguments('file:///r.html', '/profile', 'http://127.0.0.1:4001');
  assert.ok(args.includes('--proxy-server=http://127.0.0.1:4001'));
  assert.ok(args.includes('--proxy-bypass-list=<-loopback>;127.0.0.1'));
  assert.ok(!args.some((one) => one.includes('sandbox')));
});

test('a profile is held by a process that lives', async () => {
  await using folder = await scratch();
  assert.equal(holderOf(folder.path), null);
  const words = ['-e', 'setInterval(() => {}, 1e9)', folder.path];
  const holder = spawn(process.execPath, words, { stdio: 'ignore' });
  const ended = once(holder, 'exit');
  try {
    await symlink(`a-host-${holder.pid}`, join(folder.path, 'SingletonLock'));
    assert.equal(holderOf(folder.path), holder.pid);
  } finally {
    holder.kill('SIGKILL');
    await ended;
  }
  assert.equal(holderOf(folder.path), null);
});

const onLinux = process.platform === 'linux';
test(
  'a program that has the id of one that is gone is left alone',
  { skip: !onLinux },
  async () => {
    await using folder = await scratch();
    await symlink(`a-host-${process.pid}`, join(folder.path, 'SingletonLock'));
    assert.equal(holderOf(folder.path), null);
  },
);

test('where there can be no profile it is told, so that another window is taken', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'a-file');
  await writeFile(file, '');
  const window = new ChromiumWindow(
    { file: '/nowhere/chromium', isSnap: false },
    {
      env: {},
      places: { profile: file, runtime: folder.path, socket: '' },
      origin: 'http://127.0.0.1:4001',
      wanted: 'chromium',
      isHidden: false,
      events: {
        onLoaded: () => {},
        onUnanswered: () => {},
        onClosing: () => {},
        onClosed: () => {},
        onTray: () => {},
        signIn: () => Promise.resolve({ token: null, page: null }),
      },
      log: () => {},
    },
  );
  assert.match((await window.show('http://127.0.0.1:4001/open/x')) ?? '', /profile .*\(ENOTDIR\)/);
});

test('a process that got the number of one that held the profile is left alone', async () => {
  await using folder = await scratch();
  const profile = join(folder.path, 'chromium');
  await mkdir(profile);
  const other = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(other, 'exit');
  await once(other, 'spawn');
  await symlink(`a-host-${other.pid}`, join(profile, 'SingletonLock'));
  const places = { profile: folder.path, runtime: folder.path, socket: '' };
  const events = {} as WindowEvents;
  const options = { env: {}, places, origin: '', wanted: null, isHidden: true, events };
  const program = { file: '/nowhere', isSnap: false };
  await new ChromiumWindow(program, { ...options, log: () => {} })[Symbol.asyncDispose]();
  other.stdin?.end();
  assert.deepEqual(await ended, [0, null]);
});
