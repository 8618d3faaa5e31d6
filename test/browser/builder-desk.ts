/** The builder of a running service, with a signed-in person. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { adminToken, startConfigured } from '../config/program.ts';
import type { Site, View } from './browser.ts';

export type TurnContext = Site & { readonly service: Awaited<ReturnType<typeof startConfigured>> };

/** @param settings of the first configuration, beside the usual ones */
export const contextWith =
  (settings: object = {}, env: Record<string, string> = {}) =>
  async (): Promise<TurnContext> => {
    const service = await startConfigured(settings, env);
    const close = () => service[Symbol.asyncDispose]();
    return {
      origin: `http://127.0.0.1:${service.adminPort}`,
      service,
      [Symbol.asyncDispose]: close,
    };
  };

/** Opens the sign-in page. It comes with a 401, which Chromium writes to its console. */
export async function openSignIn(view: View, tab = 'graph'): Promise<Page> {
  const { page } = view;
  view.expectFault(/401 \(Unauthorized\)/);
  await page.goto(`/builder?view=${tab}`);
  await page.getByLabel('Administrator token').waitFor();
  return page;
}

/** Signs in on the sign-in page. */
export async function enter(page: Page): Promise<void> {
  await page.getByLabel('Administrator token').fill(adminToken);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('tab', { name: 'Review' }).waitFor();
}

/** Loads the page again. The tab keeps the token, so nobody signs in. */
export async function reload(page: Page): Promise<void> {
  await page.reload();
  await page.getByRole('tab', { name: 'Review' }).waitFor();
}

export async function signIn(view: View, tab = 'graph'): Promise<Page> {
  const page = await openSignIn(view, tab);
  await enter(page);
  return page;
}

/** Tells the page that this text is in use. No program here could start with it. */
export async function answerConfig(page: Page, text: string, revision = 'r-1'): Promise<void> {
  const json = { revision, text, file: '/etc/svc/svc.json', usedAt: Date.now() };
  await page.route('**/api/v1/config', (route) => route.fulfill({ json }));
}

/** Makes keys one step of the history on any machine, however slow. */
export async function stopClock(page: Page): Promise<void> {
  await page.evaluate('{ const now = Date.now(); Date.now = () => now; }');
}

/** Opens the outline, which a small screen folds away. */
export async function unfold(page: Page): Promise<void> {
  const button = page.getByRole('button', { name: 'Outline', exact: true, expanded: false });
  if (await button.isVisible()) await button.click();
}

/** Opens a tab of the middle. */
export async function show(page: Page, tab: string): Promise<void> {
  await page.getByRole('tab', { name: tab, exact: true }).click();
}

/** The shown tab has no clipped content and needs no sideways scrolling. */
export async function assertTabFits(page: Page): Promise<void> {
  const sizes = "((one) => [one.scrollWidth, one.clientWidth])(document.getElementById('view'))";
  const [content, place] = await page.evaluate<[number, number]>(sizes);
  assert.ok(content <= place, `the tab is ${content} wide in a place of ${place}`);
}

/** Signs out, and leaves the draft in the browser. */
export async function leave(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByRole('button', { name: 'Sign out, and leave them' }).click();
}
