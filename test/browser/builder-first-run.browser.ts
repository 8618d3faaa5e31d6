/** The first run in the builder: changes to apply, changes to refuse, and the way to the rest. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Page } from 'playwright-core';
import { noAnswer, browserTest } from './browser.ts';
import { contextWith, show, signIn } from './builder-desk.ts';

const apply = (page: Page) => page.getByRole('button', { name: 'Apply', exact: true });
const inUse = (page: Page) => page.getByRole('heading', { name: 'The configuration is in use' });

async function paste(page: Page, document: object): Promise<void> {
  await show(page, 'JSON');
  await page.locator('.cm-content').click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(JSON.stringify(document, null, 2));
  await show(page, 'Review');
}

browserTest('Apply is off where nothing is changed, and says so', contextWith(), async (s) => {
  const view = await s.open();
  const page = await signIn(view, 'review');
  assert.ok(await apply(page).isDisabled());
  await page.getByText('Nothing is changed.').waitFor();
  await paste(page, { ...s.site.service.first, routes: [] });
  await page.getByText('1 problem to mend first, listed above.').waitFor();
  assert.ok(await apply(page).isDisabled());
  await view.assertAccessible();
});

browserTest('Apply is off for what stands in no file', contextWith(), async ({ site, open }) => {
  const view = await open();
  const { first } = site.service;
  const text = JSON.stringify(first, null, 2);
  const json = { revision: 'r-1', text, file: null, place: 'nowhere', usedAt: Date.now() };
  await view.page.route('**/api/v1/config', (route) => route.fulfill({ json }));
  const page = await signIn(view);
  await paste(page, { ...first, session: {} });
  await page.getByText('stands in no file', { exact: false }).waitFor();
  assert.ok(await apply(page).isDisabled());
});

browserTest('Apply is off for a svc that is read-only', contextWith(), async ({ site, open }) => {
  const { service } = site;
  const view = await open();
  const page = await signIn(view);
  await paste(page, { ...service.first, session: {} });
  view.expectFault(noAnswer);
  view.expectFault(/403 \(Forbidden\)/);
  await service.program[Symbol.asyncDispose]();
  await view.faulted(noAnswer);
  await service.restart({ ADMIN_TOKEN: '' });
  await page.getByText('svc is read-only since its last start', { exact: false }).waitFor();
  assert.ok(await apply(page).isDisabled());
});

browserTest(
  'the rest is applied, storage waits, and what finishes it is shown',
  contextWith(),
  async ({ site, open }) => {
    const { service } = site;
    const view = await open();
    const page = await signIn(view);
    const [brain] = service.first.brains;
    const rest = { ...service.first, brains: [{ ...brain, deadline_seconds: 60 }] };
    const whole = { ...rest, storage: { path: 'svc.db' } };
    await paste(page, whole);
    await page.getByText('needs a restart', { exact: true }).waitFor();
    await page.getByText('1 change above can only be made with a restart.').waitFor();
    assert.ok(await apply(page).isDisabled());
    await view.assertAccessible();
    await page.getByRole('button', { name: 'Apply the rest; storage after a restart' }).click();
    await page.getByRole('heading', { name: 'The rest is in use' }).waitFor();
    assert.equal(await service.onDisk(), JSON.stringify(rest, null, 2));
    // Only the draft is left.
    await page.getByText('Nothing else is changed.').waitFor();
    await page.getByText('"storage": {').waitFor();
    await page.getByText(`svc config check ${service.file}`).waitFor();
    await page.getByText('sudo systemctl restart svc').waitFor();
    await view.assertAccessible();
    // Does what the page says.
    await writeFile(service.file, JSON.stringify(whole, null, 2));
    view.expectFault(noAnswer);
    await service.program[Symbol.asyncDispose]();
    await view.faulted(noAnswer);
    await service.restart();
    await page.getByText('Nothing: the draft is what is in use.').waitFor();
    await page.locator('#draft-state').getByText('as in use').waitFor();
  },
);

