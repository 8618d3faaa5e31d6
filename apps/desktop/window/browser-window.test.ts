import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../../test/support/program.ts';
import { BrowserWindow, isOfSnap, whyNoBrowser } from './browser-window.ts';

const url = 'http://127.0.0.1:4001/open/once';

type Options = { readonly fails?: boolean; readonly entry?: string };

/** A window with a fake opener, which records its arguments and environment. */
async function stage({ fails = false, entry = 'firefox.desktop' }: Options = {}) {
  const folder = await scratch();
  const [bin, seen] = [join(folder.path, 'bin'), join(folder.path, 'seen')];
  const runtime = join(folder.path, 'runtime');
  await mkdir(bin);
  const script = (text: string): string => `#!/bin/sh\n${text}\n`;
  const opener = `printf '%s\\n%s' "$1" "$A_TOKEN" > '${seen}'\nexit ${fails ? 3 : 0}`;
  await writeFile(join(bin, 'xdg-open'), script(opener));
  await writeFile(join(bin, 'xdg-settings'), script(`echo ${entry}`));
  for (const one of ['xdg-open', 'xdg-settings']) await chmod(join(bin, one), 0o755);
  const env = { PATH: `${bin}:/bin:/usr/bin`, DISPLAY: ':9', A_TOKEN: 'secret' };
  const places = { profile: '', runtime, socket: '' };
  const window = new BrowserWindow({ env, places }, 'linux');
  return {
    window,
    runtime,
    given: () => readFileSync(seen, 'utf8').split('\n'),
    async [Symbol.asyncDispose]() {
      await window[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test('the browser gets a file that this user alone reads, and no secret', async () => {
  await using one = await stage();
  assert.equal(await one.window.show(url), null);
  const [path = '', token] = one.given();
  assert.equal(token, '');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.ok(readFileSync(path, 'utf8').includes(url));
  assert.equal(await one.window.show(`${url}-more`), null);
  const [further = ''] = one.given();
  assert.notEqual(further, path);
  assert.ok(existsSync(path), 'a browser that is slow has not read it yet');
  await one.window[Symbol.asyncDispose]();
  for (const each of [path, further]) assert.ok(!existsSync(each));
});

test('what a killed shell left to lead there is removed', async () => {
  await using one = await stage();
  const left = join(one.runtime, 'svc-open-abc123');
  await mkdir(left, { recursive: true });
  await writeFile(join(left, 'open.html'), '');
  assert.equal(await one.window.show(url), null);
  assert.ok(!existsSync(left));
});

test('a browser that reads no files of the person gets the address', async () => {
  await using one = await stage({ entry: 'firefox_firefox.desktop' });
  assert.equal(await one.window.show(url), null);
  assert.equal(one.given()[0], url);
});

test('an opener that fails is told', async () => {
  await using one = await stage({ fails: true });
  assert.equal(await one.window.show(url), 'No browser was opened: xdg-open failed.');
});

test('where no browser can be opened it is told why', async () => {
  assert.match(whyNoBrowser({ PATH: '/bin' }, 'linux') ?? '', /no display/);
  assert.match(whyNoBrowser({ DISPLAY: ':9', PATH: '/nowhere' }, 'linux') ?? '', /xdg-open is not/);
  assert.equal(whyNoBrowser({}, 'darwin'), null);
  assert.equal(whyNoBrowser({}, 'win32'), null);
  const window = new BrowserWindow(
    { env: {}, places: { profile: '', runtime: '/nowhere', socket: '' } },
    'linux',
  );
  assert.match((await window.show(url)) ?? '', /^No browser can be opened/);
});

test('snapd has its own way to name entries', () => {
  assert.ok(isOfSnap('firefox_firefox.desktop'));
  for (const entry of ['firefox-esr.desktop', 'org.mozilla.firefox.desktop', '']) {
    assert.ok(!isOfSnap(entry), entry);
  }
});
