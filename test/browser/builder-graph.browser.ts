/** The graph of the builder: its display, and changes by mouse and by keyboard. */
import assert from 'node:assert/strict';
import { browserTest, pressOn } from './browser.ts';
import { assertTabFits, contextWith, show, signIn } from './builder-desk.ts';

const local = (model: string) => ({
  provider: 'local_runtime',
  model_id: model,
  locality: 'local',
  base_url: 'http://127.0.0.1:9',
});
const cloud = { provider: 'hosted_runtime', model_id: 'paid', locality: 'cloud', api_key_env: 'K' };
const brainOf = (name: string, ...models: object[]) => ({
  name,
  sensitivity: 'private',
  policy: { kind: 'priority' },
  models,
});
const two = { brains: [brainOf('echo', local('a'), cloud), brainOf('idle', local('b'))] };

browserTest(
  'the graph shows what is asked, and what never is',
  contextWith(two, { K: 'the-key-of-the-tests' }),
  async ({ open }) => {
    const view = await open();
    const page = await signIn(view);
    const node = (name: string) => page.locator('.react-flow__node').filter({ hasText: name });
    await node('paid').getByText('never asked: private brain').waitFor();
    await node('idle').getByText('no route names this brain').waitFor();
    await node('idle').getByText('no route leads here').waitFor({ state: 'detached' });
    // The graph draws lines once both ends are measured.
    await page.getByLabel('echo never asks paid').waitFor({ state: 'attached' });
    await node('idle').click();
    await page.getByRole('heading', { name: 'brain idle' }).waitFor();
    await page.getByText('no route names this brain, so it is not started').first().waitFor();
    await view.assertAccessible();
    await view.assertTargets();
  },
);

browserTest(
  'a line that is drawn is a route',
  contextWith(two, { K: 'the-key-of-the-tests' }),
  async ({ open }) => {
    const page = await signIn(await open());
    const handle = (name: string, side: string) =>
      page
        .locator('.react-flow__node')
        .filter({ hasText: name })
        .locator(`.react-flow__handle.${side}`);
    await handle('Channel', 'source').dragTo(handle('idle', 'target'));
    await page.getByLabel('webhook is answered by idle').waitFor({ state: 'attached' });
    await show(page, 'Review');
    await page
      .getByText('The channel webhook is answered by brain idle in the place of echo')
      .waitFor();
  },
);

browserTest(
  'everything is there by keyboard alone',
  contextWith(two, { K: 'the-key-of-the-tests' }),
  async ({ open }) => {
    const page = await signIn(await open());
    const { keyboard } = page;
    await page.locator('.react-flow__node').first().focus();
    await keyboard.press('Enter');
    // Waits for a single marked node: among several it would be ambiguous.
    await page.locator('.react-flow__node[aria-current]').waitFor();
    const brain = page.getByLabel('Connect to the brain');
    await brain.waitFor();
    await brain.focus();
    await keyboard.press('ArrowDown');
    await page.getByLabel('webhook is answered by idle').waitFor({ state: 'attached' });
    await page.getByLabel('webhook is answered by idle').focus();
    await keyboard.press('Enter');
    await keyboard.press('Delete');
    await page.getByLabel('webhook is answered by idle').waitFor({ state: 'detached' });
    await pressOn(page, 'Undo');
    await page.getByLabel('webhook is answered by idle').waitFor({ state: 'attached' });
    await page.locator('.react-flow__node').filter({ hasText: 'idle' }).focus();
    await keyboard.press('Enter');
    await keyboard.press('Enter');
    await page.getByRole('tab', { name: 'Form', selected: true }).waitFor();
  },
);

browserTest(
  'the first node is a few steps from the top of the page',
  contextWith(two, { K: 'the-key-of-the-tests' }),
  async ({ open }) => {
    const view = await open();
    const page = await signIn(view);
    await page.locator('.react-flow__node').first().waitFor();
    await page.getByRole('link', { name: 'Skip to the content' }).focus();
    await page.keyboard.press('Tab');
    await page
      .getByRole('link', { name: 'Skip to the graph' })
      .and(page.locator(':focus'))
      .waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.react-flow__node:focus').waitFor();
    await view.assertTargets();
  },
);

browserTest(
  'what is added is chosen, and what is removed takes its route',
  contextWith(two, { K: 'the-key-of-the-tests' }),
  async ({ open }) => {
    const view = await open({ viewport: { width: 360, height: 740 } });
    const page = await signIn(view);
    const graph = page.getByRole('tabpanel');
    await graph.getByLabel('Add a channel').selectOption('messenger_a');
    await page.getByRole('heading', { name: 'channel Telegram' }).waitFor();
    await graph.getByRole('button', { name: '+ Brain' }).click();
    await page.getByRole('heading', { name: 'brain brain' }).waitFor();
    await page.getByLabel('Connect to a channel').selectOption('messenger_a');
    await page.getByText('It answers Telegram.').waitFor();
    await view.assertFits();
    await assertTabFits(page);
    await view.assertAccessible('#view');
    await graph.getByRole('button', { name: 'Remove' }).click();
    await show(page, 'Review');
    await page.getByText('The channel Telegram is added').waitFor();
    assert.equal(await page.getByText('is answered by').count(), 0);
  },
);

browserTest(
  'a line of the graph tells what went along it in the last minute, and no other does',
  contextWith(two, { K: 'the-key-of-the-tests' }),
  async ({ site, open }) => {
    const view = await open();
    const page = await signIn(view);
    await page.getByLabel('webhook is answered by echo').waitFor({ state: 'attached' });
    await site.service.say('hello');
    await page
      .getByLabel('webhook is answered by echo, 1 in the last minute')
      .waitFor({ state: 'attached' });
    await page.getByLabel(/^echo asks a, \d+ in the last minute$/).waitFor({ state: 'attached' });
    assert.equal(await page.getByLabel('echo never asks paid').count(), 1);
    assert.equal(await page.getByLabel('idle asks b', { exact: true }).count(), 1);
    await view.assertAccessible();
    await view.assertTargets();
  },
);

const names = Array.from({ length: 50 }, (_, index) => `brain-${index}`);
const many = {
  channels: [
    ...['telegram', 'discord'].map((type) => ({
      type,
      mode: type === 'telegram' ? 'polling' : 'gateway',
      token_env: 'BOT',
    })),
    { type: 'webhook', token_env: 'S', webhook: { outbound_url: 'http://127.0.0.1:9/' } },
  ],
  brains: names.map((name) => brainOf(name, local('a'), local('b'), cloud)),
  routes: Array.from({ length: 20 }, (_, index) => ({
    channel: 'webhook',
    brain: `brain-${index * 2}`,
  })),
};

browserTest(
  'of fifty brains only what is in view is drawn',
  contextWith(),
  async ({ site, open }) => {
    const view = await open();
    const page = await signIn(view);
    await show(page, 'JSON');
    await page.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+a');
    const { first } = site.service;
    await page.keyboard.insertText(JSON.stringify({ ...first, ...many }));
    await show(page, 'Graph');
    await page.locator('.react-flow__node').first().waitFor();
    const canvas = await page.locator('.react-flow').boundingBox();
    await page.mouse.move(canvas!.x + 200, canvas!.y + 200);
    for (let turn = 0; turn < 20; turn++) await page.mouse.wheel(0, 300);
    await page.locator('.react-flow__node').filter({ hasText: 'brain-1' }).first().waitFor();
    const drawn = await page.locator('.react-flow__node').count();
    assert.ok(drawn > 3 && drawn < 120, `${drawn} of 203 are drawn`);
  },
);
