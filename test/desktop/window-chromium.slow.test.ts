/** The window of Chromium, with its sandbox, as a user without rights. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gone } from '../support/run-svc.ts';
import { windowTest, type Shell, type Stage } from './window-stage.ts';

const here = { where: 'here', programs: ['chromium'] } as const;

async function shown(stage: Stage): Promise<Shell> {
  const shell = stage.start('chromium');
  assert.equal((await shell.told('opened')).kind, 'chromium');
  shell.order({ do: 'show', path: '/open/once' });
  await shell.told('asked', ({ url }) => url === '/open/once');
  await stage.seen('core');
  return shell;
}

/** The process that has the profile. */
function pidOf({ folder }: Stage): number {
  const lock = join(folder, 'shell', 'profile', 'chromium', 'SingletonLock');
  return Number(readlinkSync(lock).split('-').at(-1));
}

windowTest('a page comes by a file that this user alone reads', here, async (stage) => {
  const shell = await shown(stage);
  const words = readFileSync(`/proc/${pidOf(stage)}/cmdline`, 'utf8').split('\0');
  assert.ok(!words.includes('--no-sandbox'));
  assert.ok(!words.some((word) => word.includes('/open/once')));
  const runtime = join(stage.folder, 'shell', 'runtime');
  const folder = readdirSync(runtime).find((name) => name.startsWith('svc-open-')) ?? '';
  assert.ok(words.some((word) => word.endsWith(`/${folder}/open.html`)));
  assert.equal(statSync(join(runtime, folder)).mode & 0o777, 0o700);
  assert.equal(statSync(join(runtime, folder, 'open.html')).mode & 0o777, 0o600);
  const page = await shell.run('() => [document.referrer, history.length, typeof svcShell]');
  assert.deepEqual(page, ['', 1, 'undefined']);
  shell.order({ do: 'end' });
  await shell.told('ended');
  await stage.unseen('core');
  assert.deepEqual(readdirSync(runtime), []);
  assert.ok(!shell.all().some(({ told }) => told === 'closed'), 'its end was wanted');
});

windowTest('it asks nobody but this machine, whatever a page leads to', here, async (stage) => {
  const shell = await shown(stage);
  await shell.run(`() => void (location.href = 'https://elsewhere.example/')`);
  await shell.told('asked', ({ url }) => url === 'elsewhere.example:443');
  await stage.unseen('core');
  shell.order({ do: 'show', path: '/open/again' });
  await stage.seen('core');
});

windowTest('its close is told', here, async (stage) => {
  const shell = await shown(stage);
  await stage.close(await stage.seen('core'));
  assert.deepEqual(await shell.told('closed'), { told: 'closed', why: null });
  shell.order({ do: 'show', path: '/open/again' });
  await stage.seen('core');
});

windowTest('one that is killed is told, and shown again', here, async (stage) => {
  const shell = await shown(stage);
  await shell.told('shown');
  process.kill(pidOf(stage), 'SIGKILL');
  assert.deepEqual(await shell.told('closed'), {
    told: 'closed',
    why: 'Chromium was ended by SIGKILL.',
  });
  await stage.unseen('core');
  shell.order({ do: 'show', path: '/open/again' });
  await stage.seen('core');
});

windowTest('it outlives its shell; the next one shows a page in it', here, async (stage) => {
  const shell = await shown(stage);
  const pid = pidOf(stage);
  shell.child.kill('SIGKILL');
  await shell.ended;
  const next = stage.start('chromium');
  await next.told('opened');
  next.order({ do: 'show', path: '/open/again' });
  assert.equal((await next.told('shown')).why, null);
  assert.equal(pidOf(stage), pid);
  process.kill(pid, 'SIGTERM');
  await next.told('closed');
  await gone(pid);
});

windowTest('without a display there is none', here, async (stage) => {
  stage.env['DISPLAY'] = ':4711';
  const shell = stage.start('chromium');
  const { kind, why } = await shell.told('opened');
  assert.equal(kind, 'none');
  assert.match(why ?? '', /^It is not a window of Chromium, since there is no display\.$/);
});
