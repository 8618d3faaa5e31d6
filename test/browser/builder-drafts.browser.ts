/** Drafts of the builder that outlast a page: of several tabs, and the data that no draft keeps. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { browserTest } from './browser.ts';
import { contextWith, enter, reload, show, signIn } from './builder-desk.ts';

const state = (page: Page) => page.locator('#draft-state');
/** Waits for this number of drafts: changes of other pages arrive a moment later. */
const keeps = (page: Page, drafts: number) =>
  page.waitForFunction(`() => localStorage.length === ${drafts}`);

async function rename(page: Page, name: string): Promise<void> {
  await page
    .getByRole('treeitem', { name: /^(?:echo|mine)/ })
    .first()
    .click();
  await page.getByLabel('Name (required)').fill(name);
  await page.getByRole('treeitem', { name: new RegExp(`^${name}`) }).waitFor();
}

browserTest('a draft that is offered stays until somebody decides', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  page.on('dialog', (dialog) => void dialog.accept());
  await signIn(view, 'form');
  await rename(page, 'mine');
  const { text = '' } = (await s.site.service.ask('config')).body;
  await s.site.service.put(`${text}\n`);
  for (let visit = 0; visit < 3; visit++) {
    await reload(page);
    await page.getByText('There is a draft from').waitFor();
    await state(page).getByText('as in use').waitFor();
  }
  await page.getByRole('button', { name: 'Not now' }).click();
  await reload(page);
  await page.getByRole('button', { name: 'Take up the draft' }).click();
  await page.getByRole('treeitem', { name: /^mine/ }).waitFor();
  await keeps(page, 1);
});

browserTest('another tab leaves a draft alone, and is offered it', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  page.on('dialog', (dialog) => void dialog.accept());
  await signIn(view, 'form');
  await rename(page, 'mine');
  await keeps(page, 1);
  const other = await page.context().newPage();
  await other.goto('/builder?view=form');
  await enter(other);
  await other.getByText('It is of another tab or of an earlier visit.').waitFor();
  await reload(other);
  await other.getByText('It is of another tab or of an earlier visit.').waitFor();
  await other.getByRole('button', { name: 'Throw it away' }).click();
  await other.getByText('There is a draft from').waitFor({ state: 'detached' });
  await keeps(page, 0);
  await other.close();
});

browserTest(
  'a tab is offered what another one keeps, and only while it does',
  contextWith(),
  async (s) => {
    const view = await s.open();
    const { page } = view;
    page.on('dialog', (dialog) => void dialog.accept());
    await signIn(view, 'form');
    const other = await page.context().newPage();
    await other.goto('/builder?view=form');
    await enter(other);
    const offer = other.getByText('There is a draft from');
    await page.getByRole('treeitem', { name: /^echo/ }).click();
    const choose = (value: string) => page.getByLabel('Sensitivity (required)').selectOption(value);
    await choose('public');
    await offer.waitFor();
    await choose('private');
    await offer.waitFor({ state: 'detached' });
    await choose('public');
    await other.getByRole('button', { name: 'Not now' }).click();
    await offer.waitFor({ state: 'detached' });
    await page.getByLabel('Name (required)').fill('mine');
    await other.waitForFunction(`() => JSON.stringify(localStorage).includes('mine')`);
    assert.equal(await offer.count(), 0);
    await other.close();
  },
);

browserTest('an offered draft keeps its place, and Not now holds', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  await signIn(view, 'form');
  const other = await page.context().newPage();
  await other.goto('/builder?view=form');
  await enter(other);
  const put = (id: string, ago: number, note = id) =>
    page.evaluate(`localStorage.setItem('svc-builder-draft.${id}', JSON.stringify({
      text: '{"_note": "${note}"}', revision: 'r-0', savedAt: Date.now() - ${ago} }))`);
  await put('elder', 3_600_000);
  await other.getByText('There is a draft from 1 h').waitFor();
  await put('newer', 120_000);
  await other.getByText('1 more is there too.').waitFor();
  await other.getByText('There is a draft from 1 h').waitFor();
  await other.getByRole('button', { name: 'Throw it away' }).focus();
  await page.evaluate("localStorage.removeItem('svc-builder-draft.elder')");
  await other.getByText('There is a draft from 2 min').waitFor();
  await other.locator(':focus:not(button)').waitFor();
  await keeps(page, 1);
  await other.getByRole('button', { name: 'Not now' }).click();
  // Reloading its tab gives a draft another id.
  await put('reloaded', 120_000, 'newer');
  await page.evaluate("localStorage.removeItem('svc-builder-draft.newer')");
  await put('eldest', 3 * 3_600_000);
  await other.getByText('There is a draft from 3 h').waitFor();
  assert.equal(await other.getByText('1 more is there too.').count(), 0);
  await other.close();
});

