/** Several bots, and routes that choose: in the builder and on the map of the live view. */
import assert from 'node:assert/strict';
import { askAdmin } from '../config/program.ts';
import { until } from '../support/waiting.ts';
import { browserTest, pressOn } from './browser.ts';
import { assertTabFits, contextWith, show, signIn } from './builder-desk.ts';

const brainOf = (name: string) => ({
  name,
  sensitivity: 'private',
  policy: { kind: 'priority' },
  models: [
    {
      provider: 'local_runtime',
      model_id: 'm',
      locality: 'local',
      base_url: 'http://127.0.0.1:9',
    },
  ],
});
const settings = {
  brains: [brainOf('team'), brainOf('coder'), brainOf('all')],
  routes: [
    { channel: 'webhook', brain: 'team', when: { chats: ['lobby'] } },
    { channel: 'webhook', brain: 'coder', when: { commands: ['/code'] } },
    { channel: 'webhook', brain: 'all' },
  ],
};

browserTest(
  'a second bot is named, and has a route of its own',
  contextWith(),
  async ({ open }) => {
    const view = await open();
    const page = await signIn(view);
    const graph = page.getByRole('tabpanel');
    await graph.getByLabel('Add a channel').selectOption('messenger_a');
    await page.getByRole('heading', { name: 'channel Telegram' }).waitFor();
    await graph.getByLabel('Add a channel').selectOption({ label: 'another Telegram' });
    await page.getByRole('heading', { name: 'channel telegram-2' }).waitFor();
    await page.getByLabel('Connect to the brain').selectOption('echo');
    await page.getByLabel('telegram-2 is answered by echo').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Open its form' }).click();
    const name = page
      .getByRole('textbox', { name: 'Name name' })
      .or(page.getByLabel(/^Name/))
      .first();
    await page.getByText('whose conversations start anew').waitFor();
    await name.fill('support');
    await name.press('Tab');
    await page.getByRole('treeitem', { name: 'support (Telegram) → echo' }).waitFor();
    await page
      .getByRole('treeitem', { name: /^support \(Telegram\)/ })
      .first()
      .waitFor();
    await page.getByRole('heading', { name: 'Routes of support (Telegram)' }).waitFor();
    await view.assertAccessible();
    await pressOn(page, 'Add a route of support (Telegram)');
    await page.getByText('Nobody was seen on this channel yet.').waitFor();
    await show(page, 'Review');
    await page.getByText('the channel support', { exact: false }).first().waitFor();
  },
);

browserTest(
  'routes are put in order by keyboard, and the focus stays with the route',
  contextWith(settings),
  async ({ open }) => {
    const view = await open();
    const page = await signIn(view, 'form');
    await page.getByRole('treeitem', { name: /^Routes/ }).click();
    const list = page.getByRole('group', { name: 'Routes of Webhook' });
    const titles = () =>
      list.getByRole('listitem').locator('button[aria-expanded]').allInnerTexts();
    await list.getByText('Route 3: every other message → all').waitFor();
    await view.assertAccessible();
    await view.assertTargets();
    await pressOn(list, 'Move Route 2: command /code → coder up');
    await page
      .locator('button:focus[aria-label="Move Route 1: command /code → coder down"]')
      .waitFor();
    await page.getByRole('status').getByText('is 1 of 3 now.').waitFor({ state: 'attached' });
    assert.deepEqual(
      (await titles()).map((title) => title.replaceAll('\n', ' ').replace('› ', '').trim()),
      [
        'Route 1: command /code → coder',
        'Route 2: chat lobby → team',
        'Route 3: every other message → all',
      ],
    );
    await page.keyboard.press('Enter');
    await page
      .locator('button:focus[aria-label="Move Route 2: command /code → coder down"]')
      .waitFor();
    await pressOn(page, 'Undo');
    await list.getByText('Route 1: command /code → coder').waitFor();
    await show(page, 'Review');
    await page
      .getByText('The channel webhook tries its routes in this order: coder for command /code')
      .waitFor();
  },
);

browserTest(
  'a condition is made of a person and a chat that were seen',
  contextWith({ storage: { path: 'svc.db' } }),
  async ({ site, open }) => {
    await site.service.say('hello');
    const view = await open({ viewport: { width: 360, height: 740 } });
    const page = await signIn(view, 'form');
    await page.getByRole('button', { name: 'Outline', exact: true }).click();
    await page.getByRole('treeitem', { name: /^Routes/ }).click();
    await pressOn(page, 'Add a route of Webhook');
    await page.getByText('Route 1:', { exact: false }).first().waitFor();
    const seen = page.getByLabel('Add a sender who was seen');
    await seen.waitFor();
    const [, sender] = await seen
      .locator('option')
      .evaluateAll((all) => all.map((one) => one.getAttribute('value') ?? ''));
    await seen.selectOption(sender);
    await page.getByText(`Route 1: sender ${sender} → echo`).waitFor();
    await page.locator('input:focus[aria-label="Senders 1"]').waitFor();
    await pressOn(page, 'Add a chat');
    const chat = page.getByRole('textbox', { name: 'Chats 1' });
    await page.getByLabel('Add a chat that was seen').selectOption({ index: 1 });
    await until('the seen chat in the empty line', async () => (await chat.inputValue()) !== '');
    await chat.fill('typed');
    await page.getByText(`Route 1: sender ${sender}, chat typed → echo`).waitFor();
    await view.assertAccessible();
    await view.assertFits();
    await assertTabFits(page);
    await show(page, 'Review');
    await page
      .getByText(`The channel webhook is answered by brain echo for sender ${sender}, chat typed`)
      .waitFor();
  },
);

browserTest(
  'the draft says which route a message takes, and the graph draws each',
  contextWith(settings),
  async ({ open }) => {
    const view = await open();
    const page = await signIn(view);
    await page.getByLabel('route 1, chat lobby: webhook is answered by team').waitFor({
      state: 'attached',
    });
    await page.getByText('2 · command /code').waitFor();
    await view.assertAccessible();
    await show(page, 'Try');
    await page.getByLabel('Its text').fill('/code sort this');
    await page.getByLabel('Id of its conversation').fill('hall');
    await page.getByText('route 2: command /code → coder', { exact: true }).waitFor();
    await page.getByText('Route 1, team: not taken, the chat is not lobby.').waitFor();
    await view.assertAccessible();
    await page.getByLabel('Id of its conversation').fill('lobby');
    await page.getByText('route 1: chat lobby → team', { exact: true }).waitFor();
    await pressOn(page, 'Try this brain with the text');
    await page.locator('#try-text:focus').waitFor();
    assert.equal(await page.locator('#try-text').inputValue(), '/code sort this');
    await view.assertTargets();
  },
);

browserTest(
  'the map has a line for each route, and its conditions for the operator alone',
  contextWith(settings),
  async ({ site, open }) => {
    for (const width of [1280, 360]) {
      const view = await open({ viewport: { width, height: 800 } });
      const { page } = view;
      await page.goto('/ui?view=flow');
      const routes = page.getByRole('list', { name: 'Routes' });
      await routes.getByText('1: chat → team', { exact: true }).waitFor();
      await routes.getByText('3: every other message → all', { exact: true }).waitFor();
      await view.assertAccessible();
      await view.assertFits();
    }
    const { body } = await askAdmin(site.service.adminPort, 'routes');
    const [first] = body.rows as unknown as readonly { readonly when: unknown }[];
    assert.deepEqual(first!.when, [{ key: 'chat', entries: ['lobby'] }]);
  },
);
