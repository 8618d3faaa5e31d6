/** Values of secrets, typed into the live view and the builder, go only to the keychain. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { browserTest, pressOn, type View } from './browser.ts';
import { heldBy, signIn, startSecretsStage, type SecretsStage } from './secrets-stage.ts';

const canary = 'Canary-4711-that-somebody-typed';

const rowOf = (page: Page, name: string) =>
  page.getByRole('group', { name: 'Secrets' }).getByRole('row').filter({ hasText: name });

const inputOf = (page: Page, name: string) =>
  page.getByRole('dialog').getByLabel(`Value of ${name}`);

async function openSecrets(view: View): Promise<Page> {
  const { page } = view;
  await page.goto('/ui?view=secrets');
  await page.getByText('Only an operator may see where they are set').waitFor();
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await signIn(page);
  await rowOf(page, 'BOT').waitFor();
  return page;
}

/** The value is neither in the page, nor in the browser, nor in the reports of the service. */
async function assertGone(view: View, { world }: SecretsStage): Promise<void> {
  const held = await heldBy(view);
  assert.ok(!held.includes(canary), 'the page still has it');
  assert.ok(!`${world.log()}${JSON.stringify(world.audited)}`.includes(canary));
}

browserTest('a reader is told nothing of secrets', startSecretsStage, async ({ open }) => {
  const view = await open();
  const { page } = view;
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.goto('/ui?view=secrets');
  await page.getByText('Only an operator may see where they are set').waitFor();
  await view.assertAccessible();
  assert.deepEqual(
    asked.filter((path) => path.startsWith('/api/v1/secrets')),
    [],
  );
});

browserTest(
  'an operator replaces a value, and is told of the restart',
  startSecretsStage,
  async (it) => {
    const { site, open } = it;
    const view = await open();
    const page = await openSecrets(view);
    await page.getByText('Keychain (Secret Service): ready').waitFor();
    const name = 'WEBHOOK_SECRET_NAME';
    assert.match(await rowOf(page, name).innerText(), /set: keychain[^]*channels\[0\]\.token_env/);
    assert.match(await rowOf(page, 'BOT').innerText(), /set: environment/);
    assert.match(await rowOf(page, 'ADMIN_TOKEN').innerText(), /by hand/);
    await view.assertAccessible();

    await pressOn(page, `Replace ${name}`);
    const input = inputOf(page, name);
    await input.waitFor();
    await page.waitForFunction("() => document.activeElement.id === 'secret-value'");
    assert.equal(await input.inputValue(), '');
    assert.equal(await input.getAttribute('type'), 'password');
    assert.equal(await input.getAttribute('autocomplete'), 'new-password');
    await view.assertAccessible();
    await pressOn(page.getByRole('dialog'), 'Save');
    await page.getByText('The value is empty.').waitFor();
    await input.fill(canary);
    await page.keyboard.press('Enter');
    await page.getByText('svc needs a restart to take it').waitFor();
    assert.equal(site.keychain.values.get(name)!.value, canary);
    await view.assertAccessible();
    await assertGone(view, site);
    await pressOn(page.getByRole('dialog'), 'Done');
    await rowOf(page, name).getByText('needs a restart').waitFor();
    await assertGone(view, site);
    await page.getByRole('link', { name: 'Audit' }).click();
    const written = page.getByRole('row').filter({ hasText: 'secret set' });
    assert.match(
      await written.innerText(),
      /name WEBHOOK_SECRET_NAME\s+principal operator[^]*done/,
    );
  },
);

browserTest('what was typed is gone when the dialog closes', startSecretsStage, async (it) => {
  const { site, open } = it;
  const view = await open();
  const page = await openSecrets(view);
  await pressOn(page, 'Set BOT');
  await inputOf(page, 'BOT').fill(canary);
  await page.keyboard.press('Escape');
  await page.locator('[role="dialog"]').waitFor({ state: 'detached' });
  await assertGone(view, site);
  await pressOn(page, 'Set BOT');
  await inputOf(page, 'BOT').waitFor();
  assert.equal(await inputOf(page, 'BOT').inputValue(), '');
  await inputOf(page, 'BOT').fill(canary);
  await pressOn(page.getByRole('dialog'), 'Save');
  await page.getByText('It does not count: BOT is set where svc runs').waitFor();
  await pressOn(page.getByRole('dialog'), 'Done');
  await rowOf(page, 'BOT').getByText('The keychain has one too; it does not count.').waitFor();
});

