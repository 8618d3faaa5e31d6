/** Models that see pictures, and a messenger with speech, in the builder. */
import assert from 'node:assert/strict';
import { browserTest } from './browser.ts';
import { answerConfig, contextWith, signIn } from './builder-desk.ts';

const model = { provider: 'local_runtime', model_id: 'm', locality: 'local' };
const text = JSON.stringify({
  channels: [
    {
      type: 'messenger_a',
      mode: 'polling',
      token_env: 'T',
      access: { allow: ['1'] },
      speech: { base_url: 'http://127.0.0.1:8000/v1', model: 'small' },
    },
  ],
  brains: [
    {
      name: 'echo',
      sensitivity: 'private',
      policy: { kind: 'priority' },
      models: [{ ...model, vision: true }],
    },
  ],
  routes: [{ channel: 'messenger_a', brain: 'echo' }],
});

browserTest(
  'sight and speech are fields, and a far server is told',
  contextWith(),
  async ({ open }) => {
    const view = await open();
    const { page } = view;
    await answerConfig(page, text);
    await signIn(view, 'form');
    await page.getByText('No problems').waitFor();
    await page.getByRole('treeitem', { name: /^m/ }).click();
    const sees = page.getByLabel(/^Sees pictures/);
    assert.equal(await sees.inputValue(), 'true');
    await sees.selectOption({ label: 'not set' });
    await page.getByText('No problems').waitFor();
    await view.assertAccessible();
    await view.assertFits();
    await page
      .getByRole('treeitem', { name: /^Telegram/ })
      .first()
      .click();
    await page.getByRole('heading', { name: /^Voice messages/ }).waitFor();
    await page.locator('[id="field-channels[0].speech.base_url"]').fill('http://93.184.216.34/v1');
    await page
      .getByText('A private brain answers here, and 93.184.216.34 is public')
      .first()
      .waitFor();
    await view.assertAccessible();
    await view.assertFits();
  },
);
