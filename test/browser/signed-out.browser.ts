/** Signing in, and the pages while svc refuses the token or is silent. */
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { browserTest, noAnswer, pressOn, type View } from './browser.ts';
import { contextWith, openSignIn, show, signIn } from './builder-desk.ts';
import { goToView, operatorToken, startLiveStage } from './live-stage.ts';
import { signIn as signInLive, startOperatorStage } from './operator-stage.ts';
import { until } from '../support/waiting.ts';

const other = 'another-token-that-was-set-since';
const banner = (page: Page) => page.getByText('svc does not take your token any more');

/** The page does not show the advice about the header, which is for programs. */
async function assertNoBearer(page: Page): Promise<void> {
  assert.equal(await page.getByText('Authorization: Bearer').count(), 0);
}

/** Signs in from the banner, in a dialog whose input has the focus. */
async function signInAgain(page: Page, token: string): Promise<void> {
  await pressOn(page, 'Sign in again');
  await page.locator('[role=dialog] #token:focus').waitFor();
  await page.keyboard.type(token);
  await page.keyboard.press('Enter');
  await banner(page).waitFor({ state: 'detached' });
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

browserTest('a sign-in has the focus in its field', contextWith(), async ({ open }) => {
  const view = await open();
  const page = await openSignIn(view);
  await page.locator('#token:focus').waitFor();
  await page.goto('/ui');
  await pressOn(page, 'Sign in');
  await page.locator('[role=dialog] #token:focus').waitFor();
});

browserTest('a token that was changed is asked for in one banner', contextWith(), async (stage) => {
  const view = await stage.open();
  const page = await signIn(view, 'form');
  await page.getByRole('treeitem', { name: /^echo/ }).click();
  await page.getByLabel('Name (required)').fill('mine');
  view.expectFault(noAnswer);
  await stage.site.service.program[Symbol.asyncDispose]();
  await view.faulted(noAnswer);
  await stage.site.service.restart({ ADMIN_TOKEN: other });
  await banner(page).waitFor();
  assert.equal(
    await page.evaluate("sessionStorage.getItem('svc-token')"),
    null,
    'a refused token is deleted',
  );
  await page.getByText('Your draft stays.').waitFor();
  await show(page, 'Review');
  assert.ok(await page.getByRole('button', { name: 'Apply', exact: true }).isDisabled());
  await page.getByText('You are signed out: sign in again above').waitFor();
  await assertNoBearer(page);
  assert.equal(await page.getByRole('button', { name: 'Sign in again' }).count(), 1);
  await view.assertAccessible();
  await signInAgain(page, other);
  await page.getByText('brain echo is renamed to mine', { exact: false }).first().waitFor();
  await page.getByRole('button', { name: 'Apply', exact: true, disabled: false }).click();
  await page.getByRole('heading', { name: 'The configuration is in use' }).waitFor();
});

browserTest('/ui keeps what was begun while the token is refused', startLiveStage, async (s) => {
  await s.site.say('one');
  await s.site.receiver.waitFor(1);
  const view = await s.open();
  const { page } = view;
  await page.goto('/ui?view=conversations');
  await signInTo(page, operatorToken);
  await page.getByRole('link', { name: /^lobby/ }).press('Enter');
  await pressOn(page, 'Reveal what was said');
  await page.getByText('one', { exact: true }).waitFor();
  view.expectFault(/status of 401/);
  view.expectFault(noAnswer);
  await s.site.stop();
  await view.faulted(noAnswer);
  await s.site.start(other);
  await banner(page).waitFor();
  // Only signed-in people see the texts of others.
  await page.getByText('one', { exact: true }).waitFor({ state: 'detached' });
  await assertNoBearer(page);
  await view.assertAccessible();
  await signInAgain(page, other);
  await pressOn(page, 'Reveal what was said');
  await page.getByText('one', { exact: true }).waitFor();
});

async function signInTo(page: Page, token: string): Promise<void> {
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Administrator token').fill(token);
  await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

browserTest('each view tells a refused token by the banner alone', startLiveStage, async (s) => {
  const view = await s.open();
  const { page } = view;
  await page.goto('/ui?view=audit');
  await signInTo(page, operatorToken);
  await page.getByRole('heading', { name: 'Audit' }).waitFor();
  view.expectFault(/status of 401/);
  view.expectFault(noAnswer);
  await s.site.stop();
  await view.faulted(noAnswer);
  await s.site.start(other);
  await banner(page).waitFor();
  for (const [group, name] of [
    ['Settings', 'Secrets'],
    ['Settings', 'Configuration'],
    ['Conversations', 'People'],
    ['Delivery', 'Dead letters'],
    ['Settings', 'Audit'],
  ] as const) {
    await goToView(page, group, name);
    await page.locator('main h2').first().waitFor();
    await assertNoBearer(page);
    assert.equal(await banner(page).count(), 1);
  }
});

browserTest(
  'the builder says that svc is silent, for how long, and that it is back',
  contextWith(),
  async (s) => {
    const view = await s.open();
    const page = await signIn(view, 'form');
    await page.getByRole('treeitem', { name: /^echo/ }).click();
    await page.getByLabel('Name (required)').fill('mine');
    view.expectFault(noAnswer);
    await s.site.service.program[Symbol.asyncDispose]();
    await passes(page.getByText(/svc does not answer since \d\d:\d\d:\d\d \(\d+ s\)/));
    await view.assertAccessible();
    await show(page, 'Review');
    await page.getByText('svc does not answer now').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Apply', exact: true }).isDisabled());
    await s.site.service.restart();
    await page.getByText(/svc answers again, after \d+ s\. Your draft is as it was\./).waitFor();
    await page.getByRole('button', { name: 'Apply', exact: true, disabled: false }).click();
    await page.getByRole('heading', { name: 'The configuration is in use' }).waitFor();
    // The heading may take the focus at any time, and a key with it.
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByText(/svc answers again/).waitFor({ state: 'detached' });
  },
);

browserTest('a svc that is halted is silent, too', contextWith(), async ({ open }) => {
  const page = await signIn(await open(), 'form');
  const held = Promise.withResolvers<void>();
  await page.route('**/api/v1/status', async (route) => {
    await held.promise;
    await route.abort().catch(() => undefined);
  });
  await page.getByText(/svc does not answer since/).waitFor();
  await page.unroute('**/api/v1/status');
  await page.getByText(/svc answers again/).waitFor();
  held.resolve();
});

browserTest('a form of /ui is there as it was begun', startLiveStage, async (s) => {
  const view = await s.open();
  const { page } = view;
  await page.goto('/ui?view=people');
  await signInTo(page, operatorToken);
  await page.getByLabel('Code', { exact: true }).fill('half-a-code');
  view.expectFault(/status of 401/);
  view.expectFault(noAnswer);
  await s.site.stop();
  await view.faulted(noAnswer);
  await s.site.start(other);
  await banner(page).waitFor();
  assert.equal(await page.getByLabel('Code', { exact: true }).inputValue(), 'half-a-code');
  await signInAgain(page, other);
  assert.equal(await page.getByLabel('Code', { exact: true }).inputValue(), 'half-a-code');
});

browserTest('time passes before the eyes in the builder', contextWith(), async (stage) => {
  const view = await stage.open();
  const page = await signIn(view, 'form');
  const { text = '' } = (await stage.site.service.ask('config')).body;
  assert.equal((await stage.site.service.put(`${text}\n`)).status, 200);
  await show(page, 'Review');
  await passes(page.getByText(/\(\d+ s ago\)/).first());
});

/** A number of seconds grows while nobody acts. */
async function passes(told: Locator): Promise<void> {
  const seconds = async (): Promise<number> =>
    Number(/\((\d+) s/.exec(await told.innerText())?.[1] ?? 0);
  const first = await seconds();
  await until('time has passed', async () => (await seconds()) > first);
}

const focused = (page: Page, name: string) =>
  page.locator('[role=dialog] button:focus').filter({ hasText: name }).waitFor();

browserTest('a dialog focuses what one came for', startOperatorStage, async ({ site, open }) => {
  const view: View = await open();
  const { page } = view;
  await site.say('calc');
  await site.receiver.waitFor(1);
  await page.goto('/ui?view=conversations');
  await signInLive(page);
  await page.getByRole('link', { name: /^lobby/ }).press('Enter');
  // Enter must not trigger an action that deletes.
  await pressOn(page, /^Delete/);
  await focused(page, 'Keep it');
  await page.keyboard.press('Escape');
  view.expectFault(/401 \(Unauthorized\)/);
  await page.goto('/builder');
  await pressOn(page, 'Keys');
  await page.locator('[role=dialog] div:focus').filter({ hasText: 'The next problem' }).waitFor();
  await page.keyboard.press('Escape');
  await show(page, 'Templates');
  await pressOn(page, 'Choose Echo on a webhook');
  await focused(page, 'Replace mine with it');
});
