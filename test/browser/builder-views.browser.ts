/** Every view of the builder is accessible and fits every screen. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { answerConfig, contextWith, enter, openSignIn, signIn, unfold } from './builder-desk.ts';
import { browserTest, type View } from './browser.ts';

const golden = join(import.meta.dirname, '../golden');
const everything = readFileSync(join(golden, '0.1-everything.json'), 'utf8');
/** With an error, a warning and a model that is never asked. */
const faulty = everything
  .replace('"sensitivity": "public"', '"sensitivity": "private"')
  .replace('"mode": "polling"', '"mode": "gateway", "colour": "red"');

type Look = () => Promise<void>;

/** Walks from the sign-in page over the forms, and calls `look` in each. */
async function walkForms(view: View, look: Look): Promise<void> {
  const { page } = view;
  await answerConfig(page, faulty);
  await openSignIn(view, 'form');
  await look();
  await enter(page);
  await look();
  await lookAt(page, [/^Telegram/, /^local first/], look);
}

/** Walks over the other forms, since each test has its own time limit. */
async function walkMoreForms(view: View, look: Look): Promise<void> {
  const { page } = view;
  await answerConfig(page, faulty);
  await signIn(view, 'form');
  await lookAt(page, [/^gpt/, /^Agent/, /^Sessions/], look);
}

async function lookAt(page: Page, names: readonly RegExp[], look: Look): Promise<void> {
  for (const name of names) {
    await unfold(page);
    await page.getByRole('treeitem', { name }).first().click();
    await look();
  }
}

/** Walks over the views that are no forms. */
async function walkRest(view: View, look: Look): Promise<void> {
  const { page } = view;
  await answerConfig(page, faulty);
  await signIn(view, 'form');
  await page.getByRole('tab', { name: 'JSON' }).click();
  await page.locator('.cm-lintRange-error').first().click();
  await look();
  await page.keyboard.press('Control+f');
  await page.locator('.cm-search').waitFor();
  await look();
  await page.getByRole('button', { name: 'Go to …' }).click();
  await page.getByRole('combobox', { name: 'Go to, or do' }).fill('brain');
  await look();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Keys' }).click();
  await page.getByText('These keys').waitFor();
  await look();
}

const walks = [
  ['each of the first forms', walkForms],
  ['each further form', walkMoreForms],
  ['each other view', walkRest],
] as const;

for (const [what, walk] of walks) {
  browserTest(`${what} is for every eye and ear`, contextWith(), async ({ open }) => {
    const view = await open();
    await walk(view, async () => {
      await view.assertAccessible();
      await view.assertTargets();
    });
  });

  browserTest(`${what} fits a small telephone`, contextWith(), async ({ open }) => {
    const view = await open({ viewport: { width: 360, height: 740 } });
    await walk(view, () => view.assertFits());
    await view.assertAccessible();
  });

  browserTest(`${what} fits a large screen, in forced colours`, contextWith(), async (s) => {
    const view = await s.open({
      viewport: { width: 3840, height: 2160 },
      forcedColors: 'active',
    });
    await walk(view, () => view.assertFits());
  });
}
