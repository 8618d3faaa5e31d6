/** Dead letters and deliveries in the live view: shown to a reader, replayed by an operator. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { browserTest } from './browser.ts';
import { goToView } from './live-stage.ts';
import { signIn, startOperatorStage, tabTo, type OperatorStage } from './operator-stage.ts';
import { until } from '../support/waiting.ts';

const answer = 'It opens at nine.';

/** Three replies that their receiver refuses for good. */
async function startWithDead(): Promise<OperatorStage> {
  await using opened = new AsyncDisposableStack();
  const stage = opened.use(await startOperatorStage());
  stage.receiver.script.push(410, 410, 410);
  for (const [index, conversation] of ['a', 'b', 'c'].entries()) {
    await stage.say('when?', conversation);
    // One after the other, so that the first one is the oldest.
    await untilDead(stage, index + 1);
  }
  opened.move();
  return stage;
}

/** Waits for this number of dead letters. */
async function untilDead({ origin }: OperatorStage, number: number): Promise<void> {
  await until(`${number} are given up`, async () => {
    const told = await fetch(`${origin}/api/v1/dead-letters`);
    return ((await told.json()) as { rows: readonly unknown[] }).rows.length === number;
  });
}

async function openDead(page: Page): Promise<void> {
  await page.goto('/ui?view=dead-letters');
  await page.getByRole('row').nth(3).waitFor();
}

/** The only reason in the list. */
const reason = (page: Page) => page.getByRole('listitem').filter({ hasText: 'gone' });

browserTest('a reader sees why, and no text and no way to move', startWithDead, async (it) => {
  const view = await it.open();
  const { page } = view;
  await openDead(page);
  assert.match(await reason(page).innerText(), /3\s+gone \(status 410\)\s+reply never delivered/);
  await page
    .getByRole('button', { name: /^Open gone/ })
    .first()
    .click();
  await page.getByText('Only an operator may see what was to be said.').waitFor();
  assert.equal(await page.getByRole('checkbox').count(), 0);
  assert.equal(await page.getByRole('button', { name: /Replay|Discard/ }).count(), 0);
  assert.ok(!(await page.content()).includes(answer));
  await view.assertAccessible();
});

