/** Makes the pictures of docs/images/ again, from a running svc among fakes, in Chromium. */
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { until } from '../test/support/waiting.ts';
import { questions, startScreenshotStage } from './screenshot-stage.ts';

const images = join(import.meta.dirname, '..', 'docs', 'images');

await using stage = await startScreenshotStage();
const { receiver } = stage;
const executablePath = process.env['SVC_CHROMIUM'] ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
await using _browser = { [Symbol.asyncDispose]: () => browser.close() };
const view = { timezoneId: 'UTC', locale: 'en-GB', reducedMotion: 'reduce' } as const;

await talk();
// The readers of the README see it at 800 pixels.
const small = await browser.newPage({
  ...view,
  viewport: { width: 1_024, height: 900 },
  deviceScaleFactor: 2,
});
await small.goto(`${stage.origin}/ui`);
await small.locator('svg[role=img] path[fill=currentColor]').first().waitFor({ state: 'attached' });
await take(small, 'live-overview', 'Models');

const page = await browser.newPage({ ...view, viewport: { width: 1_120, height: 700 } });
// One delivery fails, so that its trace shows a retry.
receiver.script.push(500);
const known = receiver.received.length;
const shown = await stage.ask(questions[0], 'ticket-7');
await receiver.waitFor(known + 2);
await page.goto(`${stage.origin}/ui?view=message&id=${shown}`);
await page.locator('text=; delivered').first().waitFor();
await page.setViewportSize({ width: 1_120, height: 900 });
await take(page, 'live-message', 'Belongs to');
await page.setViewportSize({ width: 1_120, height: 700 });

receiver.script.push(410, 410, 410);
for (const [place, question] of questions.entries()) await stage.ask(question, `order-${place}`);
await receiver.waitFor(known + 5);
await page.goto(`${stage.origin}/ui?view=dead-letters`);
await page.locator('role=row >> nth=3').waitFor();
await take(page, 'live-dead-letters');

/** @param end the heading above which the picture ends; absent: the whole window */
async function take(of: Page, name: string, end?: string): Promise<void> {
  await of.getByText('Live', { exact: true }).waitFor();
  const clip = { x: 0, y: 0, ...of.viewportSize()! };
  if (end !== undefined) {
    const { y } = (await of.getByRole('heading', { name: end, exact: true }).boundingBox())!;
    clip.height = Math.floor(y) - 8;
  }
  await of.screenshot({ path: join(images, `${name}.png`), clip });
  console.log(`docs/images/${name}.png`);
}

/** The family and the customers ask a few questions, one after the other in each conversation. */
async function talk(): Promise<void> {
  const { telegram, chats } = stage;
  for (let round = 1; round <= 2; round++) {
    for (const [place, question] of questions.entries()) {
      await stage.ask(question, `ticket-${place}`);
    }
    for (const chat of chats) telegram.say(chat, 'What is for dinner?');
    await receiver.waitFor(round * questions.length);
    await until('the family has its replies', () => {
      return telegram.sent.length >= round * chats.length;
    });
  }
}
