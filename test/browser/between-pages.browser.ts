/** Links from the state of a thing to its configuration, and back. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { browserTest } from './browser.ts';
import { contextWith, enter, show } from './builder-desk.ts';
import { operatorToken, startLiveStage } from './live-stage.ts';
import { signIn as signInLive } from './operator-stage.ts';

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

browserTest('the token is asked for once a tab', startLiveStage, async ({ site, open }) => {
  const view = await open();
  const { page, context } = view;
  view.expectFault(notSignedIn);
  await page.goto('/ui');
  await signInLive(page);
  await page.reload();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await page.getByRole('link', { name: 'Builder' }).press('Enter');
  await page.getByRole('tab', { name: 'Review' }).waitFor();
  await page.reload();
  await page.getByRole('tab', { name: 'Review' }).waitFor();
  const elsewhere = 'JSON.stringify([localStorage, document.cookie, location.href, history.state])';
  assert.ok(!(await page.evaluate<string>(elsewhere)).includes(operatorToken));
  assert.deepEqual(await context.cookies(), []);
  const other = await context.newPage();
  await other.goto(`${site.origin}/ui`);
  await other.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  await page.getByRole('link', { name: 'Live view' }).press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).press('Enter');
  assert.equal(await page.evaluate("sessionStorage.getItem('svc-token')"), null);
  await page.reload();
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
});

browserTest('a token that svc refuses on arrival is deleted', startLiveStage, async ({ open }) => {
  const view = await open();
  const { page } = view;
  await page.goto('/ui');
  await page.evaluate("sessionStorage.setItem('svc-token', 'of-another-time')");
  view.expectFault(notSignedIn);
  await page.reload();
  await page.getByText('svc does not take your token any more').waitFor();
  assert.equal(await page.evaluate("sessionStorage.getItem('svc-token')"), null);
});

browserTest('a browser that stores nothing asks again', startLiveStage, async ({ open }) => {
  const { page } = await open();
  await page.addInitScript(() => {
    const refuse = (): never => {
      throw new DOMException('denied', 'SecurityError');
    };
    Object.defineProperty(globalThis, 'sessionStorage', { get: refuse });
  });
  await page.goto('/ui');
  await signInLive(page);
  await page.reload();
  await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
});
