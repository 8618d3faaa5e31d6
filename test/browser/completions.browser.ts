/** The API of chat completions: in the builder, and its requests on the pages of the operator. */
import assert from 'node:assert/strict';
import { askAdmin } from '../config/program.ts';
import { freePort } from '../support/program.ts';
import { browserTest, pressOn } from './browser.ts';
import { assertTabFits, contextWith, show, signIn, unfold } from './builder-desk.ts';

const brainOf = (name: string) => ({
  name,
  sensitivity: 'private',
  policy: { kind: 'priority' },
  models: [
    {
      provider: 'local_runtime',
      model_id: 'm',
      locality: 'local',
      base_url: 'http://127.0.0.1:9',
    },
  ],
});
const settings = {
  brains: [brainOf('echo'), brainOf('coder')],
  routes: [{ channel: 'webhook', brain: 'echo' }],
};
const token = { COMPLETIONS_TOKEN: 'the-token-of-the-clients' };

for (const colorScheme of ['light', 'dark'] as const) {
  browserTest(
    `a person offers brains to API clients, in a ${colorScheme} page`,
    contextWith({ _note: 'mine', ...settings }, token),
    async ({ site, open }) => {
      const width = colorScheme === 'light' ? 1_280 : 390;
      const view = await open({ colorScheme, viewport: { width, height: 900 } });
      const page = await signIn(view, 'form');
      await unfold(page);
      await page.getByRole('treeitem', { name: /^Chat completions/ }).click();
      await pressOn(page, 'Add chat completions');
      const variable = page.getByLabel('Variable with the token');
      assert.equal(await variable.inputValue(), 'COMPLETIONS_TOKEN');
      await page.getByLabel('coder').check();
      const bind = page.getByLabel('Address to listen on');
      await bind.fill('nowhere');
      await page.locator('#view').getByText('This is no address').waitFor();
      const address = `127.0.0.1:${await freePort()}`;
      await bind.fill(address);
      await page.getByLabel('Requests per minute').fill('60');
      await view.assertAccessible();
      await view.assertTargets();
      await assertTabFits(page);
      await show(page, 'Graph');
      await page.getByLabel('API clients can use coder').waitFor({ state: 'attached' });
      await page.locator('.react-flow__node').filter({ hasText: 'Chat completions' }).click();
      await page.getByRole('heading', { name: 'API Chat completions' }).waitFor();
      await view.assertAccessible();
      await show(page, 'Review');
      await page.getByText(`The block completions is added`).waitFor();
      await page.getByText(`completions API listens on ${address}`).first().waitFor();
      await show(page, 'JSON');
      const text = await page.locator('.cm-content').innerText();
      assert.ok(text.indexOf('"_note"') < text.indexOf('"completions"'), text);
      await show(page, 'Form');
      await pressOn(page, 'Remove Chat completions');
      await page.getByRole('button', { name: 'Add chat completions' }).waitFor();
      await show(page, 'Review');
      await page.getByText('Nothing is changed').first().waitFor();
      const { body } = await askAdmin(site.service.adminPort, 'config');
      assert.ok(!body.text?.includes('"completions"'));
    },
  );
}
