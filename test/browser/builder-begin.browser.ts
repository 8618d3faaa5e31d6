/** From a template to a running service without editing JSON; and the places of the token. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Page } from 'playwright-core';
import { adminToken } from '../config/program.ts';
import { freePort } from '../support/program.ts';
import { browserTest } from './browser.ts';
import { contextWith, show, signIn } from './builder-desk.ts';

/** Opens the form of a place from the outline, and fills its fields. */
async function fill(page: Page, place: string, fields: Record<string, string>): Promise<void> {
  await page.getByRole('treeitem', { name: place }).first().click();
  await show(page, 'Form');
  for (const [id, value] of Object.entries(fields)) {
    await page.locator(`[id="field-${id}"]`).fill(value);
  }
}

browserTest('from a template to answers, without JSON', contextWith(), async ({ site, open }) => {
  const { service } = site;
  const view = await open();
  const urls: string[] = [];
  view.context.on('request', (request) => urls.push(request.url()));
  const page = await signIn(view);
  await show(page, 'Templates');
  await view.assertAccessible();
  await page.getByRole('button', { name: 'Choose Three-way consensus' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Brain echo is removed').waitFor();
  await view.assertAccessible();
  await dialog.getByRole('button', { name: 'Replace mine with it' }).click();
  const [port, [model]] = [await freePort(), service.first.brains[0]!['models'] as object[]];
  // Keeps the port free of others until the configuration is complete.
  const keeper = createServer().listen(port, '127.0.0.1').unref();
  await once(keeper, 'listening');
  const { base_url: modelUrl } = model as { base_url: string };
  await fill(page, 'Webhook', {
    'channels[0].webhook.bind': `127.0.0.1:${port}`,
    'channels[0].webhook.outbound_url': service.receiver.url,
  });
  for (const [index, name] of ['llama3.2', 'qwen3', 'gemma3'].entries()) {
    await fill(page, name, { [`brains[0].models[${index}].base_url`]: modelUrl });
  }
  await show(page, 'Try');
  await page.getByLabel('What a sender says').fill('is it ready?');
  await page.getByRole('button', { name: 'Ask the draft' }).click();
  await page.getByText(/^[23] votes: \S+ \(Ollama\), /).waitFor();
  await show(page, 'Review');
  await page.getByText(/the webhook listener restarts/).waitFor();
  // The browser stores the draft soon after the last edit; the test's time limit ends the wait.
  let kept = '';
  while (!kept.includes('triage')) kept = await assertTokenNowhere(page, urls);
  keeper.close();
  await once(keeper, 'close');
  await page.getByRole('button', { name: 'Apply', exact: true }).click();
  await page.getByRole('heading', { name: 'The configuration is in use' }).waitFor();
  assert.equal(await service.say('hello', port), 'of first');
  await assertTokenNowhere(page, urls);
});

/** Only one value of the tab contains the token. @returns the other stored values */
async function assertTokenNowhere(page: Page, urls: readonly string[]): Promise<string> {
  const kept = await page.evaluate<string[]>(`(async () => {
    const databases = await indexedDB.databases();
    const names = await caches.keys();
    const states = JSON.stringify([history.state, name, document.cookie, location.href]);
    const { 'svc-token': _, ...ofTab } = sessionStorage;
    const own = [localStorage, ofTab].map((one) => JSON.stringify({ ...one }));
    return [...own, states, JSON.stringify(databases), JSON.stringify(names)];
  })()`);
  const cookies = JSON.stringify(await page.context().cookies());
  const markup = await page.content();
  for (const where of [...kept, cookies, markup, ...urls]) {
    assert.ok(!where.includes(adminToken), where.slice(0, 200));
  }
  return kept.join('\n');
}
