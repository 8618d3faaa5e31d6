/** The editor of the text loads separately, and may fail to load. */
import { contextWith, signIn } from './builder-desk.ts';
import { browserTest, pressOn } from './browser.ts';

browserTest(
  'an editor that could not be loaded is tried again',
  contextWith(),
  async ({ open }) => {
    const view = await open();
    const { page } = view;
    const editor = '**/assets/editor-box*.js';
    await page.route(editor, (route) => route.abort());
    await signIn(view);
    view.expectFault(/net::ERR_FAILED/);
    await page.getByRole('tab', { name: 'JSON' }).click();
    await page.getByText('The editor could not be loaded').waitFor();
    await page.getByRole('tab', { name: 'Review' }).waitFor();
    await view.assertAccessible();
    await page.unroute(editor);
    await pressOn(page, 'Try again');
    await page.locator('.cm-content').waitFor();
  },
);
