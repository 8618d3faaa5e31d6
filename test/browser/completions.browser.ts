/** The completions API: in the builder, and its requests on the pages of the operator. */
import assert from 'node:assert/strict';
import { askAdmin } from '../config/program.ts';
import { freePort } from '../support/program.ts';
import { until } from '../support/waiting.ts';
import { browserTest, pressOn } from './browser.ts';
import { agree, startLiveStage } from './live-stage.ts';
import { assertTabFits, contextWith, show, signIn, unfold } from './builder-desk.ts';

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
  brains: [brainOf('echo'), brainOf('coder')],
  routes: [{ channel: 'webhook', brain: 'echo' }],
};
const token = { COMPLETIONS_TOKEN: 'the-token-of-the-clients' };

for (const colorScheme of ['light', 'dark'] as const) {
  browserTest(
    `a person offers brains to API clients, in a ${colorScheme} page`,
    contextWith({ _note: 'mine', ...settings }, token),
    async ({ site, open }) => {
      const width = colorScheme === 'light' ? 1_280 : 390;
      const view = await open({ colorScheme, viewport: { width, height: 900 } });
      const page = await signIn(view, 'form');
      const before = (await askAdmin(site.service.adminPort, 'config')).body.text;
      await unfold(page);
      await page.getByRole('treeitem', { name: /^Chat completions/ }).click();
      await pressOn(page, 'Add chat completions');
      const variable = page.getByLabel('Variable with the token');
      assert.equal(await variable.inputValue(), 'COMPLETIONS_TOKEN');
      await page.getByLabel('coder').check();
      const bind = page.getByLabel('Address to listen on');
      await bind.fill('nowhere');
      await page.locator('#view').getByText('This is no address').waitFor();
      const address = `127.0.0.1:${await freePort()}`;
      await bind.fill(address);
      await page.getByLabel('Requests per minute').fill('60');
      await view.assertAccessible();
      await view.assertTargets();
      await assertTabFits(page);
      await show(page, 'Graph');
      await page.getByLabel('Clients can use coder').waitFor({ state: 'attached' });
      await page.locator('.react-flow__node').filter({ hasText: 'Chat completions' }).click();
      await page.getByRole('heading', { name: 'API Chat completions' }).waitFor();
      await view.assertAccessible();
      await show(page, 'Review');
      await page.getByText(`The block completions is added`).waitFor();
      await page.getByText(`completions API listens on ${address}`).first().waitFor();
      await page.getByRole('button', { name: 'Apply', exact: true }).click();
      const wanted = () => askAdmin(site.service.adminPort, 'config').then(({ body }) => body.text);
      await until('it to be in use', async () => (await wanted())?.includes(address) === true);
      const text = (await wanted())!;
      const others = text.split('\n').filter((line) => !line.includes('"completions"'));
      assert.equal(others.join('\n'), before, 'the rest is as it was');
      await show(page, 'Form');
      await pressOn(page, 'Remove Chat completions');
      await page.getByRole('button', { name: 'Add chat completions' }).waitFor();
      await show(page, 'Review');
      await page.getByText('The block completions is removed').waitFor();
    },
  );
}

async function startOffering() {
  const bind = `127.0.0.1:${await freePort()}`;
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const completions = { bind, token_env: 'COMPLETIONS_TOKEN' };
  const stage = await startLiveStage(agree(promise), { settings: { completions }, env: token });
  const ask = async (content: string, signal: AbortSignal | null = null) => {
    const answer = await fetch(`http://${bind}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token.COMPLETIONS_TOKEN}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'desk', user: 'phone', messages: [{ role: 'user', content }] }),
      signal,
    });
    return (await answer.json()) as { id: string };
  };
  return { ...stage, bind, ask, release };
}

browserTest(
  'the operator sees the requests of API clients, and finds one by the id of its answer',
  startOffering,
  async ({ site, open }) => {
    const leaving = new AbortController();
    const left = assert.rejects(site.ask('Nobody waits for this.', leaving.signal));
    const view = await open({ viewport: { width: 1_280, height: 900 } });
    const { page } = view;
    await page.goto('/ui?view=messages&channel=completions&state=waiting');
    await page.getByRole('row').nth(1).waitFor();
    leaving.abort();
    await left;
    await page.goto('/ui?view=messages&channel=completions');
    await page.getByRole('row').filter({ hasText: 'no answer wanted' }).waitFor();
    site.release();
    const { id } = await site.ask('When do you open?');
    assert.match(id, /^chatcmpl-/);
    await page.getByRole('row').filter({ hasText: 'answered' }).waitFor();
    assert.equal(await page.getByLabel('Channel', { exact: true }).inputValue(), 'completions');
    await view.assertAccessible();
    await page.goto('/ui?view=overview');
    const offered = page.getByRole('row').filter({ hasText: `http://${site.bind}/v1` });
    await offered.getByText('up', { exact: true }).waitFor();
    await page.goto('/ui?view=flow');
    await page
      .getByRole('list', { name: 'Channels' })
      .getByRole('listitem')
      .filter({ hasText: 'completions' })
      .getByText('desk')
      .waitFor();
    await view.assertAccessible();
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Search' }).fill(id);
    await page.getByRole('option').filter({ hasText: 'message' }).first().click();
    await page.getByRole('heading', { name: `Message ${id.slice('chatcmpl-'.length)}` }).waitFor();
    await page.getByText('Answered by').first().waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    await view.assertAccessible();
    await view.assertFits();
  },
);
