import assert from 'node:assert/strict';
import { userInfo } from 'node:os';
import { test } from 'node:test';
import { placesOf } from './places.ts';

test('on Linux it keeps what it needs where XDG says, or by its defaults', () => {
  const plain = placesOf({ HOME: '/home/ada', TMPDIR: '/tmp' }, 'linux');
  assert.deepEqual(plain, {
    config: '/home/ada/.config/svc/svc.json',
    settings: '/home/ada/.config/svc/desktop.json',
    profile: '/home/ada/.local/state/svc/window',
    logs: '/home/ada/.local/state/svc/log',
    runtime: `/tmp/svc-${userInfo().uid}`,
    socket: `/tmp/svc-${userInfo().uid}/desktop.sock`,
  });
  const env = { HOME: '/home/ada', XDG_RUNTIME_DIR: '/run/user/7', XDG_STATE_HOME: '/state' };
  const { logs, socket } = placesOf(env, 'linux');
  assert.deepEqual([logs, socket], ['/state/svc/log', '/run/user/7/svc/desktop.sock']);
});

test('a path that is too long for a socket has a short one in its place, always the same', () => {
  const long = { HOME: '/home/ada', XDG_RUNTIME_DIR: `/run/${'long/'.repeat(20)}` };
  const [one, same] = [placesOf(long, 'linux'), placesOf(long, 'linux')];
  assert.ok(Buffer.byteLength(one.socket) <= 103, one.socket);
  assert.equal(one.socket, same.socket);
  const other = placesOf({ ...long, XDG_RUNTIME_DIR: `${long.XDG_RUNTIME_DIR}er` }, 'linux');
  assert.notEqual(one.runtime, other.runtime);
});

test('on Windows the socket is a pipe of this user', () => {
  const { socket } = placesOf({ APPDATA: 'A', LOCALAPPDATA: 'L' }, 'win32');
  assert.equal(socket, String.raw`\\.\pipe\svc-desktop-${userInfo().username}`);
});