browserTest(
  'what another applies is noticed, as after a short restart',
  contextWith(),
  async (s) => {
    const { service } = s.site;
    const page = await signIn(await s.open(), 'review');
    const [brain] = service.first.brains;
    const theirs = { ...service.first, brains: [{ ...brain, deadline_seconds: 60 }] };
    await paste(page, theirs);
    await page.locator('#draft-state').getByText('changed, not applied').waitFor();
    const { status } = await service.put(theirs);
    assert.equal(status, 200);
    await page.locator('#draft-state').getByText('as in use').waitFor();
  },
);

browserTest('what the rest needs is not left behind', contextWith(), async ({ site, open }) => {
  const { service } = site;
  const page = await signIn(await open());
  const [brain] = service.first.brains;
  const agent = { tools: ['memory_note'], memory: { scope: 'conversation', max_notes: 5 } };
  await paste(page, { ...service.first, brains: [{ ...brain, agent }], storage: {} });
  await page.getByText('All else cannot run without it').waitFor();
  assert.equal(await page.getByRole('button', { name: /^Apply the rest/ }).count(), 0);
});

browserTest(
  'a template keeps the listener of who has one',
  contextWith(),
  async ({ site, open }) => {
    const { service } = site;
    const page = await signIn(await open(), 'templates');
    await page.getByRole('button', { name: 'Choose Three-way consensus' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Brain echo is removed').waitFor();
    assert.equal(await dialog.getByText(/channel webhook: /i).count(), 0);
    await dialog.getByRole('button', { name: 'Replace mine with it' }).click();
    await show(page, 'Review');
    await page.getByText('Brain echo is removed').waitFor();
    assert.equal(await page.getByText(/listener restarts/).count(), 0);
    await apply(page).click();
    await inUse(page).waitFor();
    const { channels } = JSON.parse((await service.ask('config')).body.text!) as object & {
      readonly channels: unknown;
    };
    assert.deepEqual(channels, service.first.channels);
  },
);

browserTest('an edit by hand is shown, and can become the draft', contextWith(), async (s) => {
  const { service } = s.site;
  const view = await s.open();
  const page = await signIn(view);
  const [brain] = service.first.brains;
  await paste(page, { ...service.first, brains: [{ ...brain, deadline_seconds: 60 }] });
  const edited = { ...service.first, brains: [{ ...brain, dispatch: 'sequential' }] };
  await writeFile(service.file, JSON.stringify(edited, null, 2));
  view.expectFault(/409 \(Conflict\)/);
  await apply(page).click();
  const alert = page.getByRole('alert');
  await alert.getByText('Brain echo: dispatch fanout (the default) → sequential').waitFor();
  const lines = alert.getByRole('group', { name: 'The file, and yours over it' });
  await lines.getByText('"deadline_seconds": 60').waitFor();
  await lines.getByText('"dispatch": "sequential"').waitFor();
  await alert.getByRole('button', { name: 'Make the edit my draft' }).click();
  await apply(page).click();
  await inUse(page).waitFor();
  const used = JSON.parse((await service.ask('config')).body.text!) as typeof edited;
  assert.deepEqual(used, edited);
});

browserTest('the preflight says of a port that is taken that it is', contextWith(), async (s) => {
  const { service } = s.site;
  const taken = createServer().listen(0, '127.0.0.1').unref();
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const page = await signIn(await s.open());
  const [channel] = service.first.channels;
  const webhook = { ...(channel!['webhook'] as object), bind: `127.0.0.1:${port}` };
  await paste(page, { ...service.first, channels: [{ ...channel, webhook }] });
  await page.getByRole('button', { name: 'Run the preflight' }).click();
  const line = page.getByRole('listitem').filter({ hasText: `webhook at 127.0.0.1:${port}` });
  await line.getByText('Failed').waitFor();
  await line.getByText('is taken by another program', { exact: false }).waitFor();
  await page.getByText('svc refuses it for what the preflight found').waitFor();
  assert.ok(await apply(page).isDisabled());
  taken.close();
  await once(taken, 'close');
  await page.getByRole('button', { name: 'Run it again' }).click();
  await line.getByText('Fine').waitFor();
  assert.ok(await apply(page).isEnabled());
  assert.equal(await service.say('still there?'), 'of first');
});
