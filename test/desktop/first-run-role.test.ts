/** The program `svc internal first-run`, as the application starts it. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startFakeShell } from '../fake/shell.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { enter } from './first-run-stage.ts';
import { scratch } from '../support/program.ts';
import { outcomeOf, runSvc } from '../support/run-svc.ts';

test('a person who types it is told that svc starts it by itself', async () => {
  for (const args of [[], ['--config', 'svc.json']]) {
    const { code, err } = await outcomeOf(['internal', 'first-run', ...args]);
    assert.equal(code, 2);
    assert.match(err, /svc starts this by itself/);
  }
});

test('it outlives its shell, serves the next one, and ends when it is told to', async () => {
  await using folder = await scratch();
  await using runtime = await startFakeOllama({ answer: 'Hello.' });
  await using shell = await startFakeShell();
  const { logFolder } = shell.orders;
  const file = join(folder.path, 'svc.json');
  const run = runSvc(['internal', 'first-run', '--config', file], {
    env: { HOME: folder.path, OLLAMA_HOST: runtime.url, ...shell.env },
  });
  await using _killed = {
    async [Symbol.asyncDispose]() {
      if (run.child.exitCode === null) run.child.kill('SIGKILL');
      await run.ended;
    },
  };
  const { config, pid } = await shell.next('core');
  assert.equal(config, file);
  const { origin } = await shell.next('at_work');
  const page = await enter(await shell.offer());
  await page.takes('model:0');
  await shell.gone();
  await page.takes('next');
  await shell.back();
  assert.partialDeepStrictEqual(await shell.next('core'), { pid, role: 'first_run' });
  assert.equal((await shell.next('at_work')).origin, origin);
  await page.takes('webhook');
  shell.say({ kind: 'stop' });
  const { code, signal } = await run.ended;
  assert.deepEqual([code, signal, run.err()], [0, null, '']);
  assert.ok(!existsSync(file));
  assert.equal(statSync(logFolder).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(logFolder), ['svc.log']);
});