browserTest('who signs out is told what would be lost', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  page.on('dialog', (dialog) => void dialog.accept());
  await signIn(view, 'form');
  await rename(page, 'mine');
  await show(page, 'JSON');
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' unfinished');
  await page.getByText('Something stands after the end', { exact: false }).waitFor();
  // Not the button of the dialog, which disappears a moment after the dialog closes.
  const leave = page.getByRole('button', { name: 'Sign out', exact: true });
  await leave.click();
  await page.getByText('its text is no JSON').waitFor();
  await view.assertAccessible();
  await page.getByRole('button', { name: 'Stay' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await state(page).getByText('changed, not applied').waitFor();
  await leave.click();
  await page.getByRole('button', { name: 'Sign out, and leave them' }).click();
  await enter(page);
  await page.getByText('What you wrote after that was not kept').waitFor();
  await leave.click();
  await page.getByText('This browser keeps 1 draft').waitFor();
  await page.getByRole('button', { name: 'Sign out, and throw them away' }).click();
  await page.getByLabel('Administrator token').waitFor();
  await keeps(page, 0);
  await enter(page);
  await state(page).getByText('as in use').waitFor();
  await leave.click();
  await page.getByLabel('Administrator token').waitFor();
});

browserTest(
  'a change is kept though what follows at once is unfinished',
  contextWith(),
  async (s) => {
    const view = await s.open();
    const { page } = view;
    page.on('dialog', (dialog) => void dialog.accept());
    await signIn(view, 'form');
    const { text } = (await s.site.service.ask('config')).body;
    await show(page, 'JSON');
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText((text ?? '').replaceAll('"echo"', '"mine"'));
    await page.keyboard.insertText(' unfinished');
    await page.getByText('Something stands after the end', { exact: false }).waitFor();
    await reload(page);
    await page.getByText('What you wrote after that was not kept').waitFor();
    await page.getByRole('treeitem', { name: /^mine/ }).waitFor();
  },
);

browserTest('what may be a secret is not kept, and is said', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  page.on('dialog', (dialog) => void dialog.accept());
  await signIn(view, 'form');
  await page.getByRole('treeitem', { name: /^llama/ }).click();
  await page.getByLabel('Base URL').fill('http://me:pass-of-mine@127.0.0.1:1');
  await page.getByText('what stands at echo › llama3.2: base_url may be a secret').waitFor();
  assert.ok(!(await page.evaluate<string>('JSON.stringify(localStorage)')).includes('pass-of'));
  await view.assertAccessible();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('This draft lasts as long as the page').waitFor({ state: 'detached' });
});

browserTest('what only the service can know of a draft is told too', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  page.on('dialog', (dialog) => void dialog.accept());
  await signIn(view, 'form');
  const { text } = (await s.site.service.ask('config')).body;
  const document = JSON.parse(text ?? '') as { brains: object[] };
  const agent = { tools: ['read_file'], read_file: { root: './no-such-folder' } };
  Object.assign(document.brains[0]!, { agent });
  await show(page, 'JSON');
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(JSON.stringify(document, null, 2));
  const problems = page.getByRole('complementary', { name: 'Problems' });
  await problems.getByText('There is no folder').waitFor();
  await problems.getByText('1 warning', { exact: true }).waitFor();
  await show(page, 'Form');
  await problems.getByRole('button', { name: 'Go to echo › Agent: read_file.root' }).click();
  await page.getByLabel('Root (required)').fill('.');
  await problems.getByText('No problems').waitFor();
});