browserTest(
  'an operator looks at one, replays it, discards the rest',
  startWithDead,
  async (it) => {
    const view = await it.open();
    const { page } = view;
    await openDead(page);
    await signIn(page);
    await page.getByRole('link', { name: /^Dead letters .*may need you$/ }).waitFor();
    await page
      .getByRole('button', { name: /^Open gone/ })
      .first()
      .click();
    assert.equal(await page.getByText(answer).count(), 0);
    await page.getByRole('button', { name: 'Reveal what was to be said' }).click();
    await page.getByText(answer).waitFor();
    await view.assertAccessible();
    await page.getByRole('table').getByRole('button', { name: 'Replay …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('its receiver gets it twice').waitFor();
    await view.assertAccessible();
    await dialog.getByRole('button', { name: 'Replay 1' }).click();
    await dialog.getByText('1 of 1 will be tried again.').waitFor();
    const received = await it.site.receiver.waitFor(4);
    assert.equal(received[3]!.body['text'], answer);
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await reason(page).getByText('2', { exact: true }).waitFor();

    await page.getByRole('button', { name: 'Choose all 2' }).click();
    await page.getByText('2 are chosen').waitFor();
    await page.getByRole('button', { name: 'Discard …' }).first().click();
    await dialog.getByLabel('Why (for the audit)').fill('the shop has closed');
    await view.assertAccessible();
    await dialog.getByRole('button', { name: 'Discard 2' }).click();
    await dialog.getByText('2 of 2 are deleted.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Everything that was accepted was answered').waitFor();
    await page.locator('section:focus, main:focus').waitFor();

    await goToView(page, 'Settings', 'Audit');
    const rows = page.getByRole('row').filter({ hasText: 'the shop has closed' });
    await rows.nth(1).waitFor();
    assert.match(await rows.first().innerText(), /discard[^]*id \w+[^]*done \(200\)/);
    // Showing their text to an operator adds a row.
    await page.getByRole('row').filter({ hasText: 'read dead letter' }).first().waitFor();
    assert.equal(await page.getByRole('row').count(), 5);
    await view.assertAccessible();
  },
);

browserTest('all of one reason are replayed, the oldest first', startWithDead, async (it) => {
  const { receiver } = it.site;
  const { page } = await it.open();
  let asked = 3;
  // Conversations run in parallel, so each request starts after the one before has arrived.
  await page.route('**/replay', async (route) => {
    await receiver.waitFor(asked++);
    await route.continue();
  });
  await openDead(page);
  await signIn(page);
  await page.getByRole('link', { name: 'Show only these' }).click();
  await page.getByRole('heading', { name: /^Only gone, reply never delivered/ }).waitFor();
  await reason(page).getByRole('button', { name: 'Replay all 3 …' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('The oldest goes first').waitFor();
  await dialog.getByRole('button', { name: 'Replay 3' }).click();
  await dialog.getByText('3 of 3 will be tried again.').waitFor();
  await dialog.getByText('3 delivered.').waitFor();
  const received = await receiver.waitFor(6);
  const conversations = received.map(({ body }) => body['conversation_id']);
  assert.deepEqual(conversations, ['a', 'b', 'c', 'a', 'b', 'c']);
});

browserTest('what becomes of those that are replayed is told', startWithDead, async (it) => {
  const { receiver } = it.site;
  const view = await it.open();
  const { page } = view;
  await openDead(page);
  await signIn(page);
  receiver.script.push(200, 410, ...Array<number>(20).fill(503));
  await page.getByRole('button', { name: 'Choose all 3' }).click();
  await page.getByRole('button', { name: 'Replay …' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Replay 3' }).click();
  await dialog
    .getByText(/^1 delivered, 1 dead again \(.*410\), 1 still waits \(.*503\)\.$/)
    .waitFor();
  await view.assertAccessible();
  await view.assertTargets();
  receiver.script.length = 0;
  await dialog.getByText(/^2 delivered, 1 dead again \(.*410\)\.$/).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await reason(page).getByText('1', { exact: true }).waitFor();
});

browserTest('what dies before the events are followed is shown', startOperatorStage, async (it) => {
  const { receiver, say } = it.site;
  const { page } = await it.open();
  const held = Promise.withResolvers<void>();
  await page.route('**/api/v1/events', async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.goto('/ui?view=dead-letters');
  await page.getByText('Everything that was accepted was answered').waitFor();
  receiver.script.push(410);
  await say('when?');
  await untilDead(it.site, 1);
  held.resolve();
  await page.getByRole('row').nth(1).waitFor();
  await reason(page).getByText('1', { exact: true }).waitFor();
});

browserTest(
  'one that dies shows itself; one that is gone is told of',
  startWithDead,
  async (it) => {
    const { receiver, say, discardNewest } = it.site;
    const view = await it.open();
    const { page } = view;
    await openDead(page);
    await signIn(page);
    receiver.script.push(410);
    await say('and now?', 'd');
    await reason(page).getByText('4', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Choose all 4' }).click();
    await page.getByRole('button', { name: 'Replay …' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('marked late').waitFor();
    await discardNewest();
    view.expectFault(/status of 404/);
    await dialog.getByRole('button', { name: 'Replay 4' }).click();
    await dialog.getByText('3 of 4 will be tried again.').waitFor();
    await dialog.getByText(/^\w+: No dead letter has this id\.$/).waitFor();
    await receiver.waitFor(7);
  },
);

browserTest('by keyboard alone one is opened, shown and discarded', startWithDead, async (it) => {
  const { page } = await it.open();
  await openDead(page);
  await signIn(page);
  await tabTo(page, /^Open gone/);
  await page.keyboard.press('Enter');
  await tabTo(page, /^Reveal what was to be said$/);
  await page.keyboard.press('Enter');
  await page.getByText(answer).waitFor();
  await tabTo(page, /^Discard …$/);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await tabTo(page, /^Discard 1$/);
  await page.keyboard.press('Enter');
  await page.getByText('1 of 1 are deleted.').waitFor();
  await page.keyboard.press('Escape');
  await reason(page).getByText('2', { exact: true }).waitFor();
});

browserTest('a delivery that waits says why and for how long', startOperatorStage, async (it) => {
  await it.site.say('when?', 'fine');
  await it.site.receiver.waitFor(1);
  it.site.receiver.script.push(...Array<number>(20).fill(503));
  await it.site.say('when?');
  await it.site.receiver.waitFor(3);
  const view = await it.open();
  const { page } = view;
  await page.goto('/ui?view=deliveries');
  const row = page.getByRole('row').filter({ hasText: 'deferred' });
  await row.waitFor();
  assert.match(await row.innerText(), /overloaded \(status 503\): it answered 503[^]*(in \d|now)/);
  await page.getByText('Nothing waits.').waitFor();
  await view.assertAccessible();
  await page.getByLabel('State').selectOption('delivered');
  await page.getByRole('row').filter({ hasText: 'delivered' }).waitFor();
  assert.match(page.url(), /state=delivered/);
  await page.getByRole('row').getByRole('link').click();
  await page
    .getByRole('heading', { name: /Message/ })
    .first()
    .waitFor();
});
