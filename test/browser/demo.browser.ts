/** The demo's builder: a change takes effect, and disappears with the demo. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { startCommand, type CommandRun } from '../support/in-process.ts';
import { scratch } from '../support/program.ts';
import { browserTest, type Site } from './browser.ts';
import { show } from './builder-desk.ts';

type Demo = Site & { readonly run: CommandRun; readonly token: string; readonly curl: string };

async function startDemo(): Promise<Demo> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await scratch());
  const run = opened.use(startCommand(['demo'], { env: { TMPDIR: folder.path } }));
  await run.until(/Ctrl-C ends it\.\n/);
  const [, origin, token] = await run.until(/builder +(\S+)\/builder, with the token (\S+)/);
  const [, curl] = await run.until(/^ {2}(curl .*)$/m);
  const stack = opened.move();
  return {
    origin: origin!,
    token: token!,
    curl: curl!,
    run,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

browserTest('the demo is changed in its builder', startDemo, async ({ site, open }) => {
  const view = await open();
  const { page } = view;
  view.expectFault(/401 \(Unauthorized\)/);
  await page.goto('/builder?view=form&at=brains[0]');
  await page.locator('#token:focus').waitFor();
  await page.keyboard.type(site.token);
  await page.keyboard.press('Enter');
  await page.getByLabel('Name (required)').fill('mine');
  await show(page, 'Try');
  await page.getByLabel('What a sender says').fill('is it ready?');
  await page.getByRole('button', { name: 'Ask the draft' }).click();
  await page.getByRole('heading', { name: 'The reply' }).waitFor();
  await show(page, 'Review');
  await page.getByRole('button', { name: 'Apply', exact: true, disabled: false }).click();
  await page.getByRole('heading', { name: 'The configuration is in use' }).waitFor();
  await promisify(execFile)('sh', ['-c', site.curl]);
  await site.run.until(/reply to ada: /);
  await page.goto(`/ui?view=messages&brain=mine`);
  await page.getByRole('row').filter({ hasText: 'mine' }).first().waitFor();
});
