/** Prices of models, and the budget of a brain, in the builder. */
import assert from 'node:assert/strict';
import { browserTest } from './browser.ts';
import { answerConfig, contextWith, signIn } from './builder-desk.ts';

const text = JSON.stringify({
  channels: [{ type: 'messenger_a', mode: 'polling', token_env: 'T', access: { allow: ['1'] } }],
  brains: [
    {
      name: 'echo',
      sensitivity: 'public',
      policy: { kind: 'priority' },
      models: [
        {
          provider: 'local_runtime',
          model_id: 'm',
          locality: 'local',
          max_output_tokens: 100,
          price: { input: 1, output: 2 },
        },
      ],
      budget: { cost_per_day: 5 },
    },
  ],
  routes: [{ channel: 'messenger_a', brain: 'echo' }],
});

browserTest('a price is written digit by digit', contextWith(), async ({ open }) => {
  const view = await open();
  const { page } = view;
  await answerConfig(page, text);
  await signIn(view, 'form');
  await page.getByRole('treeitem', { name: /^m/ }).click();
  const input = page.locator('[id="field-brains[0].models[0].price.input"]');
  await input.fill('');
  await input.pressSequentially('0.105');
  assert.equal(await input.inputValue(), '0.105');
  await page.getByText('No problems').waitFor();
  await input.fill('0.10');
  await input.press('Tab');
  await page.getByText('No problems').waitFor();
  assert.equal(await input.inputValue(), '0.1');
  await view.assertAccessible();
  await view.assertFits();
});
