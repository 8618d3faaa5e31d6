/** One line of what was said in the list of messages, and the days of the list. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { AuditRow } from '../../src/domain/audit.ts';
import type { MessageRow } from '../../src/domain/records.ts';
import { until } from '../support/waiting.ts';
import { browserTest, type Site } from './browser.ts';
import { agree, operatorToken, startLiveStage } from './live-stage.ts';
import { signIn } from './operator-stage.ts';

const show = 'Show what was said';
const hide = 'Hide what was said';
const headers = { authorization: `Bearer ${operatorToken}` };

async function viewsAudited(site: Site): Promise<number> {
  const answer = await fetch(`${site.origin}/api/v1/audit`, { headers });
  const { rows } = (await answer.json()) as { readonly rows: readonly AuditRow[] };
  return rows.filter(({ action }) => action === 'read_lines').length;
}

const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name, exact: true }).click();

browserTest(
  'the operator reads a line of each message, and each load of the page is one row of the audit',
  startLiveStage,
  async ({ site, open }) => {
    await site.say('When do you open?\n\nI come by train.');
    const view = await open();
    const { page } = view;
    await page.goto('/ui?view=messages');
    const table = page.getByRole('table', { name: 'Messages' });
    await table.getByRole('link').first().waitFor();
    const button = page.getByRole('button', { name: /what was said$/ });
    assert.equal(await button.count(), 0, 'a reader has no switch');
    await signIn(page);
    await table.getByRole('cell', { name: 'ada', exact: true }).waitFor();
    const first = table.getByRole('cell', { name: 'When do you open? I come by train.' });
    assert.equal(await first.count(), 0, 'it is off at first');
    assert.equal(await viewsAudited(site), 0);
    await press(page, show);
    await first.waitFor();
    await site.say('<b>And</b> when do you close?');
    const second = table.getByRole('cell', { name: '<b>And</b> when do you close?' });
    await second.waitFor();
    await view.assertAccessible();
    await view.assertTargets();
    await press(page, hide);
    await first.waitFor({ state: 'detached' });
    await press(page, show);
    await second.waitFor();
    assert.equal(await viewsAudited(site), 1, 'one row, though it asked three times');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Reveal what was said' }).waitFor();
    await page.goBack();
    await second.waitFor();
    await page.getByRole('banner').getByRole('button', { name: 'Sign out' }).click();
    await second.waitFor({ state: 'detached' });
    assert.equal(await page.getByText('do you open?').count(), 0, 'nothing is left');
    await signIn(page);
    await page.getByRole('button', { name: show, exact: true }).waitFor();
    assert.equal(await page.getByText('do you open?').count(), 0, 'it is off again');
    await press(page, show);
    await first.waitFor();
    assert.equal(await viewsAudited(site), 2, 'another person may have signed in');
    await page.reload();
    await page.getByRole('button', { name: show, exact: true }).waitFor();
    assert.equal(await page.getByText('do you open?').count(), 0, 'a load forgets the switch');
    await press(page, show);
    await first.waitFor();
    assert.equal(await viewsAudited(site), 3);
  },
);

browserTest(
  'rows with their lines fit on a telephone, and a text that was deleted is not kept',
  () => startLiveStage(agree(), { settings: { storage: { path: 'svc.db' } } }),
  async ({ site, open }) => {
    await site.say(`${'A very long word: '.repeat(20)}${'x'.repeat(300)}`);
    const view = await open({ viewport: { width: 320, height: 640 } });
    const { page } = view;
    await page.goto('/ui?view=messages');
    const table = page.getByRole('table', { name: 'Messages' });
    await table.getByRole('link').first().waitFor();
    await signIn(page);
    await page.route('**/api/v1/messages/lines?*', (route) =>
      route.fulfill({ json: { rows: [] } }),
    );
    await press(page, show);
    await table.getByText('not kept', { exact: true }).waitFor();
    await page.unroute('**/api/v1/messages/lines?*');
    await press(page, hide);
    await press(page, show);
    await table.getByText(/^A very long word/).waitFor();
    await view.assertFits();
    await view.assertAccessible();
    await view.assertTargets();
  },
);

browserTest(
  'each row belongs to a day that the list names, in one time zone',
  startLiveStage,
  async ({ site, open }) => {
    await site.say('hello');
    const view = await open({ timezoneId: 'Asia/Tokyo', viewport: { width: 1280, height: 500 } });
    const { page } = view;
    const dayMs = 24 * 3_600_000;
    const at = Date.parse('2026-03-04T10:00:00Z');
    await page.route('**/api/v1/messages?*', async (route) => {
      const answer = await route.fetch();
      const { rows } = (await answer.json()) as { readonly rows: readonly MessageRow[] };
      const many = Array.from({ length: 60 }, (_, n) => ({
        ...rows[0]!,
        id: String(99 - n).padEnd(22, '0'),
        acceptedAt: at - Math.floor(n / 30) * dayMs - n,
      }));
      await route.fulfill({ json: { rows: many, next: null } });
    });
    await page.goto('/ui?view=messages');
    const table = page.getByRole('table', { name: 'Messages' });
    await page.getByText('Wednesday, 4 March 2026', { exact: true }).waitFor();
    await page.getByText('Times in Asia/Tokyo').waitFor();
    await table.getByRole('link', { name: '4 Mar, 19:00:00', exact: true }).waitFor();
    await page.getByRole('link').last().press('End');
    await page.getByText('Tuesday, 3 March 2026', { exact: true }).waitFor();
    await page.getByRole('rowgroup', { name: 'Rows' }).evaluate((rows) => {
      (rows as unknown as { scrollTop: number }).scrollTop = 36 * 28;
    });
    const begins = table.locator('[aria-rowindex="32"]').getByText('3 Mar', { exact: true });
    await begins.waitFor();
    await page.getByText('Wednesday, 4 March 2026', { exact: true }).waitFor();
    await until('only one row begins a day', async () => {
      return (await table.getByText('3 Mar', { exact: true }).count()) === 1;
    });
    await signIn(page);
    await table.getByRole('link', { name: '4 Mar, 19:00:00', exact: true }).waitFor();
    const scrolled = page.getByRole('rowgroup', { name: 'Rows' });
    const put = 36 * 28;
    await scrolled.evaluate((rows, px) => {
      (rows as unknown as { scrollTop: number }).scrollTop = px;
    }, put);
    await begins.waitFor();
    await press(page, show);
    await begins.waitFor();
    await until('the same row is at the top', async () => {
      const now = await scrolled.evaluate(
        (rows) => (rows as unknown as { scrollTop: number }).scrollTop,
      );
      return now === 60 * 28;
    });
    await view.assertAccessible();
  },
);
