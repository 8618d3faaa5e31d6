/** The first run in the window of the application, from its link to the running service. */
import assert from 'node:assert/strict';
import { shellPage } from '../fake/shell.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import type { KeychainState } from '../../src/domain/keychain-state.ts';
import { startFirstRun, type FirstRunStage } from '../desktop/first-run-stage.ts';
import { browserTest, pressOn, type Stage, type View } from './browser.ts';
import { stepOf } from './setup-stage.ts';

const start = (keychain: KeychainState) => async (): Promise<FirstRunStage> => {
  const own = new AsyncDisposableStack();
  const runtime = own.use(await startFakeOllama({ answer: 'Hello from the model.' }));
  const stage = own.use(await startFirstRun(runtime.url, keychain));
  return { ...stage, [Symbol.asyncDispose]: () => own.disposeAsync() };
};

/** Goes to the question where to keep the secrets. */
async function toSecrets({ site, open }: Stage<FirstRunStage>): Promise<View> {
  const view = await open({ viewport: { width: 360, height: 700 } });
  const { page } = view;
  await page.goto((await site.shell.offer()).href);
  await stepOf(view, 'The model that answers');
  assert.equal(await page.getByRole('button', { name: /^Leave/ }).count(), 0);
  await pressOn(page, 'llama3.2');
  await pressOn(page, /^Go on with it$/);
  await pressOn(page, 'Webhook');
  await stepOf(view, 'Where its secrets are kept');
  return view;
}

/** Goes from there to the end, with this way of keeping them. */
async function toEnd(view: View, keep: string): Promise<void> {
  const { page } = view;
  await pressOn(page, keep);
  await stepOf(view, 'The file');
  await view.assertAccessible();
  await pressOn(page, /^Write it, and start$/);
  await page.getByText('The answer:').waitFor();
  await pressOn(page, 'Done');
}

const goOn = (view: View) => view.page.getByRole('link', { name: 'Go on to svc' });

browserTest('the last page leads on to where svc goes on', start('ready'), async (stage) => {
  const view = await toSecrets(stage);
  const { shell, kept } = stage.site;
  await view.assertAccessible();
  await toEnd(view, 'Keep them in the keychain of this system');
  await stepOf(view, 'Done');
  assert.equal(await goOn(view).getAttribute('href'), `${shellPage}?waited`);
  await shell.next('written');
  assert.ok(kept().has('WEBHOOK_SECRET'));
  await view.assertAccessible();
  await view.assertFits();
  // The shell ends the first run, and the page stays as it was.
  shell.say({ kind: 'stop' });
  assert.deepEqual(await stage.site.ended, { kind: 'ended' });
  await goOn(view).waitFor();
});

browserTest('without a keychain it is said what is lost', start('no_provider'), async (stage) => {
  const view = await toSecrets(stage);
  await view.page.getByText(/No keychain is there for this user/).waitFor();
  await view.assertAccessible();
  await toEnd(view, 'Go on without it');
  await stepOf(view, 'Running');
  await view.page.getByText(/WEBHOOK_SECRET: kept nowhere/).waitFor();
  assert.equal(await goOn(view).count(), 0);
  await view.assertAccessible();
  await view.assertFits();
  // A link to the live view would ask for a token that nobody has.
  assert.equal(await view.page.getByRole('link').count(), 0);
  await pressOn(view.page, 'Start it again now');
  await stepOf(view, 'Done');
  assert.equal(await goOn(view).getAttribute('href'), `${shellPage}?waited`);
});
