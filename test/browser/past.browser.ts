/** The past of the messages: a range of time, the first message ever, and lists behind cards. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { ChannelKey } from '../../src/domain/ids.ts';
import type { MessageFilter, MessagePage, MessageRow } from '../../src/domain/records.ts';
import { keyAfter, nextOf } from '../../src/ledger/pages.ts';
import { makeWorld, openAdmin } from '../fake/admin-world.ts';
import { until } from '../support/waiting.ts';
import { browserTest, type Site } from './browser.ts';
import { startLiveStage } from './live-stage.ts';

/** More than the page keeps, one a minute. */
const messages = 10_450;
const firstAt = Date.UTC(2026, 0, 1);
const everyMs = 60_000;

const kept = Array.from({ length: messages }, (_, number): MessageRow => {
  const acceptedAt = firstAt + number * everyMs;
  return {
    id: `9${String(number).padStart(21, '0')}`,
    channel: 'webhook' as ChannelKey,
    acceptedAt,
    state: 'answered',
    settledAt: acceptedAt + 40,
    brain: 'main',
    outcome: 'reply',
    model: null,
    totalMs: 45,
    replies: { waiting: 0, delivered: 1, dead: 0 },
  };
});

/** A list of these messages, as a ledger gives it. */
async function list({ since, until: end }: MessageFilter, page: MessagePage) {
  const [behind] = keyAfter<[number]>(page, [0])!;
  const fits = ({ acceptedAt }: MessageRow): boolean =>
    acceptedAt >= (since ?? 0) && acceptedAt < (end ?? Infinity);
  const inOrder = page.order === 'oldest' ? kept : kept.toReversed();
  const found = inOrder.filter(fits);
  const ends = behind + page.limit;
  return { rows: found.slice(behind, ends), next: ends < found.length ? nextOf([ends]) : null };
}

async function start(): Promise<Site> {
  const world = makeWorld();
  world.ports = { ...world.ports, reader: { ...world.ports.reader, messages: list } };
  const admin = await openAdmin(world);
  const close = () => admin[Symbol.asyncDispose]();
  return { origin: `http://127.0.0.1:${admin.port}`, [Symbol.asyncDispose]: close };
}

/** The link of a message, which shows its time. */
const message = (page: Page, number: number) =>
  page.locator(`a[href="?view=message&id=${kept[number]!.id}"]`);

const press = (page: Page, name: string) => page.getByRole('button', { name }).click();

browserTest(
  'the first message ever is one press away, and newer ones follow it',
  start,
  async ({ open }) => {
    const { page } = await open();
    await page.goto('/ui?view=messages');
    await page.getByText('200 messages and older ones.').waitFor();
    await press(page, 'First messages');
    await page.getByText('10 messages.').waitFor();
    await message(page, 0).filter({ hasText: '00:00:00' }).waitFor();
    await press(page, 'Newer messages');
    await page.getByText('200 messages and older ones.').waitFor();
    await message(page, 209).waitFor();
    await page.reload();
    await message(page, 209).waitFor();
    await page.goBack();
    await message(page, 0).waitFor();
  },
);

browserTest(
  'a list that is longer than the page keeps goes on to its end',
  start,
  async ({ open }) => {
    const { page } = await open();
    await page.goto('/ui?view=messages');
    const older = page.getByRole('button', { name: 'Older messages' });
    const rows = page.getByRole('rowgroup', { name: 'Rows' });
    await message(page, messages - 1).waitFor();
    await until('the page keeps no more', async () => {
      await rows.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      return await older.isVisible();
    });
    await page.getByText('10,000 messages and older ones.').waitFor();
    await older.click();
    // The new list begins with the last message of the former one.
    await message(page, messages - 10_000).waitFor();
    await until('the first message is there', async () => {
      await rows.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      return await message(page, 0).isVisible();
    });
    await page.getByText('451 messages.').waitFor();
  },
);

browserTest(
  'a range of time is chosen by calendars, and its link keeps it',
  start,
  async (stage) => {
    const view = await stage.open();
    const { page } = view;
    await page.goto('/ui?view=messages&channel=webhook');
    await page.getByText('Times in UTC').waitFor();
    await page.getByLabel('Accepted in').selectOption('range');
    await page.getByLabel('From', { exact: true }).fill('2026-01-01T00:05:00');
    await page.getByLabel('To', { exact: true }).fill('2026-01-01T00:03:00');
    await press(page, 'Show this time');
    await page.getByText('Choose a time after “From”.').waitFor();
    await page.getByLabel('To', { exact: true }).fill('2026-01-01T00:10:00');
    await press(page, 'Show this time');
    await page.getByText('5 messages.').waitFor();
    const range = `since=${firstAt + 5 * everyMs}&until=${firstAt + 10 * everyMs}`;
    assert.match(page.url(), new RegExp(`view=messages&channel=webhook&${range}$`));
    await view.assertAccessible();
    await page.reload();
    await page.getByText('5 messages.').waitFor();
    assert.equal(await page.getByLabel('To', { exact: true }).inputValue(), '2026-01-01T00:10');
    await page.setViewportSize({ width: 320, height: 740 });
    await view.assertFits();
    await page.getByLabel('Accepted in').selectOption('30d');
    await page.getByLabel('From', { exact: true }).waitFor({ state: 'detached' });
    assert.match(page.url(), /channel=webhook&within=30d$/);
  },
);

browserTest(
  'a card leads to the messages that it counts',
  () => {
    const wait = Promise.withResolvers<void>();
    return startLiveStage(({ body }) => {
      const { model, messages: said } = body as { model: string; messages: unknown };
      const asked = JSON.stringify(said);
      if (asked.includes('odd')) return { answer: `I am ${model}.` };
      return { answer: 'Yes.', ...(asked.includes('slow') ? { after: wait.promise } : {}) };
    });
  },
  async ({ site, open }) => {
    const { page } = await open();
    for (const text of ['one', 'odd', '/new']) await site.say(text, text);
    await site.receiver.waitFor(3);
    await site.say('slow', 'elsewhere');
    await page.goto('/ui');
    await page.getByRole('link', { name: /^1 – Not answered/ }).click();
    await page.getByText('1 message.').waitFor();
    await page.getByRole('row', { name: 'no consensus' }).waitFor();
    assert.match(page.url(), /state=unanswered&since=\d+$/);
    await page.goBack();
    await page.getByRole('link', { name: /^1 – Waiting for an answer now/ }).click();
    await page.getByText('1 message.').waitFor();
    await page.getByRole('row', { name: 'waiting' }).waitFor();
  },
);
