import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../../test/support/program.ts';
import { displayFault, placesOfX11 } from './display.ts';

test('a display is there while its socket takes connections', async () => {
  await using folder = await scratch();
  const env = { WAYLAND_DISPLAY: 'wayland-7', XDG_RUNTIME_DIR: folder.path };
  const server = createServer((socket) => socket.destroy());
  server.listen(join(folder.path, 'wayland-7'));
  await once(server, 'listening');
  assert.equal(await displayFault(env, 'linux'), null);
  server.close();
  await once(server, 'close');
  const fault = 'The display that WAYLAND_DISPLAY=wayland-7 names does not answer.';
  assert.equal(await displayFault(env, 'linux'), fault);
});

test('without a variable there is none; other systems always have one', async () => {
  const fault = 'There is no display here: neither DISPLAY nor WAYLAND_DISPLAY is set.';
  assert.equal(await displayFault({ DISPLAY: '' }, 'linux'), fault);
  assert.equal(await displayFault({}, 'darwin'), null);
  assert.equal(await displayFault({}, 'win32'), null);
});

test('a display of X is found where the system keeps it', async () => {
  const here = [{ path: '/tmp/.X11-unix/X1' }, { path: '\0/tmp/.X11-unix/X1' }];
  assert.deepEqual(placesOfX11(':1'), here);
  assert.deepEqual(placesOfX11('unix:1.0'), here);
  assert.deepEqual(placesOfX11('localhost:10.0'), [{ host: 'localhost', port: 6010 }]);
  assert.deepEqual(placesOfX11('/private/tmp/com.apple.launchd.x/org.xquartz:0x'), []);
  assert.match((await displayFault({ DISPLAY: ':47110' }, 'linux')) ?? '', /DISPLAY=:47110 names/);
});
