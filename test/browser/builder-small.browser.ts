/** The builder on a small telephone, with long names. */
import assert from 'node:assert/strict';
import { assertTabFits, contextWith, show, signIn, unfold } from './builder-desk.ts';
import { browserTest, type View } from './browser.ts';

const small = { viewport: { width: 360, height: 740 } };
const tabs = ['Graph', 'Form', 'Try', 'Templates', 'Review'];

const local = (model: string) => ({
  provider: 'local_runtime',
  model_id: model,
  locality: 'local',
  base_url: 'http://127.0.0.1:9',
});

/** A brain of this name, with a route to it. */
const named = (name: string, ...models: string[]) => ({
  brains: [
    {
      name,
      sensitivity: 'private',
      policy: { kind: 'priority' },
      models: models.map(local),
    },
  ],
  routes: [{ channel: 'webhook', brain: name }],
});

const long = [
  'Customer support for Europe and Asia',
  'support_team_for_enterprise_customers_in_europe_v2_final',
];
const longModel = 'hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M';

for (const name of long) {
  browserTest(`${name} fits a telephone`, contextWith(named(name, longModel)), async (s) => {
    const view = await s.open(small);
    const { page } = view;
    await signIn(view);
    for (const tab of tabs) {
      await show(page, tab);
      await view.assertFits();
      await assertTabFits(page);
    }
    for (const at of [`^${name} private`, '^hf.co', 'Webhook → ']) {
      await show(page, 'Form');
      await unfold(page);
      await page.getByRole('treeitem', { name: new RegExp(at) }).click();
      await view.assertFits();
      await assertTabFits(page);
      await assertApart(view);
    }
  });
}

/** The words of the form's heading do not overlap the button beside it. */
async function assertApart({ page }: View): Promise<void> {
  const [words, room] = await page.evaluate<[number, number]>(
    `((one) => [one.scrollWidth, one.clientWidth])(document.querySelector('#view h2'))`,
  );
  assert.ok(words <= room, `the heading is ${words} wide in a place of ${room}`);
}

browserTest('the outline makes room for the form', contextWith(), async ({ open }) => {
  const { page } = await open(small).then(async (view) => ({ page: await signIn(view, 'form') }));
  const outline = page.getByRole('tree', { name: 'Configuration' });
  assert.equal(await outline.isVisible(), false);
  await page.keyboard.press('/');
  await page.locator('#outline-search:focus').waitFor();
  await page.getByRole('treeitem', { name: /^echo/ }).click();
  await page.locator('h2:focus').filter({ hasText: 'echo' }).waitFor();
  await outline.waitFor({ state: 'hidden' });
  const heading = await page.locator('h2:focus').boundingBox();
  assert.ok(heading!.y >= 0 && heading!.y < 200, `the form begins at ${heading!.y}`);
});

browserTest('errors are told before warnings', contextWith(), async ({ open }) => {
  const page = await signIn(await open(), 'form');
  await page.getByRole('treeitem', { name: /^echo/ }).click();
  await page.getByLabel('Name (required)').fill('other');
  const problems = page.getByRole('complementary', { name: 'Problems' }).getByRole('listitem');
  await problems.first().getByText('No brain has the name "echo"').waitFor();
  await problems.last().getByText('No route names this brain').waitFor();
});

const coloured = { forcedColors: 'active', colorScheme: 'dark' } as const;

browserTest('what is chosen is told in forced colours', contextWith(), async ({ open }) => {
  const page = await signIn(await open(coloured), 'form');
  await page.getByRole('treeitem', { name: /^echo/ }).click();
  const [chosen, other] = await page.evaluate<[string[], string[]]>(`['true', 'false'].map((is) =>
    ['[role=tab]', '[role=treeitem]'].map((role) => {
      const { borderBottomColor, borderInlineStartWidth } = getComputedStyle(
        document.querySelector(role + '[aria-selected=' + is + ']'),
      );
      return role === '[role=tab]' ? borderBottomColor : borderInlineStartWidth;
    }))`);
  assert.notEqual(chosen[0], other[0], 'the tabs look alike');
  assert.notEqual(chosen[1], other[1], 'the rows look alike');
});

browserTest('the graph shows its three columns', contextWith(), async ({ open }) => {
  const page = await signIn(await open(small));
  await page.locator('.react-flow__node').nth(2).waitFor();
  const seen = `() => {
    const place = document.querySelector('.react-flow').getBoundingClientRect();
    return [...document.querySelectorAll('.react-flow__node')].every((one) => {
      const { left, right } = one.getBoundingClientRect();
      return left >= place.left && right <= place.right;
    });
  }`;
  await page.waitForFunction(seen);
  await page.locator('.react-flow__node').getByText('llama3.2').waitFor();
});
