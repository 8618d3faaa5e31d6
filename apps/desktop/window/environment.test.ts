import assert from 'node:assert/strict';
import { test } from 'node:test';
import { windowEnvironment } from './display.ts';

test('a window gets what a desktop needs, and no secret', () => {
  const needed = {
    HOME: '/home/ada',
    Path: 'C:\\Windows',
    XDG_RUNTIME_DIR: '/run/user/1',
    LC_ALL: 'de_DE.UTF-8',
    WAYLAND_DISPLAY: 'wayland-0',
    DBUS_SESSION_BUS_ADDRESS: 'unix:path=/bus',
  };
  const secret = { WEBHOOK_SECRET: 'a', OPENAI_API_KEY: 'b', ADMIN_TOKEN: 'c', SVC_DESKTOP: 'd' };
  assert.deepEqual(windowEnvironment({ ...needed, ...secret, TMPDIR: undefined }), needed);
});
