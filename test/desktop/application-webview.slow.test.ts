/** The application with a webview, in a Debian 13: its window, its single instance, its end. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gone } from '../support/run-svc.ts';
import { kill, Marked } from './marked.ts';
import { windowTest, type Stage } from './window-stage.ts';
import { openWorld, secret, type World } from './world.ts';
import { until } from '../support/waiting.ts';

const there = { where: 'debian 13', programs: ['unshare'] } as const;

/** Recognizes each process by its command line. */
const roles = {
  shell: (words: readonly string[]) => words.includes('desktop') && !words.includes('chroot'),
  core: (words: readonly string[]) => words.includes('serve'),
  window: (words: readonly string[]) => words.join(' ').endsWith('internal window'),
};

class Processes extends Marked {
  of(role: keyof typeof roles): number | null {
    return this.main().find(({ words }) => roles[role](words))?.pid ?? null;
  }

  async next(role: keyof typeof roles, notPid: number): Promise<number> {
    let pid: number | null = null;
    await until(`there is another ${role}`, () => {
      pid = this.of(role);
      return pid !== null && pid !== notPid;
    });
    return pid!;
  }
}

async function configIn(stage: Stage, { document }: World): Promise<string> {
  const file = join(stage.folder, 'svc.json');
  await writeFile(file, JSON.stringify(document));
  await chmod(file, 0o644);
  Object.assign(stage.env, { WEBHOOK_SECRET: secret, DBUS_SESSION_BUS_ADDRESS: 'disabled:' });
  return file;
}

async function answers(world: World): Promise<void> {
  const before = world.receiver.received.length;
  assert.equal(await world.say('When do you open?'), 200);
  await until('it is answered', () => world.receiver.received.length > before);
}

/** How many times a shell has logged its kind of window. */
function windowsTold({ folder }: Stage): number {
  const log = readFileSync(join(folder, 'home/.local/state/svc/log/desktop.log'), 'utf8');
  return log.split('"The window is ').length - 1;
}

const overview = 'Overview · svc';

windowTest(
  'an application in a webview: whatever is killed, it comes back',
  there,
  async (stage) => {
    await using world = await openWorld();
    await using processes = new Processes(stage.folder, stage.uid);
    const file = await configIn(stage, world);
    stage.desktop('--config', file);
    await stage.seen(overview);
    const [core, window] = [processes.of('core')!, processes.of('window')!];
    const second = stage.desktop('--config', file);
    assert.deepEqual(await second.ended, { code: 0, signal: null }, second.err());
    assert.deepEqual(await stage.titles(), [overview]);
    kill(core);
    const newCore = await processes.next('core', core);
    await stage.seen(overview);
    assert.equal(processes.of('window'), window);
    kill(window);
    const newWindow = await processes.next('window', window);
    await stage.seen(overview);
    await answers(world);
    const shell = processes.of('shell')!;
    kill(shell);
    await gone(shell);
    await answers(world);
    const before = windowsTold(stage);
    const next = stage.desktop('--config', file);
    const newShell = await processes.next('shell', shell);
    // A window closed before the new shell has found it would end, since nobody answers.
    await until('the shell has a window', () => windowsTold(stage) > before);
    await stage.seen(overview);
    assert.deepEqual([processes.of('core'), processes.of('window')], [newCore, newWindow]);
    await stage.close(await stage.seen(overview));
    await stage.seen(String.raw`Keep answering in the background\? · svc`);
    assert.equal(processes.of('window'), newWindow);
    process.kill(newShell, 'SIGTERM');
    assert.deepEqual(await next.ended, { code: 0, signal: null });
    await until('all of it has ended', () => processes.all().length === 0);
  },
);
