/** Reviewing drafts and applying them to a running service, which continues to answer. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Page } from 'playwright-core';
import { browserTest } from './browser.ts';
import {
  assertTabFits,
  contextWith,
  enter,
  leave,
  show,
  signIn,
  type TurnContext,
} from './builder-desk.ts';
import { until } from '../support/waiting.ts';

/**
 * Replaces the whole text, as a paste does, and opens its review. The tab then checks once for
 * changes of other people, and this function waits for that. So only applying finds a later change.
 */
async function paste(page: Page, document: object): Promise<void> {
  await show(page, 'JSON');
  const editor = page.locator('.cm-content');
  await editor.click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(JSON.stringify(document, null, 2));
  const looked = page.waitForResponse('**/api/v1/config');
  await show(page, 'Review');
  await (await looked).finished();
}

const apply = (page: Page): Promise<void> =>
  page.getByRole('button', { name: 'Apply', exact: true }).click();

const slow = (service: TurnContext['service']): object => {
  const [brain] = service.first.brains;
  return { ...service.first, brains: [{ ...brain, deadline_seconds: 60 }] };
};

browserTest(
  'a change is told in words, applied, and in use',
  contextWith(),
  async ({ site, open }) => {
    const { service } = site;
    const view = await open();
    const page = await signIn(view);
    assert.equal(await service.say('one'), 'of first');
    await paste(page, service.withOther());
    await page.getByText(/Brain echo, model llama3\.2 \(Ollama\): base_url/).waitFor();
    await page.getByText('The text, line by line').click();
    await page.getByRole('group', { name: 'Lines that differ' }).waitFor();
    await page.getByRole('button', { name: 'Run the preflight' }).click();
    await page.getByText('Fine').first().waitFor();
    await view.assertAccessible();
    await apply(page);
    await page.getByRole('heading', { name: 'The configuration is in use' }).waitFor();
    await page.getByText('Nothing: the draft is what is in use.').waitFor();
    assert.equal(await service.say('two'), 'of second');
    assert.equal(await service.onDisk(), JSON.stringify(service.withOther(), null, 2));
    await page.getByRole('button', { name: /^Look at [0-9a-f]/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog
      .getByText(/base_url/)
      .first()
      .waitFor();
    await view.assertAccessible();
    await dialog.getByRole('button', { name: 'Put it into use now' }).click();
    await page.getByRole('heading', { name: 'The earlier configuration is in use' }).waitFor();
    assert.equal(await service.say('three'), 'of first');
  },
);

browserTest(
  'what fails to open is rolled back, and told why',
  contextWith(),
  async ({ site, open }) => {
    const { service } = site;
    const taken = createServer().listen(0, '127.0.0.1').unref();
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const view = await open();
    const page = await signIn(view);
    const [channel] = service.first.channels;
    const webhook = { ...(channel!['webhook'] as object), bind: `127.0.0.1:${port}` };
    await paste(page, { ...service.first, channels: [{ ...channel, webhook }] });
    await page.getByText(/the webhook listener restarts/).waitFor();
    view.expectFault(/409 \(Conflict\)/);
    const held = Promise.withResolvers<void>();
    await page.route('**/api/v1/config', async (route) => {
      if (route.request().method() === 'PUT') await held.promise;
      await route.continue();
    });
    await apply(page);
    await show(page, 'Graph');
    await page.getByText('Applying …').waitFor();
    held.resolve();
    await page.getByText(/could not be taken into use; the old one/).waitFor();
    await view.assertAccessible();
    await page.getByRole('button', { name: 'Look at it in Review' }).click();
    await page.getByRole('heading', { name: /could not be taken into use; the old one/ }).waitFor();
    assert.match(await page.getByRole('alert').innerText(), new RegExp(`${port}`));
    await view.assertAccessible();
    assert.equal(await service.say('still there?'), 'of first');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Nothing: the draft is what is in use.').waitFor();
    assert.equal(await page.getByText(/could not be taken into use/).count(), 0);
    taken.close();
  },
);

browserTest('each refusal says what to do', contextWith(), async ({ site, open }) => {
  const { service } = site;
  const view = await open();
  const page = await signIn(view);
  view.expectFault(/status of 4/);
  const alert = page.getByRole('alert');
  const [channel] = service.first.channels;
  await paste(page, { ...service.first, channels: [{ ...channel, token_env: 'NOT_SET' }] });
  await apply(page);
  await alert.getByText('A variable is not set where svc runs').waitFor();
  await alert.getByText('Webhook: token_env').waitFor();
  await page.getByText('svc refused it as it is').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Apply', exact: true }).isDisabled());
  await paste(page, { ...service.first, routes: [] });
  await page.getByText('1 problem to mend first:').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Apply', exact: true }).isDisabled());
  await paste(page, slow(service));
  await writeFile(service.file, '{"edited": "by hand"}');
  await apply(page);
  await alert.getByText('Somebody has edited the file itself').waitFor();
  assert.equal(await service.say('still there?'), 'of first');
  // The page first shows the loss.
  await alert.getByText('Brain echo is removed', { exact: false }).waitFor();
  const lines = alert.getByRole('group', { name: 'The file, and yours over it' });
  await lines.getByText('{"edited": "by hand"}').waitFor();
  await view.assertAccessible();
  await alert.getByRole('button', { name: 'Put mine over it' }).click();
  await page.getByRole('heading', { name: 'The configuration is in use' }).waitFor();
  const { rows = [] } = (await service.ask('config/history')).body;
  const kept = await Promise.all(
    rows.map(({ revision }) => service.ask(`config/history/${revision}`)),
  );
  assert.ok(kept.some(({ body }) => body.text === '{"edited": "by hand"}'));
});

browserTest('what another svc cannot use is told with its name', contextWith(), async (stage) => {
  const view = await stage.open();
  const page = await signIn(view);
  view.expectFault(/409 \(Conflict\)/);
  const detail = 'Instance 7 (web-2, svc 1.2.3) said no: BOT is not set.';
  await page.route('**/api/v1/config', (route) => {
    if (route.request().method() !== 'PUT') return route.continue();
    const refusals = [{ instance: 7, host: 'web-2', version: '1.2.3', reason: 'x', detail: 'x' }];
    const code = 'config_refused_by_instance';
    return route.fulfill({ status: 409, json: { code, detail, status: 409, refusals } });
  });
  await paste(page, slow(stage.site.service));
  await apply(page);
  const alert = page.getByRole('alert');
  await alert.getByText('Not every svc on the database can use it').waitFor();
  await alert.getByText(detail).waitFor();
});

browserTest(
  'what another person applied is put together with mine',
  contextWith(),
  async (stage) => {
    const { service } = stage.site;
    const view = await stage.open();
    const page = await signIn(view);
    await paste(page, slow(service));
    const [brain] = service.first.brains;
    const theirs = { ...service.first, brains: [{ ...brain, dispatch: 'sequential' }] };
    assert.equal((await service.put(theirs)).status, 200);
    view.expectFault(/412 \(Precondition Failed\)/);
    await apply(page);
    await page.getByText(/Somebody else changed the configuration/).waitFor();
    await page.getByText('brain echo: dispatch fanout (the default) → sequential').waitFor();
    await view.assertAccessible();
    await page.getByRole('button', { name: 'Put both together' }).click();
    await page.getByRole('button', { name: 'Make it the draft' }).click();
    await apply(page);
    await page.getByRole('heading', { name: 'The configuration is in use' }).waitFor();
    const used = JSON.parse((await service.ask('config')).body.text!);
    assert.equal(used.brains[0].dispatch, 'sequential');
    assert.equal(used.brains[0].deadline_seconds, 60);
  },
);

browserTest(
  'who changed nothing is shown what another person applied',
  contextWith(),
  async (stage) => {
    const { service } = stage.site;
    const page = await signIn(await stage.open());
    assert.equal((await service.put(slow(service))).status, 200);
    await show(page, 'Review');
    await page.getByText('theirs is shown now').waitFor();
    await page.getByText('Nothing: the draft is what is in use.').waitFor();
    assert.equal(await page.getByText('Your draft began before that').count(), 0);
    await show(page, 'JSON');
    await page.getByText('"deadline_seconds": 60').waitFor();
  },
);

browserTest('where both changed one thing, it is asked', contextWith(), async ({ site, open }) => {
  const { service } = site;
  const view = await open({ viewport: { width: 360, height: 740 } });
  const page = await signIn(view);
  await paste(page, slow(service));
  const [brain] = service.first.brains;
  const theirs = { ...service.first, brains: [{ ...brain, deadline_seconds: 90 }] };
  assert.equal((await service.put(theirs)).status, 200);
  view.expectFault(/412 \(Precondition Failed\)/);
  await apply(page);
  await page.getByRole('button', { name: 'Put both together' }).click();
  assert.ok(await page.getByRole('button', { name: '1 to choose yet' }).isDisabled());
  await view.assertFits();
  await assertTabFits(page);
  await page.getByLabel('Mine: 60').check();
  await page.getByRole('button', { name: 'Make it the draft' }).click();
  await apply(page);
  await page.getByRole('heading', { name: 'The configuration is in use' }).waitFor();
  const used = JSON.parse((await service.ask('config')).body.text!);
  assert.equal(used.brains[0].deadline_seconds, 60);
});

browserTest(
  'an edit by hand is taken by a signal, and mine is put on top',
  contextWith(),
  async ({ site, open }) => {
    const { service } = site;
    const view = await open();
    const page = await signIn(view);
    await paste(page, slow(service));
    const [brain] = service.first.brains;
    const edited = { ...service.first, brains: [{ ...brain, dispatch: 'sequential' }] };
    await writeFile(service.file, JSON.stringify(edited));
    view.expectFault(/409 \(Conflict\)/);
    await apply(page);
    await page.getByRole('alert').getByText('Somebody has edited the file itself').waitFor();
    await view.assertAccessible();
    const before = await service.revision();
    service.program.hangUp();
    await until('the file is in use', async () => (await service.revision()) !== before);
    await page.getByRole('button', { name: 'Look what is in use now' }).click();
    await page.getByText('brain echo: dispatch fanout (the default) → sequential').waitFor();
    await page.getByRole('button', { name: 'Put both together' }).click();
    await page.getByRole('button', { name: 'Make it the draft' }).click();
    await apply(page);
    await page.getByRole('heading', { name: 'The configuration is in use' }).waitFor();
    const used = JSON.parse((await service.ask('config')).body.text!);
    assert.deepEqual(
      [used.brains[0].dispatch, used.brains[0].deadline_seconds],
      ['sequential', 60],
    );
  },
);

browserTest('earlier configurations are asked for again', contextWith(), async ({ site, open }) => {
  assert.equal((await site.service.put(slow(site.service))).status, 200);
  const view = await open();
  const page = await signIn(view);
  view.expectFault(/status of 503/);
  const json = { code: 'down', detail: 'Not now.' };
  const history = '**/api/v1/config/history';
  await page.route(history, (route) => route.fulfill({ status: 503, json }));
  await show(page, 'Review');
  await page.getByText('Not now.').waitFor();
  await page.unroute(history);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('In use', { exact: true }).waitFor();
  await paste(page, site.service.withOther());
  await page.getByRole('button', { name: /^Look at [0-9a-f]/ }).click();
  await page.getByRole('dialog').getByText('There is a draft that is not applied.').waitFor();
});

browserTest(
  'who signs out while it is applied begins anew',
  contextWith(),
  async ({ site, open }) => {
    const { service } = site;
    const page = await signIn(await open());
    await paste(page, slow(service));
    const held = Promise.withResolvers<void>();
    await page.route('**/api/v1/config', async (route) => {
      if (route.request().method() === 'PUT') await held.promise;
      await route.continue();
    });
    await apply(page);
    await page.getByRole('button', { name: 'Applying …' }).waitFor();
    await leave(page);
    await page.getByLabel('Administrator token').waitFor();
    const applied = page.waitForResponse((answer) => answer.request().method() === 'PUT');
    held.resolve();
    await (await applied).finished();
    await enter(page);
    await page.getByText('as in use', { exact: true }).waitFor();
    await show(page, 'JSON');
    await page.getByText('"deadline_seconds": 60').waitFor();
  },
);
