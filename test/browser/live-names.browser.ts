/** Names and texts of other people in the live view hide, reverse and break nothing. */
import assert from 'node:assert/strict';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { browserTest, type Site } from './browser.ts';
import { operatorToken, signIn } from './operator-stage.ts';

const long = `brain${'_long'.repeat(120)}`;
const turning = 'desk\u202Eksed';
const names = [' ', turning, long];
/** The longest name that a webhook accepts. */
const conversation = 'c'.repeat(1_024);

async function startNamed(): Promise<Site> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await scratch());
  const model = opened.use(await startFakeOllama({ answer: 'left\u202Ethgir' }));
  const receiver = opened.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const config = webhookConfig({
    port,
    adminPort,
    modelUrl: model.url,
    receiverUrl: receiver.url,
  });
  const document = {
    ...config,
    brains: names.map((name) => ({ ...config.brains[0], name })),
    routes: [{ channel: 'webhook', brain: turning }],
    storage: { path: 'svc.db' },
    admin: { token_env: 'ADMIN_TOKEN' },
  };
  const file = await writeConfig(folder.path, document);
  const program = opened.use(await serve(file, port, { ADMIN_TOKEN: operatorToken }));
  await post(program.url, { sender_id: 'ada', conversation_id: conversation, text: 'Hello.' });
  await receiver.waitFor(1);
  const stack = opened.move();
  return {
    origin: `http://127.0.0.1:${adminPort}`,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

browserTest(
  'names that are blank, turn the text or have no end are seen as they are, and fit',
  startNamed,
  async ({ open }) => {
    const view = await open({ viewport: { width: 1280, height: 800 } });
    const { page } = view;
    for (const name of ['overview', 'flow', 'providers']) {
      await page.goto(`/ui?view=${name}`);
      await page.getByText('“ ”').first().waitFor();
      await page.getByText('deskU+202Eksed').first().waitFor();
      await view.assertFits();
      await view.assertAccessible();
    }
    await page.goto('/ui?view=config');
    await page.getByText('deskU+202Eksed').first().waitFor();
    await view.assertFits();
    await page.goto('/ui?view=messages');
    await page.getByRole('row', { name: /deskU\+202Eksed/ }).waitFor();
    const widths = await page
      .getByRole('main')
      .getByRole('combobox')
      .evaluateAll((all) => all.map((one) => (one as { offsetWidth?: number }).offsetWidth ?? 0));
    assert.equal(widths.length, 5);
    assert.ok(Math.min(...widths) > 120, `filters are ${widths.join(', ')} wide`);
    await view.assertFits();
  },
);

browserTest(
  'a conversation with the longest id fits, and its texts turn nothing',
  startNamed,
  async ({ open }) => {
    for (const width of [1280, 360]) {
      const view = await open({ viewport: { width, height: 800 } });
      const { page } = view;
      await page.goto('/ui?view=conversations');
      await signIn(page);
      await page.getByRole('link', { name: conversation }).click();
      await page.getByRole('heading', { name: conversation }).waitFor();
      await page.getByRole('button', { name: 'Reveal what was said' }).click();
      await page.getByText('leftU+202Ethgir').waitFor();
      await view.assertFits();
      await view.assertAccessible();
    }
  },
);
