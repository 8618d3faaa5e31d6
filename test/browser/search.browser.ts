/** The search of the live view, from every page: by name, by id, and by text. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { browserTest } from './browser.ts';
import { startLiveStage, operatorToken } from './live-stage.ts';
import { signIn, startOperatorStage } from './operator-stage.ts';

const box = (page: Page) => page.getByRole('combobox', { name: 'Search' });
const option = (page: Page, name: RegExp | string) => page.getByRole('option', { name });

browserTest(
  'a key opens the search everywhere, and the keyboard leads to what it finds',
  startLiveStage,
  async ({ site, open }) => {
    const view = await open();
    const { page } = view;
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(request.url()));
    const id = await site.say('where is my parcel');
    await site.receiver.waitFor(1);
    await page.goto('/ui?view=people');
    await page.getByRole('button', { name: 'Search', exact: false }).waitFor();
    await page.keyboard.press('Control+k');
    await box(page).waitFor();
    await page.keyboard.type('dead');
    await option(page, 'Dead letters').waitFor();
    await view.assertAccessible();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Dead letters' }).waitFor();
    await page.locator('[role="dialog"]').waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await box(page).fill('desk');
    await page.getByRole('group', { name: 'Channels, brains and models' }).waitFor();
    await box(page).fill(id.slice(0, 12));
    await page.getByRole('group', { name: 'Messages' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await option(page, new RegExp(`^${id}.*message`)).click();
    await page.waitForURL(new RegExp(`view=message&id=${id}$`));
    await page.locator('[role="dialog"]').waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await box(page).fill('parcel');
    await page.getByText('Nothing found.').waitFor();
    await page.getByText(/Signed in, you also find/).waitFor();
    assert.ok(!asked.some((url) => url.includes('search/texts')), 'texts are an operator’s');
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Administrator token').fill(operatorToken);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  },
);

browserTest(
  'an operator finds what was said, who said it and where; the audit keeps no word of it',
  startLiveStage,
  async ({ site, open }) => {
    const id = await site.say('Where is my Päckchen?', 'room-4711');
    await site.receiver.waitFor(1);
    const view = await open();
    const { page } = view;
    await page.goto('/ui');
    await signIn(page);
    await page.keyboard.press('Control+k');
    await box(page).fill('packch');
    const said = page.getByRole('group', { name: 'What was said' });
    await said.getByText('Päckch', { exact: true }).waitFor();
    await said.getByText('room-4711').waitFor();
    await view.assertAccessible();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`view=message&id=${id}$`));
    await page.locator('[role="dialog"]').waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await box(page).fill('room-47');
    // Acts like a screen reader, which moves the focus itself.
    const found = page.getByRole('group', { name: 'Conversations' }).getByRole('option');
    await found.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'room-4711' }).waitFor();
    await page.goto('/ui?view=audit');
    const headers = { authorization: `Bearer ${operatorToken}` };
    const audit = await (await fetch(`${site.origin}/api/v1/audit`, { headers })).text();
    assert.match(audit, /"action":"search_texts","target":{"characters":"6"}/);
    assert.doesNotMatch(audit, /packch|room-47/i);
  },
);

browserTest(
  'the last question counts, however late an earlier answer comes',
  startLiveStage,
  async ({ site, open }) => {
    await site.say('first words');
    await site.say('second thoughts');
    await site.receiver.waitFor(2);
    const { page } = await open({ viewport: { width: 360, height: 740 } });
    await page.goto('/ui');
    await signIn(page);
    const late = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    await page.route('**/search/texts?q=first*', async (route) => {
      begun.resolve();
      await late.promise;
      await route.continue().catch(() => {});
    });
    await page.getByRole('banner').getByRole('button', { name: 'Search' }).click();
    await box(page).fill('first');
    await begun.promise;
    const givenUp = page.waitForEvent('requestfailed', (one) => one.url().includes('q=first'));
    await box(page).fill('second');
    await page.getByRole('option', { name: /second thoughts/ }).waitFor();
    await givenUp;
    late.resolve();
    assert.equal(await page.getByRole('option', { name: /first words/ }).count(), 0);
  },
);

browserTest(
  'it fits a telephone, with the longest words and the strangest letters',
  startLiveStage,
  async ({ site, open }) => {
    await site.say(`needle\u202E ${'x'.repeat(400)} needle`, 'y'.repeat(300));
    await site.receiver.waitFor(1);
    const view = await open({ viewport: { width: 360, height: 740 } });
    const { page } = view;
    await page.goto('/ui');
    await signIn(page);
    await view.assertFits();
    await page.keyboard.press('Control+k');
    await box(page).fill('needle');
    await page.getByRole('group', { name: 'What was said' }).waitFor();
    await view.assertFits();
    await view.assertAccessible();
  },
);

browserTest(
  'a name of a person and a day are found',
  startOperatorStage,
  async ({ site, open }) => {
    await site.say('hello', 'lobby');
    await site.receiver.waitFor(1);
    const view = await open();
    const { page } = view;
    await page.goto('/ui');
    await page.getByRole('button', { name: 'Search', exact: false }).waitFor();
    await page.keyboard.press('Control+k');
    await box(page).fill('ada');
    await page.getByText('Nothing found.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await signIn(page);
    await page.keyboard.press('Control+k');
    await box(page).fill('ada');
    const people = page.getByRole('group', { name: 'People' });
    await people.getByRole('option', { name: /ada/i }).click();
    await page.getByRole('heading', { name: 'lobby' }).waitFor();
    await page.keyboard.press('Control+k');
    await box(page).fill('today');
    await page.getByRole('group', { name: 'Days' }).getByRole('option').click();
    await page.waitForURL(/view=messages&since=\d+&until=\d+$/);
    await page.getByText('1 message.').waitFor();
  },
);
