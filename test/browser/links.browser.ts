/** Each thing links to its own address and to related things, and Back returns there. */
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { browserTest } from './browser.ts';
import { operatorToken, startLiveStage, type LiveStage } from './live-stage.ts';
import { until } from '../support/waiting.ts';

async function signIn(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in', exact: true }).first().click();
  await page.getByLabel('Administrator token').fill(operatorToken);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await page.locator('[role="dialog"]').waitFor({ state: 'detached' });
}

/** Sends a message in each conversation, and waits for their answers. */
async function sayIn(site: LiveStage, conversations: readonly string[]): Promise<string[]> {
  const before = site.receiver.received.length;
  const ids: string[] = [];
  for (const conversation of conversations) ids.push(await site.say('hello', conversation));
  await site.receiver.waitFor(before + conversations.length);
  return ids;
}

const numbered = (name: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${name} ${String(at).padStart(2, '0')}`);

const main = (page: Page): Locator => page.getByRole('main');
const focused = (page: Page): Promise<string> =>
  page.locator(':focus').evaluate((element) => element.getAttribute('href') ?? element.id);
const scrolled = (page: Page): Promise<number> => page.evaluate('scrollY');

/** Counts the message rows, with the header row, whose cells are not on one line. */
const brokenRows = (page: Page): Promise<number> =>
  page.evaluate(`[...document.querySelectorAll('main [role="row"]')].filter((row) => {
    const middles = [...row.children].map((cell) => {
      const { top, height } = cell.getBoundingClientRect();
      return top + height / 2;
    });
    return Math.max(...middles) - Math.min(...middles) > 4;
  }).length`);

browserTest(
  'messages stand on a line each, also with who sent them',
  startLiveStage,
  async ({ site, open }) => {
    await sayIn(site, ['lobby', 'other']);
    const { page } = await open();
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto('/ui?view=messages');
    const rows = main(page).getByRole('row');
    await rows.nth(2).waitFor();
    assert.equal(await brokenRows(page), 0);
    await signIn(page);
    await main(page).getByRole('columnheader', { name: 'Conversation' }).waitFor();
    await rows.getByText('lobby').waitFor();
    assert.equal(await brokenRows(page), 0);
  },
);

browserTest(
  'a conversation has an address that a restart and another person find it by',
  startLiveStage,
  async ({ site, open }) => {
    await sayIn(site, ['lobby', 'other']);
    const { page } = await open();
    await page.goto('/ui?view=conversations');
    await signIn(page);
    await page.getByRole('link', { name: 'lobby' }).click();
    await page.getByRole('heading', { name: 'lobby' }).waitFor();
    const address = page.url();
    assert.match(address, /open=c[\w-]{20,}$/);
    assert.doesNotMatch(address, /lobby|webhook/);
    await page.goto('about:blank');
    await site.stop();
    await site.start();
    const { page: shared } = await open();
    await shared.goto(address);
    await shared.getByText('Only an operator may see this conversation.').waitFor();
    assert.equal(await shared.getByText('lobby').count(), 0);
    await signIn(shared);
    await shared.getByRole('heading', { name: 'lobby' }).waitFor();
    await shared.getByRole('button', { name: 'Delete' }).click();
    await shared.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await shared.getByRole('link', { name: 'other' }).waitFor();
    const gone = await open();
    gone.expectFault(/ 404 .*\/conversations\/c/);
    const { page: later } = gone;
    await later.goto(address);
    await signIn(later);
    await later.getByText('No such conversation is kept').waitFor();
  },
);

browserTest(
  'message, conversation, turn, delivery and dead letter lead to each other',
  startLiveStage,
  async ({ site, open }) => {
    await sayIn(site, ['lobby']);
    site.receiver.script.push(410);
    const id = await site.say('when?', 'lobby');
    await until('it is given up', async () => {
      const told = await fetch(`${site.origin}/api/v1/dead-letters`);
      return ((await told.json()) as { rows: readonly unknown[] }).rows.length === 1;
    });
    const view = await open();
    const { page } = view;
    await page.goto(`/ui?view=message&id=${id}`);
    await page.getByRole('button', { name: 'Sign in to see it' }).first().waitFor();
    await main(page).getByRole('link', { name: '1 reply dead' }).waitFor();
    assert.equal(await page.getByText('lobby').count(), 0);
    await signIn(page);
    await main(page).getByRole('link', { name: 'lobby' }).waitFor();
    await view.assertAccessible();
    await view.assertTargets();
    // Opens its turn, marked once the texts are shown, and returns from there.
    await main(page).getByRole('link', { name: 'In its conversation' }).click();
    await page.getByText('The link leads to one turn').waitFor();
    await page.getByRole('button', { name: 'Reveal what was said' }).click();
    const turn = page.locator('li[aria-current="true"]');
    await turn.getByText('when?').waitFor();
    await until('it has the focus', () => turn.evaluate((one) => one.matches(':focus')));
    await view.assertAccessible();
    await view.assertTargets();
    const address = page.url();
    assert.match(address, new RegExp(`turn=${id}$`));
    await turn.getByRole('link', { name: 'Deliveries' }).click();
    const reply = page.getByRole('row').filter({ hasText: 'dead' });
    await reply.getByRole('link', { name: 'lobby' }).waitFor();
    await view.assertAccessible();
    await view.assertTargets();
    await reply.getByRole('link', { name: id }).click();
    // Opens the dead letter, and its turn again from there.
    await main(page).getByRole('link', { name: 'reply never delivered' }).click();
    await page.getByRole('heading', { name: `Of message ${id}` }).waitFor();
    await page.getByRole('button', { name: /^Open gone/ }).click();
    await main(page).getByRole('link', { name: 'lobby' }).waitFor();
    await main(page).getByRole('link', { name: 'Deliveries of the message' }).waitFor();
    await view.assertAccessible();
    await view.assertTargets();
    await main(page).getByRole('link', { name: 'Its turn' }).click();
    await page.getByRole('heading', { name: 'lobby' }).waitFor();
    assert.equal(page.url(), address);
  },
);

browserTest(
  'who sent a message and where is in its row once somebody is signed in',
  startLiveStage,
  async ({ site, open }) => {
    await sayIn(site, ['lobby']);
    const view = await open();
    const { page } = view;
    await page.goto('/ui?view=messages');
    await page.getByRole('row').nth(1).waitFor();
    assert.equal(await page.getByText(/lobby|ada/).count(), 0);
    await signIn(page);
    const row = page.getByRole('row').filter({ hasText: 'lobby' });
    await row.getByText('ada').waitFor();
    await view.assertAccessible();
    await view.assertTargets();
    // A message that arrives while the list is open shows its details too.
    await page.getByText('Live', { exact: true }).waitFor();
    await site.say('me too', 'cellar');
    await page.getByRole('link', { name: 'cellar' }).click();
    await page.getByRole('heading', { name: 'cellar' }).waitFor();
    await page.goBack();
    await page.setViewportSize({ width: 360, height: 740 });
    await row.getByText('ada').waitFor();
    await view.assertFits();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await row.waitFor({ state: 'detached' });
  },
);

browserTest(
  'Back leads to the same messages: the filter, the row, the place and the pause',
  startLiveStage,
  async ({ site, open }) => {
    const ids = await sayIn(site, numbered('c', 40));
    const { page } = await open({ viewport: { width: 1280, height: 600 } });
    await page.goto('/ui?view=messages');
    await page.getByLabel('Outcome').selectOption('reply');
    await page.getByText('40 messages.').waitFor();
    const rows = page.getByRole('rowgroup', { name: 'Rows' });
    await rows.evaluate((element) => element.scrollTo(0, 500));
    const row = page.locator(`a[href="?view=message&id=${ids[20]!}"]`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await row.focus();
    const place = await rows.evaluate((element) => element.scrollTop);
    assert.ok(place > 300);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: `Message ${ids[20]!}` }).waitFor();
    await sayIn(site, numbered('d', 3));
    await page.goBack();
    await page.getByRole('button', { name: '3 new' }).waitFor();
    assert.match(page.url(), /outcome=reply$/);
    await page.getByRole('button', { name: 'Go on', pressed: true }).waitFor();
    await until('the row has the focus', () => row.evaluate((one) => one.matches(':focus')));
    assert.equal(await rows.evaluate((element) => element.scrollTop), place);
    // Keyboard navigation continues from there.
    await page.keyboard.press('j');
    await until('the next one has it', async () => (await focused(page)).includes(ids[19]!));
    await page.getByRole('button', { name: '3 new' }).click();
    await page.getByText('43 messages.').waitFor();
  },
);

browserTest(
  'no row moves while it has the focus or a pointer is over the rows',
  startLiveStage,
  async ({ site, open }) => {
    const [id] = await sayIn(site, ['first']);
    const { page } = await open({ viewport: { width: 1280, height: 800 } });
    await page.goto('/ui?view=messages');
    await page.getByText('Live', { exact: true }).waitFor();
    const row = page.locator(`a[href="?view=message&id=${id!}"]`);
    await row.hover();
    const before = await row.boundingBox();
    await sayIn(site, ['second']);
    await page.getByRole('button', { name: '1 new' }).waitFor();
    assert.deepEqual(await row.boundingBox(), before);
    await page.mouse.move(5, 5);
    await page.getByText('2 messages.').waitFor();
    await row.focus();
    await sayIn(site, ['third']);
    await page.getByRole('button', { name: '1 new' }).waitFor();
    // On its way to that button the focus is still in the list.
    await page.getByRole('button', { name: '1 new' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('3 messages.').waitFor();
  },
);

browserTest(
  'Back leads to the same conversation, delivery and dead letter',
  startLiveStage,
  async ({ site, open }) => {
    const names = numbered('room', 30);
    await sayIn(site, names);
    site.receiver.script.push(...names.map(() => 410));
    await sayIn(site, names);
    const { page } = await open({ viewport: { width: 1280, height: 500 } });
    await page.goto('/ui?view=conversations');
    await signIn(page);
    const views = [
      ['conversations', 'conversations', (at: Locator) => at.getByRole('link').nth(20)],
      ['deliveries', 'deliveries&state=delivered', (at: Locator) => at.getByRole('link').nth(40)],
    ] as const;
    for (const [name, search, linkIn] of views) {
      await page.evaluate(`history.pushState({ entry: '${name}' }, '', '?view=${search}')`);
      await page.evaluate("dispatchEvent(new Event('placechange'))");
      const link = linkIn(main(page).getByRole('table').last());
      await link.waitFor();
      // The part above the rows loads with requests of its own.
      if (name === 'deliveries') await page.getByText('The receiver of webhook replies').waitFor();
      await link.scrollIntoViewIfNeeded();
      const [href, place] = [await link.getAttribute('href'), await scrolled(page)];
      assert.ok(place > 100, name);
      await link.click();
      await page.getByRole('heading', { level: 2 }).first().waitFor();
      await until('it is read from its top', async () => (await scrolled(page)) === 0);
      await page.goBack();
      await until(`the link of ${name}`, async () => (await focused(page)) === href);
      assert.equal(await scrolled(page), place, name);
    }
    await page.getByRole('navigation').getByRole('link', { name: 'Dead letters' }).click();
    await page.getByRole('button', { name: 'Choose all 30' }).waitFor();
    await page.getByRole('button', { name: /^Replay all 30/ }).waitFor();
    const letter = page.getByRole('button', { name: /^Open gone/ }).nth(20);
    await letter.click();
    const link = main(page).getByRole('link', { name: /^room/ });
    await link.waitFor();
    const place = await scrolled(page);
    await link.click();
    await page.getByRole('heading', { name: /^room/ }).waitFor();
    await page.goBack();
    await link.waitFor();
    await until('it has the focus', () => link.evaluate((one) => one.matches(':focus')));
    assert.equal(await scrolled(page), place);
  },
);
