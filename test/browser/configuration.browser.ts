/** The configuration in the live view: names for a reader; text and rollback for other people. */
import assert from 'node:assert/strict';
import { browserTest } from './browser.ts';
import { signIn, startOperatorStage, tabTo } from './operator-stage.ts';

const sequential = '"name": "echo",\n      "dispatch": "sequential",';

browserTest(
  'a reader sees names, and nothing else is asked for',
  startOperatorStage,
  async (it) => {
    const view = await it.open();
    const { page } = view;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto('/ui?view=config');
    await page.getByText('TELEGRAM_TOKEN').waitFor();
    const routes = page.getByRole('definition').filter({ hasText: '→' });
    assert.match(await routes.innerText(), /webhook → echo[^]*Telegram → echo/);
    await page.getByRole('link', { name: 'open the builder' }).waitFor();
    await page.getByText('Only an operator may see its text').waitFor();
    await view.assertAccessible();
    const secret = asked.filter((path) => /^\/api\/.*(?:config$|history|secrets)/.test(path));
    assert.deepEqual(secret, []);
  },
);

browserTest('an operator goes back to an earlier one', startOperatorStage, async (it) => {
  const { site, open } = it;
  await site.change('"name": "echo",', sequential);
  const view = await open();
  const { page } = view;
  await page.goto('/ui?view=config');
  await signIn(page);
  const text = page.getByRole('group', { name: 'Text in use' });
  await text.getByText('"sequential"').waitFor();
  await view.assertAccessible();
  await tabTo(page, /^Compare/);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  const gone = dialog.getByRole('row').filter({ hasText: 'removed' });
  await gone.waitFor();
  assert.match(await gone.innerText(), /"dispatch": "sequential",/);
  await view.assertAccessible();
  await tabTo(page, /^Restore$/);
  await page.keyboard.press('Enter');
  await dialog.getByText(/Revision \w+ is in use now/).waitFor();
  await dialog.getByText(/dispatch/).waitFor();
  await view.assertAccessible();
  await page.keyboard.press('Escape');
  await text.getByText('"sequential"').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Audit' }).click();
  const row = page.getByRole('row').filter({ hasText: 'config restore' });
  assert.match(await row.innerText(), /from \w+\s+to \w+[^]*done \(200\)/);
});

browserTest('what cannot be restored is said in words', startOperatorStage, async (it) => {
  const { site, open } = it;
  await site.change('"name": "echo",', sequential);
  const view = await open();
  const { page } = view;
  await page.goto('/ui?view=config');
  await signIn(page);
  await page.getByRole('button', { name: /^Compare/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('row').filter({ hasText: 'removed' }).waitFor();
  await site.change('"sequential"', '"fanout"');
  // The change has reached the page behind the dialog, but differs from the compared text.
  await page.locator('pre').getByText('"fanout"').waitFor();
  view.expectFault(/status of 412/);
  await dialog.getByRole('button', { name: 'Restore' }).click();
  const alert = dialog.getByRole('alert');
  await alert.getByText('Another one came into use meanwhile').waitFor();
  assert.match(await alert.innerText(), /Revision \w+ is in use by now/);
  await view.assertAccessible();
});