browserTest('a value is removed after a second word', startSecretsStage, async (it) => {
  const { site, open } = it;
  const view = await open({ viewport: { width: 360, height: 640 } });
  const page = await openSecrets(view);
  const name = 'WEBHOOK_SECRET_NAME';
  await pressOn(page, `Remove ${name}`);
  await page.getByText('it does not start before the variable is set again').waitFor();
  await view.assertAccessible();
  await view.assertFits();
  assert.ok(site.keychain.values.has(name));
  await pressOn(page.getByRole('dialog'), 'Remove');
  await rowOf(page, name).getByText('removed').waitFor();
  assert.deepEqual([...site.keychain.values.keys()], []);
  await view.assertFits();
});

browserTest('without a keychain the other ways are told', startSecretsStage, async (it) => {
  const { site, open } = it;
  site.keychain.now = 'no_bus';
  const view = await open({ viewport: { width: 360, height: 640 } });
  const page = await openSecrets(view);
  await page.getByText('It is no_bus. Mend no_bus.').waitFor();
  await page.getByText('NAME_FILE=/path/of/the/file').waitFor();
  await view.assertAccessible();
  await view.assertFits();
  await pressOn(page, 'Set BOT');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('LoadCredential=BOT:/path/of/the/file').waitFor();
  assert.equal(await inputOf(page, 'BOT').count(), 0, 'no value is asked for');
  await view.assertAccessible();
  site.keychain.now = 'ready';
  await pressOn(dialog, 'Look again');
  await inputOf(page, 'BOT').waitFor();
  // The keychain breaks between the probe and the saving.
  site.keychain.now = 'no_answer';
  view.expectFault(/status of 503/);
  await inputOf(page, 'BOT').fill(canary);
  await pressOn(dialog, 'Save');
  await dialog.getByText('It is no_answer. Mend no_answer.').waitFor();
  assert.equal(await inputOf(page, 'BOT').inputValue(), '');
  await assertGone(view, site);
  await view.assertFits();
});

browserTest('the builder takes a value, and no draft has it', startSecretsStage, async (it) => {
  const { site, open } = it;
  const view = await open();
  const { page } = view;
  view.expectFault(/401 \(Unauthorized\)/);
  await page.goto('/builder?view=form');
  await page.getByLabel('Administrator token').waitFor();
  await signIn(page);
  await page
    .getByRole('treeitem', { name: /^Webhook/ })
    .first()
    .click();
  await page.getByText('set: environment').waitFor();
  const field = page.getByLabel('Variable with the token (required)');
  await field.fill('OTHER_SECRET');
  await field.press('Enter');
  await page.getByText('not set where svc runs').waitFor();
  await view.assertAccessible('#view');
  await pressOn(page, 'Set OTHER_SECRET');
  await inputOf(page, 'OTHER_SECRET').fill(canary);
  await page.keyboard.press('Control+z');
  await inputOf(page, 'OTHER_SECRET').fill(canary);
  await view.assertAccessible();
  await page.keyboard.press('Enter');
  await page.getByText('svc takes it with the next configuration that names it').waitFor();
  await pressOn(page.getByRole('dialog'), 'Done');
  await page.getByText('set: keychain').waitFor();
  assert.equal(await field.inputValue(), 'OTHER_SECRET', 'what was undone is not the draft');
  assert.equal(site.keychain.values.get('OTHER_SECRET')!.value, canary);
  await page.waitForFunction("() => JSON.stringify(localStorage).includes('OTHER_SECRET')");
  await assertGone(view, site);
});
