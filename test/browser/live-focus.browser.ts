/** The focus in the live view when its element disappears, and on a slow machine. */
import assert from 'node:assert/strict';
import { browserTest, pressOn } from './browser.ts';
import { operatorToken, startLiveStage } from './live-stage.ts';
import { lateEffects, lateFrames } from './watching.ts';

browserTest(
  'the focus stays where the work is, when what had it is gone',
  startLiveStage,
  async ({ site, open }) => {
    await site.say('one');
    await site.receiver.waitFor(1);
    const { page } = await open();
    await page.goto('/ui?view=conversations');
    await page.getByRole('button', { name: 'Sign in to see it' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Administrator token').fill(operatorToken);
    await page.keyboard.press('Enter');
    await page.locator('section:focus', { hasText: 'Each conversation' }).waitFor();
    await page.getByRole('link', { name: 'lobby' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.locator('a:focus', { hasText: 'lobby' }).press('Enter');
    await page.locator('main:focus').waitFor();
    await pressOn(page, 'Reveal what was said');
    await page.getByText('one', { exact: true }).waitFor();
    await page.locator('button:focus', { hasText: 'Hide what was said' }).press('Enter');
    await page.locator('button:focus', { hasText: 'Reveal what was said' }).waitFor();
  },
);

browserTest(
  'the focus is kept from the moment that something can have it',
  startLiveStage,
  async ({ open }) => {
    const { page } = await open();
    await page.addInitScript(lateEffects);
    await page.goto('/ui?view=conversations');
    await pressOn(page, 'Sign in to see it');
    await page.getByLabel('Administrator token').fill(operatorToken);
    await page.keyboard.press('Enter');
    await page.locator('section:focus', { hasText: 'Each conversation' }).waitFor();
  },
);

browserTest(
  'a dialog that was closed leaves the focus where the person has put it since',
  startLiveStage,
  async ({ open }) => {
    const { page } = await open();
    await page.addInitScript(lateFrames);
    await page.goto('/ui?view=messages');
    await pressOn(page, 'Sign in');
    await page.locator('[role="dialog"] :focus').waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('Outcome').focus();
    await page.locator('[role="dialog"]').waitFor({ state: 'detached' });
    assert.equal(await page.evaluate('document.activeElement.id'), 'filter-outcome');
  },
);
