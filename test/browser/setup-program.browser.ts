/** The program `svc init --browser`: its link, its command line as others see it, and its end. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startFakeOllama } from '../fake/ollama.ts';
import { scratch } from '../support/program.ts';
import { runSvc, type Run } from '../support/run-svc.ts';
import { browserTest, pressOn, type Site } from './browser.ts';
import { stepOf } from './setup-stage.ts';

type Program = Site & { readonly run: Run; readonly link: URL; readonly folder: string };

/** Starts it with an opener that leaves the file to the test. */
async function start(): Promise<Program> {
  const folder = await scratch();
  const runtime = await startFakeOllama({ answer: 'Hello from the model.' });
  const seen = join(folder.path, 'seen');
  const opener = `#!/bin/sh\nprintf '%s' "$1" > "${seen}.new" && mv "${seen}.new" "${seen}"\n`;
  await writeFile(join(folder.path, 'xdg-open'), opener);
  await chmod(join(folder.path, 'xdg-open'), 0o700);
  const run = runSvc(['init', '--browser', '--dir', folder.path], {
    env: {
      HOME: folder.path,
      TMPDIR: folder.path,
      PATH: `${folder.path}:${process.env['PATH']}`,
      DISPLAY: ':99',
      OLLAMA_HOST: runtime.url,
    },
  });
  await run.until(/A page opens in your browser/, 'err');
  const page = await readFile(await readFile(seen, 'utf8'), 'utf8');
  const link = new URL(/url=([^"]+)/.exec(page)![1]!);
  return {
    run,
    link,
    folder: folder.path,
    origin: link.origin,
    async [Symbol.asyncDispose]() {
      if (run.child.exitCode === null) run.child.kill('SIGKILL');
      await run.ended;
      await runtime[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Every command line, as all programs on this machine can read it. */
function everyCommandLine(): string {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return '';
      }
    })
    .join('\n');
}

browserTest('svc init --browser: by its page to a service that runs', start, async (stage) => {
  const { link, folder, run } = stage.site;
  const code = link.hash.slice(1);
  const leftOpen = (): string[] =>
    readdirSync(folder).filter((name) => name.startsWith('svc-open'));
  assert.equal(leftOpen().length, 1);
  if (process.platform === 'linux') assert.ok(!everyCommandLine().includes(code));
  assert.ok(!(run.out() + run.err()).includes(code));
  const view = await stage.open();
  const { page } = view;
  await page.goto(link.href);
  await stepOf(view, 'The model that answers');
  assert.deepEqual(leftOpen(), [], 'the file with the link is gone');
  await pressOn(page, 'llama3.2');
  await pressOn(page, /^Go on with it$/);
  await pressOn(page, 'Webhook');
  const secret = page.getByLabel('WEBHOOK_SECRET', { exact: true });
  await secret.fill('canary-of-the-first-run');
  await pressOn(page, 'I set them in the environment');
  await stepOf(view, 'The file');
  await pressOn(page, /^Write it, and start$/);
  await page.getByText('The answer:').waitFor();
  await pressOn(page, 'Done');
  await stepOf(view, 'Running');
  await run.until(/The page is done/, 'err');
  const ui = await page.getByRole('link', { name: /\/ui$/ }).getAttribute('href');
  assert.equal((await fetch(ui!)).status, 200, 'the service runs in it');
  await assert.rejects(fetch(link), 'and its page is served no more');
  const everywhere = [
    await page.content(),
    run.out() + run.err(),
    everyCommandLine(),
    await readFile(join(folder, 'svc.json'), 'utf8'),
  ];
  for (const text of everywhere) assert.ok(!text.includes('canary-of-the-first-run'));
  run.child.kill('SIGTERM');
  const { code: exit, signal } = await run.ended;
  assert.deepEqual([exit, signal], [0, null]);
});

browserTest('svc init --browser: Ctrl-C before the end writes nothing', start, async (stage) => {
  const { link, folder, run } = stage.site;
  const view = await stage.open();
  await view.page.goto(link.href);
  await stepOf(view, 'The model that answers');
  view.expectFault(/ERR_|Failed to load/);
  run.child.kill('SIGINT');
  const { code, signal } = await run.ended;
  assert.deepEqual([code, signal], [1, null]);
  assert.ok(!existsSync(join(folder, 'svc.json')));
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('svc-')),
    [],
  );
  await view.page.getByText(/svc does not answer/).waitFor();
  await view.assertAccessible();
});
