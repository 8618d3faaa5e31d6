/** The builder of a running service, and somebody who is signed in there. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { adminToken, startConfigured } from '../config-program.ts';
import type { Site, View } from './browser.ts';

export type Desk = Site & { readonly service: Awaited<ReturnType<typeof startConfigured>> };

/** @param settings of the configuration that it begins with, beside the usual */
export const deskWith =
  (settings: object = {}, env: Record<string, string> = {}) =>
  async (): Promise<Desk> => {
    const service = await startConfigured(settings, env);
    const close = () => service[Symbol.asyncDispose]();
    return {
      origin: `http://127.0.0.1:${service.adminPort}`,
      service,
      [Symbol.asyncDispose]: close,
    };
  };

/** Signs in; the page itself comes with a 401, which Chromium writes to its console. */
export async function signIn(view: View, tab = 'graph'): Promise<Page> {
  const { page } = view;
  view.expectFault(/401 \(Unauthorized\)/);
  await page.goto(`/builder?view=${tab}`);
  await page.getByLabel('Administrator token').fill(adminToken);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('tab', { name: 'Review' }).waitFor();
  return page;
}

/** Opens a tab of the middle. */
export async function show(page: Page, tab: string): Promise<void> {
  await page.getByRole('tab', { name: tab, exact: true }).click();
}

/** Nothing of the tab that is shown is cut off, nor has to be scrolled to sideways. */
export async function assertTabFits(page: Page): Promise<void> {
  const sizes = "((one) => [one.scrollWidth, one.clientWidth])(document.getElementById('view'))";
  const [content, place] = await page.evaluate<[number, number]>(sizes);
  assert.ok(content <= place, `the tab is ${content} wide in a place of ${place}`);
}
