/** Providers, tools and people in the live view; every view fits and is accessible. */
import assert from 'node:assert/strict';
import { makeWorld, openAdmin } from '../fake/admin-world.ts';
import { browserTest, type Site } from './browser.ts';
import { goToView } from './live-stage.ts';
import { signIn, startOperatorStage, tabTo } from './operator-stage.ts';

browserTest('a provider that fails says why and since when', startOperatorStage, async (it) => {
  const { model, receiver, say } = it.site;
  await say('when?');
  await receiver.waitFor(1);
  await model.script({ status: 404, body: '{"error": "model not found"}' });
  for (const text of ['and now?', 'and again?']) await say(text);
  await receiver.waitFor(3);
  const view = await it.open();
  const { page } = view;
  await page.goto('/ui?view=providers');
  const providers = page.getByRole('group', { name: 'Providers' });
  await providers.getByText('failing').waitFor();
  const row = await providers.getByRole('row').nth(1).innerText();
  assert.match(
    row,
    /failing\s+for \d+ [^]*; 2 of 3 calls failed[^]*the address or the model does not exist there/,
  );
  assert.match(row, /2 × not found/);
  const asks = page.getByRole('group', { name: 'Who asks them' });
  assert.match(await asks.innerText(), /echo\s+asked\s+private brain, local model/);
  await view.assertAccessible();
});

browserTest(
  'the flow shows how a model stands, as the overview does',
  startOperatorStage,
  async (it) => {
    const { model, receiver, say } = it.site;
    const view = await it.open();
    const { page } = view;
    await page.goto('/ui?view=flow');
    const models = page.getByRole('list', { name: 'Models' });
    await models.getByText('not asked lately').first().waitFor();
    await say('when?');
    await receiver.waitFor(1);
    await model.script({ fail: '500' });
    await say('and now?');
    await receiver.waitFor(2);
    await models.getByText('fails at some calls').waitFor();
    await page.goto('/ui');
    await page.getByRole('group', { name: 'Models' }).getByText('fails at some calls').waitFor();
  },
);

browserTest('tool uses tell mode, rule and outcome', startOperatorStage, async (it) => {
  const { receiver, say } = it.site;
  for (const tool of ['calc', 'echo', 'time']) await say(tool);
  await receiver.waitFor(3);
  const view = await it.open();
  const { page } = view;
  await page.goto('/ui?view=tools');
  const use = (tool: string) => page.getByRole('row').filter({ hasText: tool });
  await use('calc').waitFor();
  assert.match(await use('calc').innerText(), /allowed\s+done\s+grant 1/);
  assert.match(await use('echo').innerText(), /in shadow\s+rehearsed: it did not run\s+grant 2/);
  assert.match(await use('time').innerText(), /not granted\s+denied\s+grant 3/);
  await tabTo(page, /^Open the arguments of calc/);
  await page.keyboard.press('Enter');
  await page.getByText('Only an operator may see the arguments.').waitFor();
  await signIn(page);
  assert.ok(!(await page.content()).includes('6 * 7'));
  await page.getByRole('button', { name: 'Reveal the arguments' }).click();
  await page.getByText('6 * 7').waitFor();
  await view.assertAccessible();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('6 * 7').waitFor({ state: 'detached' });
});

