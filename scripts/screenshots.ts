/** Makes the pictures of docs/images/ again, from a running svc among fakes, in Chromium. */
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import type { Script } from '../test/fake/model-server.ts';
import { startLiveStage, type LiveStage } from '../test/browser/live-stage.ts';

const images = join(import.meta.dirname, '..', 'docs', 'images');
const rooms = ['lobby', 'roof', 'garden', 'bar', 'kitchen'];
const thinkMs: Readonly<Record<string, number>> = { a: 420, b: 510, c: 260 };

/** Two of three models agree, each after some thought. */
const think: Script = ({ body }) => {
  const { model } = body as { model: string };
  const answer = model === 'c' ? 'Perhaps.' : 'It opens at nine.';
  return { answer, delayMs: (thinkMs[model] ?? 0) + Math.random() * 120 };
};

/** A page, and the element that shows that it is complete. */
type Picture = { readonly name: string; readonly path: string; readonly until: string };

await using stage = await startLiveStage(think);
const talking = talk(stage, 40);
// An early delivery fails, so that a trace shows a retry; the receiver refuses the last ones.
const well = Array<number>(30).fill(200);
stage.receiver.script.push(200, 200, 500, ...well, 410, 410, 410);
await stage.receiver.waitFor(3);
const shown = String(stage.receiver.received[2]!.body['in_reply_to']);
const pictures: readonly Picture[] = [
  { name: 'live-overview', path: '/ui', until: 'svg[role=img] path[fill=currentColor]' },
  {
    name: 'live-message',
    path: `/ui?view=message&id=${shown}`,
    until: 'text=; delivered',
  },
  {
    name: 'live-dead-letters',
    path: '/ui?view=dead-letters',
    until: 'role=row >> nth=3',
  },
];
await talking;
const executablePath = process.env['SVC_CHROMIUM'] ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const viewport = { width: 1_120, height: 700 };
  const page = await browser.newPage({ viewport, timezoneId: 'UTC', locale: 'en-GB' });
  for (const picture of pictures) await take(page, picture);
} finally {
  await browser.close();
}

async function take(page: Page, { name, path, until }: Picture): Promise<void> {
  await page.goto(`${stage.origin}${path}`);
  await page.locator(until).first().waitFor({ state: 'attached' });
  await page.getByText('Live', { exact: true }).waitFor();
  await page.screenshot({ path: join(images, `${name}.png`) });
  console.log(`docs/images/${name}.png`);
}

async function talk(of: LiveStage, times: number): Promise<void> {
  for (let time = 0; time < times; time++) await of.say('When do you open?', rooms[time % 5]);
  await of.receiver.waitFor(times);
}
