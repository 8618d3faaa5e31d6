/** Each action in the builder leaves the focus on its result, never nowhere. */
import type { Page } from 'playwright-core';
import { adminToken } from '../config/program.ts';
import { answerConfig, contextWith, enter, openSignIn, show, signIn } from './builder-desk.ts';
import { browserTest, pressOn } from './browser.ts';
import { lateFrames } from './watching.ts';

const timeout = '[id="field-brains[0].models[0].timeout_seconds"]';

/** Waits until the heading with these words has the focus. */
const onHeading = (page: Page, words: string) =>
  page.locator('h2:focus').filter({ hasText: words }).waitFor();

browserTest('a refused token leaves the focus in its field', contextWith(), async ({ open }) => {
  const page = await openSignIn(await open(), 'form');
  const token = page.getByLabel('Administrator token');
  await token.fill('another');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The service does not accept it').waitFor();
  await token.and(page.locator(':focus')).waitFor();
  await token.fill(adminToken);
  await page.keyboard.press('Enter');
  await onHeading(page, 'The configuration');
});

browserTest('a block that goes leaves the focus with the way back', contextWith(), async (s) => {
  const page = await signIn(await s.open(), 'form');
  await page.getByRole('treeitem', { name: /^Storage/ }).click();
  await pressOn(page, 'Add storage');
  await page.locator('[id="field-storage"]:focus').waitFor();
  await pressOn(page, 'Remove Storage');
  await page.locator('button[id="field-storage"]:focus').waitFor();
  const undo = page.getByRole('button', { name: 'Undo', disabled: false });
  await undo.press('Enter');
  await undo.press('Enter');
  await onHeading(page, 'Storage');
});

browserTest('what is removed leaves the focus with its like', contextWith(), async ({ open }) => {
  const page = await signIn(await open());
  await page.locator('.react-flow__node').filter({ hasText: 'echo' }).click();
  await pressOn(page.locator('#view'), 'Remove');
  await onHeading(page, 'Nothing is chosen');
  await page.getByRole('treeitem', { name: 'Webhook' }).first().click();
  await page.getByRole('treeitem', { name: 'Webhook' }).first().press('Delete');
  await page.locator('[role=treeitem]:focus').filter({ hasText: 'Channels' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Go to, or do' }).fill('show review');
  await page.keyboard.press('Enter');
  await onHeading(page, 'What changes');
});

browserTest('the end of an apply has the focus', contextWith(), async ({ open }) => {
  const view = await open();
  view.expectFault(/503 \(Service Unavailable\)/);
  const page = await signIn(view, 'templates');
  await pressOn(page, 'Choose Private local assistant');
  await pressOn(page, 'Replace mine with it');
  await onHeading(page, 'Nothing is chosen');
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('treeitem', { name: /^llama3.2/ }).click();
  await show(page, 'Form');
  await page.locator(timeout).fill('61');
  await show(page, 'Review');
  const apply = page.getByRole('button', { name: 'Apply', exact: true, disabled: false });
  await page.route('**/api/v1/config', (route) => {
    const problem = { code: 'not_saved', detail: 'No room.', status: 503 };
    return route.fulfill({ status: 503, json: problem });
  });
  await apply.press('Enter');
  await onHeading(page, 'It could not be saved');
  await page.unroute('**/api/v1/config');
  await apply.press('Enter');
  await onHeading(page, 'The configuration is in use');
  await pressOn(page, /^Look at/);
  await pressOn(page, 'Put it into use now');
  await onHeading(page, 'The earlier configuration is in use');
});

browserTest('a conflict that is settled leads to what changes', contextWith(), async (s) => {
  const page = await signIn(await s.open(), 'form');
  await page.getByRole('treeitem', { name: /^llama3.2/ }).click();
  await page.locator(timeout).fill('61');
  const { first } = s.site.service;
  await answerConfig(page, JSON.stringify({ ...first, _note: 'theirs' }, null, 2), 'r-2');
  await show(page, 'Review');
  await pressOn(page, 'Keep mine over theirs');
  await onHeading(page, 'What changes');
  await pressOn(page, 'Sign out');
  await pressOn(page, 'Sign out, and leave them');
  await page.locator('#token:focus').waitFor();
  await enter(page);
});

browserTest('an address leads to what is selected, and to a field', contextWith(), async (s) => {
  const page = await signIn(await s.open(), 'form&at=brains[0].name');
  await page.locator('[id="field-brains[0].name"]:focus').waitFor();
  await page.getByRole('treeitem', { name: /^llama3.2/ }).click();
  await page.waitForURL((url) => url.searchParams.get('at') === 'brains[0].models[0]');
  await show(page, 'Review');
  await page.waitForURL(/view=review&at=brains/);
  await page.goBack();
  await page.getByRole('heading', { name: 'llama3.2' }).waitFor();
});

browserTest('what a command leads to keeps the focus', contextWith(), async ({ open }) => {
  const view = await open();
  const { page } = view;
  // The palette closes a frame after its command has run.
  await page.addInitScript(lateFrames);
  await answerConfig(page, '{"brains": []}');
  await signIn(view, 'json');
  await page.locator('.cm-lintRange-error').first().waitFor();
  await page.getByRole('tab', { name: 'JSON' }).press('Control+k');
  await page.getByRole('combobox', { name: 'Go to, or do' }).fill('next problem');
  await page.keyboard.press('Enter');
  await page.locator('.cm-content:focus').waitFor();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.locator('.cm-content:focus').waitFor();
});
