/** Spend in the live view: the state of budgets, use by sender, and the pages without either. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { createTokenCheck } from '../../src/lib/bearer.ts';
import { spentBy } from '../fake/admin-spend.ts';
import { makeWorld, openAdmin, senderId, type World } from '../fake/admin-world.ts';
import { browserTest, type Site } from './browser.ts';
import { goToView } from './live-stage.ts';
import { operatorToken, signIn } from './operator-stage.ts';

async function startWith(world: World): Promise<Site> {
  const access = { kind: 'bearer', matches: createTokenCheck(operatorToken) } as const;
  const admin = await openAdmin(world, { access });
  const close = () => admin[Symbol.asyncDispose]();
  return { origin: `http://127.0.0.1:${admin.port}`, [Symbol.asyncDispose]: close };
}

/** A ledger that returns one row for every query; the brain `main` has a budget. */
const startSpent = () => startWith(makeWorld());

/** No spending, and no budgets. */
function startUnspent(): Promise<Site> {
  const world = makeWorld();
  const { ports } = world;
  world.ports = {
    ...ports,
    reader: { ...ports.reader, spent: async () => [] },
    runningConfig: () => {
      const used = ports.runningConfig();
      const brains = used.config.brains.map((brain) => ({ ...brain, budget: null }));
      return { ...used, config: { ...used.config, brains } };
    },
  };
  return startWith(world);
}

/** Nearly the whole token budget of the day is used, and the cost budget is exceeded. */
function startFull(): Promise<Site> {
  const world = makeWorld();
  const costing = { input: 800, output: 10 };
  const row = { ...spentBy('brain'), costing, open: { input: 0, output: 0 }, cost: '0.61' };
  const reader = { ...world.ports.reader, spent: async () => [row] };
  world.ports = { ...world.ports, reader };
  return startWith(world);
}

const rowOf = (page: Page, text: string) =>
  page.getByRole('group', { name: 'Spend' }).getByRole('row').filter({ hasText: text });

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

browserTest(
  'spend is told by model, brain and day, and budgets beside it',
  startSpent,
  async (it) => {
    const view = await it.open();
    const { page } = view;
    await page.goto('/ui');
    await goToView(page, 'Models', 'Spend');
    const budgets = page.getByRole('list', { name: 'Budgets today' });
    await budgets.getByText('Tokens today: 250 of 1,000 used, 150 reserved').waitFor();
    await budgets.getByText('40 %').waitFor();
    await budgets.getByText('Cost today: 0.0012 of 0.5 used, 0.0004 reserved').waitFor();
    await budgets.getByText('Tokens of each turn: 2,000 at most').waitFor();
    const said = 'In the last 30 days: 3 calls, about 1,240 tokens in, 80 out, cost 0.0012.';
    await page.getByText(said).waitFor();
    const model = await rowOf(page, 'small (Ollama)').innerText();
    assert.match(
      model,
      /3\s+about 1,240 in, 80 out\s+1 of 3 calls\s+150 tokens\s+0\.0012\s+0\.0004/,
    );
    await view.assertAccessible();
    await view.picture('spend');
    await press(page, 'Brain');
    await rowOf(page, 'main').waitFor();
    await press(page, 'Day');
    await rowOf(page, '1970-01-01').waitFor();
    await press(page, '7 d');
    await page.getByText('In the last 7 days: 3 calls').waitFor();
    const { searchParams } = new URL(page.url());
    assert.deepEqual([searchParams.get('by'), searchParams.get('days')], ['day', '7']);
  },
);

browserTest(
  'who spent it is for the operator, on a small telephone too',
  startSpent,
  async (it) => {
    const view = await it.open({ viewport: { width: 360, height: 740 } });
    const { page } = view;
    await page.goto('/ui?view=spend&by=sender');
    await page.getByText('Only an operator may see who used how much.').waitFor();
    await page.getByText('Tokens of each turn').waitFor();
    assert.ok(!(await page.content()).includes(senderId));
    await view.assertFits();
    await view.assertTargets();
    await signIn(page);
    assert.match(await rowOf(page, senderId).innerText(), /webhook[^]*about 1,240 in, 80 out/);
    await view.assertFits();
    await view.assertTargets();
    await view.assertAccessible();
    await view.picture('spend by sender on a telephone');
    await page.getByRole('banner').getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Only an operator may see who used how much.').waitFor();
    assert.ok(!(await page.content()).includes(senderId));
  },
);

browserTest(
  'without a call, a price or a budget it says what to do next',
  startUnspent,
  async (it) => {
    const view = await it.open({ viewport: { width: 360, height: 740 } });
    const { page } = view;
    await page.goto('/ui?view=spend&days=7');
    await page.getByText('No model was called in the last 7 days.').waitFor();
    const budgets = page.getByRole('region', { name: 'Budgets today' });
    await budgets.getByText('No brain has a budget').waitFor();
    const builder = budgets.getByRole('link', { name: 'Open the builder' });
    assert.equal(await builder.getAttribute('href'), '/builder');
    await page.getByText('svc send "Hello"').waitFor();
    await view.assertFits();
    await view.assertAccessible();
  },
);

browserTest('a budget that is nearly used up, or over, says so in words', startFull, async (it) => {
  const view = await it.open({ forcedColors: 'active' });
  const { page } = view;
  await page.goto('/ui?view=spend');
  const budgets = page.getByRole('list', { name: 'Budgets today' });
  await budgets.getByText('nearly full (81 %)').waitFor();
  await budgets.getByText('full (122 %)').waitFor();
  await view.picture('spend full');
  await page.emulateMedia({ forcedColors: 'none' });
  await view.assertAccessible();
});
