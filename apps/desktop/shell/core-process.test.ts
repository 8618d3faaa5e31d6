import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { test } from 'node:test';
import { scratch } from '../../../test/support/program.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import { isProcessAlive } from '../../../src/lib/holders.ts';
import { beginCore, watchCore } from './core-supervisor.ts';

const orders = { socket: '/run/svc/desktop.sock', port: 2_112, logFolder: '/log' };

function begin(
  script: string,
  env: Record<string, string> = {},
  inMemory = new Map<string, string>(),
) {
  const lines: string[] = [];
  const core = beginCore({
    program: { file: process.execPath, args: ['-e', script] },
    env: { ...process.env, ...env },
    orders,
    inMemory,
    onLine: (line) => lines.push(line),
  });
  return { core, lines };
}

test('it gets its orders, and its last words are there when it has ended', async () => {
  const script = `
    const { npm_lifecycle_event: npm = 'none', SVC_DESKTOP: orders } = process.env;
    console.error(orders);
    process.stderr.write('npm ' + npm);
    process.exitCode = 3;`;
  const { core, lines } = begin(script, { npm_lifecycle_event: 'start' });
  const end = await core.ended;
  const told = JSON.stringify({ ...orders, lends: false });
  assert.deepEqual(end, { code: 3, signal: null, lastLines: [told, 'npm none'] });
  assert.deepEqual(lines, end.lastLines);
  assert.equal(isProcessAlive(core.pid!), false);
  core.signal('SIGTERM');
});

test('what is given to it in memory comes by a pipe alone', async () => {
  const script = `
    const { readFileSync } = require('node:fs');
    console.error(process.env.SVC_DESKTOP + process.argv + readFileSync(0, 'utf8'));`;
  const { core } = begin(script, {}, new Map([['A_TOKEN', 'canary-1']]));
  const [said = ''] = (await core.ended).lastLines;
  assert.match(said, /"lends":true/);
  assert.ok(said.endsWith('{"A_TOKEN":"canary-1"}'));
  assert.equal(said.split('canary-1').length, 2);
});

test('it begins also where the folder that the shell began in is gone', async () => {
  const before = process.cwd();
  const folder = await scratch();
  try {
    process.chdir(folder.path);
    process.cwd();
    await rm(folder.path, { recursive: true });
    const { core } = begin('process.cwd()');
    assert.deepEqual(await core.ended, { code: 0, signal: null, lastLines: [] });
  } finally {
    process.chdir(before);
    await folder[Symbol.asyncDispose]();
  }
});

test('a program that is not there is an end like others, with the reason', async () => {
  const core = beginCore({
    program: { file: '/nonexistent/svc', args: [] },
    env: {},
    orders,
    onLine: () => {},
  });
  const { code, lastLines } = await core.ended;
  assert.deepEqual([core.pid, code], [null, null]);
  assert.match(lastLines.join(''), /ENOENT/);
});

test('one that others began is seen to end, and told by a signal', async () => {
  const { core } = begin('setInterval(() => {}, 1e6)');
  const watched = watchCore(core.pid!);
  assert.ok(isProcessAlive(core.pid!));
  watched.signal('SIGKILL');
  assert.equal((await core.ended).signal, 'SIGKILL');
  // The watch does not keep the process alive, so this timer does.
  const hold = setInterval(() => {}, patienceMs);
  assert.deepEqual(await watched.ended, { code: null, signal: null, lastLines: [] });
  clearInterval(hold);
  watched.signal('SIGTERM');
});