browserTest('a stranger is let in by their code, and removed', startOperatorStage, async (it) => {
  const { telegram } = it.site;
  const ann = telegram.privateChat(telegram.person('Ann'));
  telegram.say(ann, 'let me in');
  const [told] = await telegram.waitForSent(1);
  telegram.say(ann, 'please');
  const view = await it.open();
  const { page } = view;
  await page.goto('/ui?view=people');
  const turnedAway = page.getByRole('group', { name: 'Turned away' });
  await turnedAway.getByText('a stranger, with a code that still counts').waitFor();
  assert.ok(!(await page.content()).includes(String(ann.id)));
  await view.assertAccessible();
  await signIn(page);
  await turnedAway.getByText(String(ann.id)).waitFor();
  const list = page.getByRole('group', { name: 'Let in by a code' });
  await list.getByText('was given a code').waitFor();
  view.expectFault(/status of 404/);
  await page.getByRole('textbox', { name: 'Code' }).fill('WRONG-ONE');
  await page.keyboard.press('Enter');
  await page.getByText('No code like this waits').waitFor();
  const [code] = /[A-Z0-9]{8}/.exec(told!.text)!;
  await page.getByRole('textbox', { name: 'Code' }).fill(code.toLowerCase());
  await page.keyboard.press('Enter');
  await page.getByText('Ann may talk on Telegram from now on.').waitFor();
  await list.getByText('let in', { exact: true }).waitFor();
  await view.assertAccessible();
  telegram.say(ann, 'hello');
  await telegram.waitForSent(2);
  const dialog = page.getByRole('dialog');
  await list.getByRole('button', { name: 'Forget this person' }).click();
  await dialog.getByText('svc deletes everything that Ann wrote on Telegram').waitFor();
  await view.assertAccessible();
  await dialog.getByRole('button', { name: 'Forget this person' }).click();
  await page.getByText(/^svc deleted \d+ messages? of Ann\.$/).waitFor();
  await dialog.waitFor({ state: 'detached' });
  await tabTo(page, /^Remove Ann$/);
  await page.keyboard.press('Enter');
  await dialog.getByText('is a stranger on Telegram again').waitFor();
  await view.assertAccessible();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await page.getByText('Nobody was let in by a code').waitFor();
});

browserTest('a person is forgotten from the page of a message', startOperatorStage, async (it) => {
  const { receiver, say } = it.site;
  await say('one', 'lobby');
  await say('two', 'hall');
  await receiver.waitFor(2);
  const { page } = await it.open();
  await page.goto('/ui?view=messages');
  await signIn(page);
  await page.getByText('2 messages.').waitFor();
  for (const key of ['j', 'Enter']) await page.keyboard.press(key);
  await page.getByRole('button', { name: 'Forget this person' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Keep it' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Forget this person' }).click();
  await dialog.getByRole('button', { name: 'Forget this person' }).click();
  await page.waitForURL(/view=messages$/);
  await page.getByText('None so far.').waitFor();
});

async function startReadOnly(): Promise<Site> {
  const admin = await openAdmin(makeWorld());
  const close = () => admin[Symbol.asyncDispose]();
  return { origin: `http://127.0.0.1:${admin.port}`, [Symbol.asyncDispose]: close };
}

browserTest('a service without a token says that none opens it', startReadOnly, async (it) => {
  const view = await it.open();
  const { page } = view;
  await page.goto('/ui?view=config');
  await page.getByText('edit the file and restart svc').waitFor();
  assert.equal(await page.getByRole('link', { name: 'open the builder' }).count(), 0);
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Administrator token').fill('any');
  view.expectFault(/status of 401/);
  await page.keyboard.press('Enter');
  await page.getByText('This service is read-only, no token opens it').waitFor();
  await view.assertAccessible();
});

const titles = [
  ['Delivery', 'Deliveries'],
  ['Delivery', 'Dead letters'],
  ['Models', 'Providers'],
  ['Models', 'Tools'],
  ['Models', 'Approvals'],
  ['Models', 'Spend'],
  ['Conversations', 'People'],
  ['Settings', 'Configuration'],
  ['Settings', 'Audit'],
] as const;

browserTest('every view fits a small telephone, for both', startOperatorStage, async (it) => {
  const { receiver, say } = it.site;
  receiver.script.push(410, 503, 503, 503, 503);
  for (const conversation of ['a', 'b', 'calc']) await say(conversation, conversation);
  await receiver.waitFor(3);
  const view = await it.open({ viewport: { width: 360, height: 740 } });
  const { page } = view;
  await page.goto('/ui');
  for (const link of await page
    .getByRole('navigation', { name: 'Views' })
    .getByRole('link')
    .all()) {
    const { x, width } = (await link.boundingBox())!;
    assert.ok(x >= 0 && x + width <= 360, 'each group, and its badge, is to be seen');
  }
  for (const who of ['a reader', 'an operator']) {
    if (who === 'an operator') await signIn(page);
    for (const [group, title] of titles) {
      await goToView(page, group, title);
      await page.waitForFunction(`() => document.title.startsWith('${title}')`);
      await page.getByText('Asking …').first().waitFor({ state: 'detached' });
      await view.assertFits();
      await view.assertTargets();
      if (who === 'an operator') await view.assertAccessible();
    }
  }
});
