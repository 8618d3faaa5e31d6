/** The pages inside the application: signing in through it, losing access, and the end of svc. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { browserTest, noAnswer, pressOn, type Stage, type View } from './browser.ts';
import {
  expectToLeave,
  lendShell,
  startApplication,
  titleOfApplication,
  type ApplicationStage,
} from './application-stage.ts';

const start = (): Promise<ApplicationStage> => startApplication();
const readOnly = (): Promise<ApplicationStage> => startApplication(false);

const applicationLink = (page: Page) =>
  page.getByRole('link', { name: 'This application', exact: true });

/** The server sends the page of the builder with a 401, since an address cannot contain a token. */
const beforeSignIn = /status of 401.*\/builder/;

async function enter({ site, open }: Stage<ApplicationStage>, path = '/ui'): Promise<View> {
  const view = await open();
  await view.page.goto(site.offer(path));
  await applicationLink(view.page).waitFor();
  return view;
}

browserTest('a link signs in, and is gone from the address', start, async (stage) => {
  const view = await enter(stage, '/ui?view=secrets');
  const { page } = view;
  await page.getByRole('group', { name: 'Secrets' }).waitFor();
  assert.equal(page.url(), `${stage.site.origin}/ui?view=secrets`);
  assert.equal(await applicationLink(page).getAttribute('href'), stage.site.page);
  assert.equal(await page.getByRole('button', { name: /^Sign/ }).count(), 0);
  const kept = '[JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie]';
  assert.deepEqual(await page.evaluate(kept), ['{}', '{"svc-application":"yes"}', '']);
  await view.assertAccessible();
  await view.picture('application signed in');
});

browserTest('the way to the builder and back carries the sign-in over', start, async (stage) => {
  const view = await enter(stage);
  const { page } = view;
  view.expectFault(beforeSignIn);
  await page.getByRole('link', { name: 'Builder' }).press('Enter');
  await page.getByRole('navigation', { name: 'Outline' }).waitFor();
  assert.equal(page.url(), `${stage.site.origin}/builder`);
  await page.getByRole('link', { name: 'Live view' }).press('Enter');
  await page.getByRole('link', { name: 'Builder' }).waitFor();
  assert.equal(page.url(), `${stage.site.origin}/ui`);
});

browserTest('a skip link is no code', start, async (stage) => {
  const { page } = await enter(stage);
  await page.getByRole('link', { name: 'Skip to the content' }).press('Enter');
  assert.equal(new URL(page.url()).hash, '#main');
  await applicationLink(page).waitFor();
});

browserTest('a page that was loaded again asks for one that is signed in', start, async (stage) => {
  const view = await enter(stage);
  const { page } = view;
  await page.reload();
  await page.getByRole('banner').getByRole('button', { name: 'Sign in' }).press('Enter');
  const dialog = page.getByRole('dialog');
  await view.assertAccessible('[role=dialog]');
  await view.picture('application loaded again');
  stage.site.shows = { kind: 'asked' };
  await pressOn(dialog, 'Open svc again');
  await dialog.getByText('svc opens a page that knows you').waitFor();
  view.expectFault(/status of 429/);
  stage.site.shows = { kind: 'too_soon', afterMs: 5_000 };
  await pressOn(dialog, 'Open svc again');
  await dialog.getByText('asked for a moment ago').waitFor();
  view.expectFault(/status of 503/);
  stage.site.shows = { kind: 'no_shell' };
  await pressOn(dialog, 'Open svc again');
  await dialog.getByText('The application is not there now').waitFor();
  assert.equal(stage.site.asked(), 3);
});

browserTest('a page that another one went on from says so plainly', start, async (stage) => {
  const view = await enter(stage);
  view.expectFault(/status of 401/);
  const other = await enter(stage);
  await view.page.getByText('This goes on in another page').waitFor();
  await view.page.getByRole('main').getByRole('button', { name: 'Open svc again' }).waitFor();
  await view.assertAccessible();
  await view.picture('application moved');
  await applicationLink(other.page).waitFor();
});

browserTest('a second use of a link is told to both who used it', start, async (stage) => {
  const view = await stage.open();
  view.expectFault(/status of 401/);
  const url = stage.site.offer('/ui');
  await view.page.goto(url);
  await applicationLink(view.page).waitFor();
  const other = await stage.open();
  other.expectFault(/status of 403/);
  await other.page.goto(url);
  await other.page.getByText(/This link was used before/).waitFor();
  await view.page.getByText(/was used a second time/).waitFor();
});

browserTest('a window of its own needs no code, nor after a reload', start, async (stage) => {
  const view = await stage.open();
  const { page } = view;
  view.expectFault(beforeSignIn);
  await lendShell(page, stage.site, () => stage.site.grant());
  await page.goto('/ui');
  await applicationLink(page).waitFor();
  await page.reload();
  await applicationLink(page).waitFor();
  await page.getByRole('link', { name: 'Builder' }).press('Enter');
  await page.getByRole('navigation', { name: 'Outline' }).waitFor();
});

browserTest('a window that is put out as another goes on asks before', start, async (stage) => {
  const view = await stage.open();
  view.expectFault(/status of 401/);
  const { page } = view;
  await lendShell(page, stage.site, () => stage.site.grant());
  await page.goto('/ui');
  await applicationLink(page).waitFor();
  stage.site.grant();
  await page.getByText('This goes on in another page').waitFor();
  await pressOn(page, 'Go on here');
  await page.getByText('This goes on in another page').waitFor({ state: 'detached' });
});

browserTest('who may look alone is led to where writing is added', readOnly, async (stage) => {
  const view = await stage.open({ viewport: { width: 360, height: 700 } });
  const { page } = view;
  await page.goto(stage.site.offer('/ui'));
  await page
    .getByRole('banner')
    .getByRole('button', { name: 'Let me change things' })
    .press('Enter');
  const way = page.getByRole('dialog').getByRole('link', { name: 'Go to that page' });
  assert.equal(await way.getAttribute('href'), stage.site.page);
  await view.assertFits();
  await view.assertAccessible();
  await view.picture('application read-only');
});

browserTest('when svc has ended, the live view leads to the application', start, async (stage) => {
  const view = await enter(stage, '/ui?view=audit');
  view.expectFault(noAnswer);
  expectToLeave(view, stage.site);
  await stage.site.end();
  await view.page.getByRole('heading', { name: titleOfApplication }).waitFor();
  assert.equal(view.page.url(), `${stage.site.page}?waited`);
});

browserTest('when svc has ended, the builder keeps the draft and says it', start, async (stage) => {
  const view = await enter(stage, '/builder?view=json');
  const { page } = view;
  view.expectFault(beforeSignIn);
  view.expectFault(noAnswer);
  await stage.site.end();
  const way = page.getByRole('link', { name: 'See why' });
  await way.waitFor();
  await page.getByText('Your draft stays.').waitFor();
  assert.equal(await way.getAttribute('href'), stage.site.page);
  await view.assertAccessible();
  await view.picture('application builder ended');
});

browserTest('a builder that is put out keeps its draft before it', start, async (stage) => {
  const view = await enter(stage, '/builder');
  view.expectFault(/status of 401/);
  await enter(stage);
  await view.page.getByText(/another page.*Your draft stays/).waitFor();
  await view.page.getByRole('navigation', { name: 'Outline' }).waitFor();
  await view.assertAccessible();
  await view.page.reload();
  await view.page.getByRole('button', { name: 'Open svc again' }).waitFor();
  await view.assertAccessible();
  await view.picture('application builder door');
});
