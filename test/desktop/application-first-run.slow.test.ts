/** The first run in the window, up to the first message, and the window's help for a beginner. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite } from 'node:test';
import type { Page } from 'playwright-core';
import { startFakeOllama } from '../fake/ollama.ts';
import { noKeyring } from '../keyring/session.ts';
import { openServing, signedIn } from './serving.ts';
import { applicationTest, openDesktop, press, pressLast, titled } from './stage.ts';
import { takeTurn } from './turn.ts';
import { secret } from './world.ts';

/** Waits for the step of the first run with this title. */
async function step(page: Page, title: string): Promise<void> {
  await page.getByRole('heading', { level: 2, name: title, exact: true }).waitFor();
}

suite('a beginner with the application', () => {
  applicationTest(
    'comes in the window from nothing to the first message, and to the service that goes on',
    async () => {
      await using _ = await takeTurn();
      await using runtime = await startFakeOllama({ answer: 'Hello from the model.' });
      await using desktop = await openDesktop({
        keyring: 'unlocked',
        env: { OLLAMA_HOST: runtime.url },
      });
      desktop.start();
      const page = await desktop.page();
      await step(page, 'The model that answers');
      await press(page, 'llama3.2');
      await press(page, 'Go on with it');
      await step(page, 'Where messages come from');
      await press(page, 'Webhook');
      await step(page, 'Where its secrets are kept');
      await page.getByLabel('WEBHOOK_SECRET', { exact: true }).fill(secret);
      await press(page, 'Keep them in the keychain of this system');
      await step(page, 'The file');
      await press(page, 'Write it, and start');
      await step(page, 'The first message');
      await page.getByText('Hello from the model.').waitFor();
      const firstRun = desktop.pidOf('core')!;
      await press(page, 'Done');
      await page.getByRole('link', { name: 'Go on to svc' }).press('Enter');
      await page.waitForURL(/\/ui$/);
      await page.getByRole('link', { name: 'Builder' }).waitFor();
      assert.notEqual(await desktop.comes('core', firstRun), firstRun);
      const text = await readFile(desktop.places.config, 'utf8');
      assert.match(text, /"llama3\.2/);
      for (const { file, text: written } of await desktop.home.texts()) {
        assert.ok(!written.includes(secret), file);
      }
    },
    noKeyring,
  );

  applicationTest('does all that a terminal would be needed for', async () => {
    await using serving = await openServing({ admin: undefined });
    const { world, desktop } = serving;
    const run = desktop.start();
    const page = await desktop.page();
    await page.waitForURL(`${world.origin}/ui`);
    await press(page, 'Let me change things');
    await page.getByRole('link', { name: 'Go to that page' }).press('Enter');
    await titled(page, 'svc is running');
    const readOnly = desktop.pidOf('core');
    await press(page, 'Let me change things here');
    await page.getByRole('status').waitFor();
    await desktop.comes('core', readOnly);
    await titled(page, 'svc is running');
    await press(page, 'Open svc');
    await signedIn(page, world);
    assert.match(await readFile(desktop.places.config, 'utf8'), /"token_env": "ADMIN_TOKEN"/);
    await page.getByRole('link', { name: 'This application' }).press('Enter');
    await page.getByRole('link', { name: 'Log' }).press('Enter');
    await page.getByText('svc is listening').first().waitFor();
    await press(page, 'Open its folder');
    await page.getByRole('status').waitFor();
    assert.deepEqual(await desktop.home.opened(), [desktop.places.logs]);
    await page.getByRole('link', { name: 'This application' }).press('Enter');
    const before = desktop.pidOf('core');
    await press(page, 'Start it again');
    await desktop.comes('core', before);
    await signedIn(page, world);
    await page.getByRole('link', { name: 'This application' }).press('Enter');
    await pressLast(page, 'Quit svc');
    assert.deepEqual(await run.ended, { code: 0, signal: null });
    await desktop.ends();
  });

  applicationTest('is told of a model that is away, and sees it answer again', async () => {
    await using serving = await openServing();
    const { world, desktop } = serving;
    await world.model.script({ fail: 'refused' });
    desktop.start();
    const page = await desktop.page();
    await signedIn(page, world);
    const concern = page
      .getByRole('listitem')
      .filter({ hasText: 'No model answers for the brain' });
    await concern.getByRole('link', { name: 'Look' }).press('Enter');
    await page.getByText('Ollama does not answer.').waitFor();
    await world.model.script({ answer: 'It opens at nine.' });
    await press(page, 'Ask it now');
    await page.getByText('It answers', { exact: true }).waitFor();
  });
});
