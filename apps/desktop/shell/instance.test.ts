import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, rename, symlink } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../../test/support/program.ts';
import { receive, becomeInstance } from './instance.ts';

const noStop = new AbortController().signal;

async function place() {
  const folder = await scratch();
  const runtime = join(folder.path, 'svc');
  return { folder, runtime, where: { runtime, socket: join(runtime, 'desktop.sock') } };
}

/** A connection handler that answers each start. */
function answering(asked: (string | null)[]): (socket: Socket) => void {
  const never = { onMessage: () => {}, onClose: () => {} };
  return (socket) =>
    receive(socket, {
      core: () => never,
      window: () => never,
      start: (config) => {
        asked.push(config);
        return Promise.resolve(config === '/other' ? { kind: 'other', config: '/one' } : shown);
      },
    });
}

const shown = { kind: 'shown' } as const;

test('the first listens, and each later one is answered by it', async () => {
  const { folder, where } = await place();
  await using _folder = folder;
  const asked: (string | null)[] = [];
  const first = await becomeInstance(where, null, answering(asked), noStop);
  assert.ok(first.kind === 'first');
  await using server = first.server;
  const second = await becomeInstance(where, null, () => {}, noStop);
  assert.deepEqual(second, { kind: 'second', answer: shown });
  const other = await becomeInstance(where, '/other', () => {}, noStop);
  assert.deepEqual(other, { kind: 'second', answer: { kind: 'other', config: '/one' } });
  assert.deepEqual(asked, [null, '/other']);
  assert.ok(server.listening);
});

test('what a killed one left is taken by exactly one of several', async () => {
  const { folder, runtime, where } = await place();
  await using _folder = folder;
  await mkdir(runtime, { mode: 0o700 });
  await leaveBehind(where.socket);
  const starts = Array.from({ length: 8 }, () =>
    becomeInstance(where, null, answering([]), noStop),
  );
  const became = await Promise.all(starts);
  const first = became.filter((one) => one.kind === 'first');
  assert.deepEqual([first.length, became.length], [1, 8]);
  assert.deepEqual(await readdir(runtime), ['desktop.lock', 'desktop.sock']);
  for (const { server } of first) await server[Symbol.asyncDispose]();
});

/**
 * Leaves a socket that nobody listens on. Closing removes its first name, so a second name keeps
 * the socket.
 */
async function leaveBehind(path: string): Promise<void> {
  const server = createServer().listen(`${path}.first`);
  await new Promise<void>((resolve) => server.once('listening', () => resolve()));
  await rename(`${path}.first`, path);
  await server[Symbol.asyncDispose]();
}

test('one that is about to end is waited for, and followed', async () => {
  const { folder, where } = await place();
  await using _folder = folder;
  const ending = await becomeInstance(where, null, (socket) => leave(socket), noStop);
  assert.ok(ending.kind === 'first');
  const leave = (socket: Socket): void => {
    ending.server.close();
    socket.destroy();
  };
  const next = await becomeInstance(where, null, () => {}, noStop);
  assert.ok(next.kind === 'first');
  await next.server[Symbol.asyncDispose]();
});

test('one that is silent is not waited for without end, nor against a signal', async () => {
  const { folder, where } = await place();
  await using _folder = folder;
  const leaving = new AbortController();
  let onAsked = (): void => {};
  const hear = (socket: Socket): void => void socket.on('data', () => onAsked());
  const silent = await becomeInstance(where, null, hear, noStop);
  assert.ok(silent.kind === 'first');
  await using _server = silent.server;
  const late = await becomeInstance(where, null, () => {}, noStop, 100);
  assert.ok(late.kind === 'fault' && /is silent/.test(late.message));
  onAsked = () => leaving.abort();
  for (const when of ['while it waits', 'before']) {
    const left = await becomeInstance(where, null, () => {}, leaving.signal);
    assert.deepEqual(left, { kind: 'stopped' }, when);
  }
});

test('a folder that others can write to, or that leads elsewhere, is not used', async () => {
  const { folder, runtime, where } = await place();
  await using _folder = folder;
  await symlink(folder.path, runtime);
  const led = await becomeInstance(where, null, () => {}, noStop);
  assert.ok(led.kind === 'fault' && /not a folder of this user alone/.test(led.message));
  const open = join(folder.path, 'open');
  await mkdir(open);
  await chmod(open, 0o777);
  const shared = { runtime: open, socket: join(open, 'desktop.sock') };
  assert.equal((await becomeInstance(shared, null, () => {}, noStop)).kind, 'fault');
});
