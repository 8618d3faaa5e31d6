/** The window of Chromium, with its sandbox, as an unprivileged user. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'node:test';
import { gone } from '../support/run-svc.ts';
import { windowTest, windowTests, type Shell, type Stage } from './window-stage.ts';

const here = { where: 'here', programs: ['chromium'] } as const;

async function shown(stage: Stage): Promise<Shell> {
  const shell = stage.start('chromium');
  assert.equal((await shell.told('opened')).kind, 'chromium');
  shell.order({ do: 'show', path: '/open/once' });
  await shell.told('asked', ({ url }) => url === '/open/once');
  await stage.seen('core');
  return shell;
}

async function showAgain(shell: Shell, stage: Stage): Promise<void> {
  shell.order({ do: 'show', path: '/open/again' });
  await stage.seen('core');
}

const runtimeOf = ({ folder }: Stage): string => join(folder, 'shell', 'runtime');

/** The process that uses the profile. */
function pidOf({ folder }: Stage): number {
  const lock = join(folder, 'shell', 'profile', 'chromium', 'SingletonLock');
  return Number(readlinkSync(lock).split('-').at(-1));
}

suite('a window of Chromium', () => {
  const next = windowTests(here);
  let shell: Shell;

  next('a page comes by a file that this user alone reads', async (stage) => {
    shell = await shown(stage);
    const words = readFileSync(`/proc/${pidOf(stage)}/cmdline`, 'utf8').split('\0');
    assert.ok(!words.includes('--no-sandbox'));
    assert.ok(!words.some((word) => word.includes('/open/once')));
    const runtime = runtimeOf(stage);
    const folder = readdirSync(runtime).find((name) => name.startsWith('svc-open-')) ?? '';
    assert.ok(words.some((word) => word.endsWith(`/${folder}/open.html`)));
    assert.equal(statSync(join(runtime, folder)).mode & 0o777, 0o700);
    assert.equal(statSync(join(runtime, folder, 'open.html')).mode & 0o777, 0o600);
    const page = await shell.run('() => [document.referrer, history.length, typeof svcShell]');
    assert.deepEqual(page, ['', 1, 'undefined']);
  });

  next('its close is told', async (stage) => {
    await stage.close(await stage.seen('core'));
    assert.deepEqual(await shell.told('closed'), { told: 'closed', why: null });
    await showAgain(shell, stage);
  });

  next('one that is killed is told, and shown again', async (stage) => {
    // It counts as shown after a while; two earlier windows have done so.
    for (const _ of ['first', 'second']) assert.equal((await shell.told('shown')).why, null);
    process.kill(pidOf(stage), 'SIGKILL');
    assert.deepEqual(await shell.told('closed'), {
      told: 'closed',
      why: 'Chromium was ended by SIGKILL.',
    });
    await stage.unseen('core');
    await showAgain(shell, stage);
  });

  next('it asks nobody but this machine, whatever a page leads to', async (stage) => {
    await shell.run(`() => void (location.href = 'https://elsewhere.example/')`);
    await shell.told('asked', ({ url }) => url === 'elsewhere.example:443');
    await stage.unseen('core');
    await showAgain(shell, stage);
  });

  next(
    'it outlives its shell; the next one shows a page in it, and is told its end',
    async (stage) => {
      const pid = pidOf(stage);
      shell.child.kill('SIGKILL');
      await shell.ended;
      shell = stage.start('chromium');
      await shell.told('opened');
      await showAgain(shell, stage);
      assert.equal((await shell.told('shown')).why, null);
      assert.equal(pidOf(stage), pid);
      process.kill(pid, 'SIGTERM');
      await shell.told('closed');
      await gone(pid);
    },
  );

  next('an end that is wanted is not told, and leaves no file', async (stage) => {
    const before = shell.all().length;
    await showAgain(shell, stage);
    assert.notEqual(readdirSync(runtimeOf(stage)).length, 0);
    shell.order({ do: 'end' });
    await shell.told('ended');
    await stage.unseen('core');
    assert.deepEqual(readdirSync(runtimeOf(stage)), []);
    const told = shell.all().slice(before);
    assert.ok(!told.some((one) => one.told === 'closed'));
  });
});

windowTest('without a display there is none', here, async (stage) => {
  stage.env['DISPLAY'] = ':4711';
  const shell = stage.start('chromium');
  const { kind, why } = await shell.told('opened');
  assert.equal(kind, 'none');
  assert.match(why ?? '', /^It is not a window of Chromium, since there is no display\.$/);
});
