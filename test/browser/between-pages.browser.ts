/** Links from the state of a thing to its configuration, and back. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { browserTest } from './browser.ts';
import { contextWith, enter, show } from './builder-desk.ts';

const notSignedIn = /401 \(Unauthorized\)/;

/** Follows a link by keyboard, after giving it the focus. */
async function followLink(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name }).press('Enter');
}

browserTest(
  'a node of the flow leads to its form in the builder, and back',
  contextWith(),
  async (s) => {
    const view = await s.open();
    const { page } = view;
    view.expectFault(notSignedIn);
    await page.goto('/ui?view=flow');
    await page.getByRole('link', { name: 'Edit echo in the builder' }).waitFor();
    const cut = await page
      .getByRole('list', { name: 'Brains' })
      .getByText('leads to')
      .evaluate((word) => word.parentElement!.scrollHeight - word.parentElement!.clientHeight);
    assert.equal(cut, 0, 'where it leads to is shown whole');
    await view.assertAccessible();
    await view.assertTargets();
    await followLink(page, 'Edit echo in the builder');
    await enter(page);
    await page.getByRole('heading', { name: 'echo' }).waitFor();
    await page.waitForURL(/view=form&at=brains%5B0%5D$/);
    await followLink(page, 'Its messages');
    await page.waitForURL(/\/ui\?view=messages&brain=echo$/);
    await page.goto('/ui?view=flow');
    await followLink(page, 'Edit llama3.2 (Ollama) in the builder');
    await enter(page);
    await page.getByRole('heading', { name: 'llama3.2' }).waitFor();
    await show(page, 'Graph');
    await view.assertAccessible();
    await view.assertTargets();
    await followLink(page, 'Does it answer?');
    await page.getByRole('heading', { name: 'llama3.2 (Ollama)' }).waitFor();
  },
);

browserTest('what is not in use has no live page', contextWith(), async ({ open }) => {
  const view = await open();
  const { page } = view;
  view.expectFault(notSignedIn);
  await page.goto('/builder?view=form&at=brains[0]');
  await enter(page);
  await page.getByRole('link', { name: 'Its messages' }).waitFor();
  await page.getByLabel('Name (required)').fill('other');
  await page.getByRole('link', { name: 'Its messages' }).waitFor({ state: 'detached' });
  await page.getByLabel('Name (required)').fill('echo');
  await page.getByRole('link', { name: 'Its messages' }).waitFor();
});
