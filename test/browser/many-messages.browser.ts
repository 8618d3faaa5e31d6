/** Ten thousand messages in one list, as the hub of events reports them. */
import assert from 'node:assert/strict';
import type { ChannelKey, MessageId, ModelName, ReplyId } from '../../src/domain/ids.ts';
import { makeWorld, openAdmin, type World } from '../fake/admin-world.ts';
import { browserTest, type Site } from './browser.ts';

const messages = 10_000;
/** The hub buffers this many events for a slow reader; each message has three. */
const atOnce = 300;

type ManySite = Site & { readonly world: World };

async function start(): Promise<ManySite> {
  const world = makeWorld();
  world.clockMs = Date.now();
  const admin = await openAdmin(world);
  const close = () => admin[Symbol.asyncDispose]();
  return { world, origin: `http://127.0.0.1:${admin.port}`, [Symbol.asyncDispose]: close };
}

function happen({ world }: ManySite, number: number): void {
  const channel = 'webhook' as ChannelKey;
  const id = `9${String(number).padStart(21, '0')}` as MessageId;
  const model = 'local_runtime/small' as ModelName;
  const decision = { kind: 'reply', text: 'a reply', model, why: 'first' } as const;
  const ada = { id: 'ada', name: null };
  world.clockMs++;
  world.events.messageAccepted({ channel, id, duplicate: false });
  world.events.turnFinished({ channel, id, sender: ada, brain: 'main', decision, ms: 4 });
  const reply = { id: `r${number}` as ReplyId, message: id, attempt: 1 };
  world.events.replyDelivered({ channel, ...reply, totalMs: 6 });
}

browserTest('ten thousand messages are listed and gone through', start, async ({ site, open }) => {
  const view = await open();
  const { page } = view;
  // The world's own message is older.
  await page.goto(`/ui?view=messages&since=${site.world.clockMs}`);
  await page.getByText('Live', { exact: true }).waitFor();
  for (let done = 0; done < messages;) {
    const until = Math.min(done + atOnce, messages);
    for (; done < until; done++) happen(site, done);
    await page.getByText(`${done.toLocaleString('en-GB')} messages`).waitFor();
  }
  assert.ok((await page.getByRole('row').count()) < 100, 'only what can be seen is there');
  const table = page.getByRole('table', { name: 'Messages' });
  assert.equal(await table.getAttribute('aria-rowcount'), String(messages + 1));
  await page.keyboard.press('j');
  await page.getByRole('link').last().press('End');
  await page.locator(`[aria-rowindex="${messages + 1}"]`).waitFor();
  happen(site, messages);
  await page.getByRole('button', { name: '1 new' }).click();
  await page.locator('[aria-rowindex="2"]').waitFor();
});
