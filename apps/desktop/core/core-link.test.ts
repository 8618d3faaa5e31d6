import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shellPage, startFakeShell } from '../../../test/fake/shell.ts';
import { later, type SteadyTime } from '../../../src/lib/clock.ts';
import { openCoreLink, type CoreLinkTimes } from './service-core.ts';

async function start(times: Partial<CoreLinkTimes> = {}) {
  await using stack = new AsyncDisposableStack();
  const shell = stack.use(await startFakeShell());
  const did: string[] = [];
  let now = 0 as SteadyTime;
  let tokens = 0;
  const role = {
    role: 'service',
    config: '/home/ada/svc.json',
    offer: () => 'http://127.0.0.1:2112/ui#code',
    grant: () => (tokens++ === 0 ? 'a token' : null),
    withdraw: () => void did.push('withdraw'),
    stop: () => void did.push('stop'),
  } as const;
  const link = stack.use(openCoreLink(shell.orders, role, () => now, times));
  const open = stack.move();
  const pass = (ms: number): void => {
    now = later(now, ms);
  };
  return { shell, link, did, pass, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Nothing answers a welcome, so the answer to a later question shows that the core received it. */
async function welcomed({ shell, link }: Started): Promise<void> {
  await shell.next('core');
  await shell.grant();
  assert.equal(link.page, shellPage);
}

test('a core says first what it is, and answers what it is asked', async () => {
  await using started = await start();
  const { shell, link, did } = started;
  assert.deepEqual(await shell.next('core'), {
    kind: 'core',
    role: 'service',
    pid: process.pid,
    config: '/home/ada/svc.json',
  });
  link.atWork('http://127.0.0.1:2112', true);
  assert.equal((await shell.next('at_work')).origin, 'http://127.0.0.1:2112');
  assert.equal((await shell.offer()).hash, '#code');
  assert.equal(await shell.grant(), 'a token');
  assert.equal(await shell.grant(), null);
  shell.say({ kind: 'withdraw' });
  shell.say({ kind: 'stop' });
  await shell.grant();
  assert.deepEqual(did, ['withdraw', 'stop']);
});

test('a page that is asked for before there is one is offered once there is', async () => {
  await using started = await start();
  const { shell, link } = started;
  await shell.next('core');
  const offered = shell.offer();
  await shell.grant();
  link.atWork('http://127.0.0.1:2112', false);
  assert.equal((await offered).pathname, '/ui');
});

test('another shell is told the same from the beginning, and its page counts', async () => {
  await using started = await start();
  const { shell, link } = started;
  await welcomed(started);
  link.atWork('http://127.0.0.1:2112', true);
  await shell.next('at_work');
  await shell.gone();
  await shell.back();
  await welcomed(started);
  assert.deepEqual(await shell.next('at_work'), {
    kind: 'at_work',
    origin: 'http://127.0.0.1:2112',
    canWrite: true,
  });
});

test('a shell that comes while it ends is told so, and not that it is at work', async () => {
  await using started = await start();
  const { shell, link } = started;
  await welcomed(started);
  link.atWork('http://127.0.0.1:2112', true);
  link.leaving();
  await shell.next('leaving');
  await shell.gone();
  await shell.back();
  await welcomed(started);
  await shell.next('leaving');
  const kinds = shell.heard.map(({ kind }) => kind);
  assert.deepEqual(kinds.slice(kinds.lastIndexOf('core')), ['core', 'leaving', 'granted']);
});

test('without a shell there is no page, and nobody to show a window', async () => {
  await using started = await start();
  const { shell, link } = started;
  assert.deepEqual([link.page, link.showWindow()], [null, { kind: 'no_shell' }]);
  await welcomed(started);
  await shell.gone();
  while (link.page !== null) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(link.showWindow(), { kind: 'no_shell' });
});

test('a window is asked for once in 5 s', async () => {
  await using started = await start();
  const { shell, link, pass } = started;
  await welcomed(started);
  assert.deepEqual(link.showWindow(), { kind: 'asked' });
  pass(1_000);
  assert.deepEqual(link.showWindow(), { kind: 'too_soon', afterMs: 4_000 });
  pass(4_000);
  assert.deepEqual(link.showWindow(), { kind: 'asked' });
  await shell.next('show_wanted');
  await shell.next('show_wanted');
});

test('why it is stuck is out before it ends, also when it ends at once', async () => {
  const started = await start();
  const { shell, link } = started;
  const why = { of: 'in_use', message: 'It is in use.' } as const;
  await link.stuck(why);
  await link[Symbol.asyncDispose]();
  assert.deepEqual((await shell.next('stuck')).why, why);
  assert.deepEqual(
    shell.heard.map(({ kind }) => kind),
    ['core', 'stuck'],
  );
  await started[Symbol.asyncDispose]();
});

test('a shell that does not come is not waited for', async () => {
  await using started = await start({ shellMs: 1 });
  const { shell, link } = started;
  await shell.next('core');
  const role = {
    role: 'first_run',
    config: '/c',
    offer: () => '',
    grant: () => null,
    withdraw: () => {},
    stop: () => {},
  } as const;
  const nowhere = { socket: `${shell.orders.socket}.none` };
  await using alone = openCoreLink(nowhere, role, undefined, { shellMs: 1 });
  await alone.stuck({ of: 'in_use', message: '' });
  link.written();
  await shell.next('written');
});
