/** The webview, in a Debian 13: signing in, refusals, closing, and which process outlives which. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { childrenOf, gone, root } from '../support/run-svc.ts';
import { until } from '../support/waiting.ts';
import { windowTest, type Shell, type Stage } from './window-stage.ts';

const there = { where: 'debian 13', programs: ['unshare'] } as const;

const isOfCore = ({ url }: { readonly url: string }): boolean => url.includes('/ui');

/** Waits for the page of the core. */
async function shown(stage: Stage): Promise<{ readonly shell: Shell; readonly pid: number }> {
  const shell = stage.start('webview');
  const { kind, why } = await shell.told('opened');
  assert.equal(kind, 'webview', why ?? '');
  const { pid } = await shell.told('process');
  shell.order({ do: 'trust' });
  shell.order({ do: 'show', path: '/open/once' });
  await shell.told('loaded', isOfCore);
  return { shell, pid };
}

/** A program that records the addresses for a browser, one a line. */
async function fakeBrowser(stage: Stage): Promise<() => Promise<string>> {
  const [bin, seen] = [join(stage.folder, 'bin'), join(stage.folder, 'home', 'opened')];
  await mkdir(bin);
  await chmod(bin, 0o755);
  const program = `#!/bin/sh\nprintf '%s\\n' "$1" >> '${seen}'\n`;
  await writeFile(join(bin, 'xdg-open'), program);
  await chmod(join(bin, 'xdg-open'), 0o755);
  stage.env['PATH'] = `${bin}:${stage.env['PATH']}`;
  // The file exists before its line does.
  return () =>
    until('the browser is given an address', () => {
      return existsSync(seen) ? readFileSync(seen, 'utf8') || null : null;
    });
}

windowTest(
  'a page of the core is signed in by the window, without a code',
  there,
  async (stage) => {
    const { shell } = await shown(stage);
    const signedIn = (await shell.run('() => svcShell.signIn()')) as Record<string, string>;
    assert.equal(signedIn['token'], 'a-token');
    assert.match(signedIn['page'] ?? '', /^http:\/\/127\.0\.0\.1:\d+\/app$/);
    assert.deepEqual(Object.keys(signedIn).sort(), ['page', 'token']);
    await stage.seen('core');
    shell.order({ do: 'end' });
    await shell.told('ended');
    await stage.unseen('core');
    assert.ok(!shell.all().some(({ told }) => told === 'closed'), 'its end was wanted');
  },
);

windowTest('what leads elsewhere goes to the browser, and the page stays', there, async (stage) => {
  const opened = await fakeBrowser(stage);
  const { shell } = await shown(stage);
  await shell.run(`() => void (location.href = 'file:///etc/passwd')`);
  await shell.run(`() => void (location.href = 'mailto:nobody@example.com')`);
  await shell.run(`() => void (location.href = 'https://example.com/further')`);
  assert.equal(await opened(), 'https://example.com/further\n');
  const at = await shell.run('() => [location.pathname, document.title, history.length]');
  assert.deepEqual(at, ['/ui', 'core', 1]);
});

windowTest('it stands when it is closed, until it is told what to do', there, async (stage) => {
  const { shell, pid } = await shown(stage);
  await stage.close(await stage.seen('core'));
  await shell.told('closing');
  shell.order({ do: 'show', path: '/app/close' });
  await stage.seen('shell');
  shell.order({ do: 'hide' });
  await shell.told('hidden');
  await gone(pid);
  assert.ok(!shell.all().some(({ told }) => told === 'closed'), 'its end was wanted');
  shell.order({ do: 'show', path: '/open/again' });
  await shell.told('loaded', isOfCore);
  await stage.seen('core');
});

windowTest('a window that is killed is told, and shown again', there, async (stage) => {
  const { shell, pid } = await shown(stage);
  process.kill(pid, 'SIGKILL');
  assert.deepEqual(await shell.told('closed'), {
    told: 'closed',
    why: 'its process was ended by SIGKILL',
  });
  shell.order({ do: 'show', path: '/open/again' });
  assert.deepEqual(await shell.told('shown', () => true), { told: 'shown', why: null });
  const again = await shell.told('process');
  assert.notEqual(again.pid, pid);
  await stage.seen('core');
});

windowTest('a window outlives its shell, and the next one finds it', there, async (stage) => {
  const { shell, pid } = await shown(stage);
  shell.child.kill('SIGKILL');
  await shell.ended;
  await stage.seen('core');
  const next = stage.start('any');
  assert.equal((await next.told('process')).pid, pid);
  assert.equal((await next.told('opened')).kind, 'webview');
  next.order({ do: 'trust' });
  next.order({ do: 'show', path: '/open/again' });
  await next.told('loaded', isOfCore);
  next.order({ do: 'end' });
  await next.told('ended');
  await gone(pid);
});

windowTest('without a shell to ask, a window that is closed ends', there, async (stage) => {
  const { shell, pid } = await shown(stage);
  shell.child.kill('SIGKILL');
  await shell.ended;
  await stage.close(await stage.seen('core'));
  await gone(pid);
});

windowTest('a page whose web engine is killed is loaded again', there, async (stage) => {
  const { shell, pid } = await shown(stage);
  const engine = childrenOf(pid).find((one) => {
    return readFileSync(`/proc/${one}/cmdline`, 'utf8').includes('WebKitWebProcess');
  });
  process.kill(engine!, 'SIGKILL');
  await shell.told('loaded', isOfCore);
  assert.equal(await shell.run('() => document.title'), 'core');
});

windowTest('a page that nobody answers for is told', there, async (stage) => {
  const { shell } = await shown(stage);
  shell.order({ do: 'close_core' });
  shell.order({ do: 'show', path: '/open/again' });
  assert.match((await shell.told('unanswered')).url, /\/ui#code$/);
  await stage.seen('svc');
  shell.order({ do: 'show', path: '/app/' });
  await shell.told('loaded', ({ url }) => url.endsWith('/app/'));
  await stage.seen('shell');
});

windowTest('a window ends with the display', there, async (stage) => {
  const { shell, pid } = await shown(stage);
  await stage.logOut();
  await shell.told('closed');
  await gone(pid);
});

windowTest('without a display there is none', there, async (stage) => {
  delete stage.env['DISPLAY'];
  const { kind, why } = await stage.start('webview').told('opened');
  assert.equal(kind, 'none');
  assert.equal(why, 'It is not a window of its own, since there is no display.');
});

windowTest('svc doctor tells that a webview runs here', there, async (stage) => {
  const config = join(root, 'examples', 'agent.json');
  const told = JSON.parse(await stage.svc('doctor', '--json', '--config', config)) as {
    readonly checks: readonly { readonly subject: string; readonly message: string }[];
  };
  const lines = told.checks.filter(({ subject }) => subject === 'desktop window');
  const [first = '', chromium = ''] = lines.map(({ message }) => message);
  assert.match(first, /^a window of its own \(WebKit [\d.]+\) is what svc desktop opens$/);
  assert.match(chromium, /^a window of Chromium: not here, since no Chrome/);
});
