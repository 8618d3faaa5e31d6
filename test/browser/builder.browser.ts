/** The builder, by the actions of a person. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Field } from '../../src/config/field.ts';
import { schema } from '../../src/config/schema.ts';
import { memberPath } from '../../src/config/locate.ts';
import type { Page } from 'playwright-core';
import { browserTest, type View } from './browser.ts';
import { adminToken } from '../config/program.ts';
import { until } from '../support/waiting.ts';
import {
  answerConfig,
  contextWith,
  enter,
  leave,
  reload,
  signIn,
  stopClock,
} from './builder-desk.ts';

const golden = join(import.meta.dirname, '../golden');
const everything = readFileSync(join(golden, '0.1-everything.json'), 'utf8');

const state = ({ page }: View) => page.locator('#draft-state');
/** Waits until the focus is on a field, or inside the element with this id. */
const focusOn = ({ page }: View, id: string) => page.locator(`[id^="${id}"]:focus`).waitFor();
const branch = ({ page }: View, name: string | RegExp) => page.getByRole('treeitem', { name });

browserTest('a field is changed, undone and redone', contextWith(), async ({ open }) => {
  const view = await open();
  const { page } = view;
  await signIn(view, 'form');
  await stopClock(page);
  await branch(view, /^echo/).click();
  const name = page.getByLabel('Name (required)');
  await name.fill('triage');
  await state(view).getByText('changed, not applied').waitFor();
  await branch(view, /^triage/).waitFor();
  await page.getByText('no brain has the name', { exact: false }).first().waitFor();
  await name.press('Tab');
  await page.getByText('No problems').waitFor();
  await branch(view, /→ triage/).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await state(view).getByText('as in use').waitFor();
  assert.equal(await name.inputValue(), 'echo');
  await page.keyboard.press('Control+Shift+z');
  assert.equal(await name.inputValue(), 'triage');
});

browserTest('everything is done by the keyboard', contextWith(), async ({ open }) => {
  const view = await open();
  const { page } = view;
  const press = (keys: string) => page.keyboard.press(keys);
  await signIn(view, 'form');
  await press('/');
  await focusOn(view, 'outline-search');
  await page.keyboard.type('llama');
  await press('ArrowDown');
  await press('End');
  await press('Enter');
  await focusOn(view, 'field-brains[0].models[0]');
  await press('Control+k');
  const palette = page.getByRole('combobox', { name: 'Go to, or do' });
  await palette.and(page.locator(':focus')).waitFor();
  await page.keyboard.type('add storage');
  await press('Enter');
  await page.getByRole('heading', { level: 2, name: 'Storage' }).waitFor();
  await focusOn(view, 'field-storage');
  // Passes the button that removes the block.
  await press('Tab');
  await press('Tab');
  await page.keyboard.type('svc.db');
  assert.equal(await page.getByLabel('Path').inputValue(), 'svc.db');
  await press('Control+k');
  await palette.and(page.locator(':focus')).waitFor();
  await page.keyboard.type('add a brain');
  await press('Enter');
  await focusOn(view, 'field-brains[1]');
  await press('F8');
  await focusOn(view, 'field-brains[1]');
  await press('Alt+3');
  await page.locator('.cm-content').waitFor();
});

browserTest('each problem leads to its field, and is mended', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  await answerConfig(page, brokenText);
  await signIn(view, 'form');
  const problems = page.getByRole('complementary', { name: 'Problems' });
  await problems.getByText('5 errors, 1 warning').waitFor();
  await problems.getByRole('button', { name: 'Go to echo › m: timeout_seconds' }).click();
  await focusOn(view, 'field-brains[0].models[0].timeout_seconds');
  await problems.getByRole('button', { name: 'Go to echo: polcy' }).click();
  await focusOn(view, 'field-brains[0].polcy');
  const rename = problems.getByRole('button', { name: 'Rename to policy' });
  await rename.click();
  await rename.waitFor({ state: 'detached' });
  assert.equal(await page.locator(':focus').getAttribute('id'), 'problems-title');
  // The list moves up a moment after a fix, so an early click could miss the next button.
  for (const [sum, name] of [
    ['4 errors, 1 warning', 'Write 60'],
    ['3 errors, 1 warning', 'Write fanout'],
    ['2 errors, 1 warning', 'Add storage'],
    ['1 error, 1 warning', 'Write echo'],
  ] as const) {
    await problems.getByText(sum).waitFor();
    await problems.getByRole('button', { name }).first().click();
  }
  await problems.getByText('No problems').waitFor();
  for (let step = 0; step < 5; step++) await page.keyboard.press('Control+z');
  await problems.getByText('5 errors, 1 warning').waitFor();
  await state(view).getByText('as in use').waitFor();
});

const brokenText = JSON.stringify(
  {
    channels: [
      { type: 'webhook', token_env: 'T', webhook: { outbound_url: 'http://127.0.0.1:9/' } },
    ],
    brains: [
      {
        name: 'echo',
        sensitivity: 'private',
        dispatch: 'fan-out',
        polcy: { kind: 'priority' },
        models: [
          {
            provider: 'local_runtime',
            model_id: 'm',
            locality: 'local',
            timeout_seconds: '60',
          },
        ],
      },
    ],
    routes: [{ channel: 'webhook', brain: 'ecko' }],
    session: {},
  },
  null,
  2,
);

browserTest('text and form are one; what is no JSON is said', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  await signIn(view, 'form');
  await stopClock(page);
  await page.getByRole('tab', { name: 'JSON' }).click();
  const text = page.locator('.cm-content');
  await text.getByText('"echo"').first().dblclick();
  await page.keyboard.type('triage');
  await branch(view, /^triage/).waitFor();
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' nonsense');
  await page.getByText('Something stands after the end', { exact: false }).waitFor();
  await page.getByRole('tab', { name: 'Form' }).click();
  await page.getByText('The text is no JSON at the moment').waitFor();
  await branch(view, /^triage/).click();
  assert.ok(await page.getByLabel('Name (required)').isDisabled());
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByLabel('Name (required)').fill('other');
  await page.getByRole('tab', { name: 'JSON' }).click();
  await text.getByText('"other"').first().waitFor();
});

browserTest('lines that nobody touched keep their ends', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  const mixed = everything.replaceAll(/\n( {4}\S)/g, '\r\n$1');
  await answerConfig(page, mixed);
  await signIn(view, 'json');
  await stopClock(page);
  await page.locator('.cm-content').getByText('"local first"').first().dblclick();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.keyboard.type('"_note": 1,');
  await state(view).getByText('changed, not applied').waitFor();
  const draft = await keptDraft(page, '_note');
  assert.equal(draft.replace(/\n *"_note": 1,/, ''), mixed);
  await page.getByRole('button', { name: 'Undo' }).click();
  await state(view).getByText('as in use').waitFor();
});

/** Returns the stored draft, once it contains these words. */
function keptDraft(page: Page, words: string): Promise<string> {
  return until(`a draft with ${words}`, async () => {
    const kept = await page.evaluate<string[]>('Object.values(localStorage)');
    const texts = kept.map((one) => (JSON.parse(one) as { text: string }).text);
    return texts.find((one) => one.includes(words)) ?? null;
  });
}

browserTest('a secret field takes a name, never a value', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  await signIn(view, 'form');
  await branch(view, /^Webhook/)
    .first()
    .click();
  const field = page.getByLabel('Variable with the token (required)');
  await page.getByText('set: environment').waitFor();
  const value = 'ghp_0123456789abcdefghijABCDEFGHIJ';
  await field.fill(value);
  await field.press('Enter');
  await page.getByText('Not taken: this is not the name', { exact: false }).waitFor();
  assert.equal(await field.inputValue(), 'WEBHOOK_SECRET');
  await state(view).getByText('as in use').waitFor();
  await field.fill('NOT_THERE');
  await field.press('Enter');
  await page.getByText('not set where svc runs').waitFor();
  const kept = await page.evaluate<string>('JSON.stringify(localStorage)');
  assert.ok(!kept.includes('ghp_'), 'the value was kept');
});

browserTest('a draft and the sign-in survive a reload', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  page.on('dialog', (dialog) => void dialog.accept());
  await signIn(view, 'form');
  await branch(view, /^echo/).click();
  await page.getByLabel('Name (required)').fill('triage');
  const left = page.waitForEvent('dialog');
  await page.reload();
  assert.equal((await left).type(), 'beforeunload');
  const kept = await page.evaluate<string>(
    'JSON.stringify([localStorage, document.cookie, location.href, document.body.outerHTML])',
  );
  assert.ok(kept.includes('triage'));
  assert.ok(!kept.includes(adminToken), 'only the tab keeps the token');
  await page.getByText('Your draft is here again').waitFor();
  await branch(view, /^triage/).waitFor();
  await page.getByRole('button', { name: 'Throw it away' }).click();
  await branch(view, /^echo/).waitFor();
  await state(view).getByText('as in use').waitFor();
  await reload(page);
  assert.equal(await page.getByText('Your draft').count(), 0);
  await branch(view, /^echo/).click();
  await page.getByLabel('Name (required)').fill('helper');
  await leave(page);
  const afterwards = await page.evaluate<string>('JSON.stringify(sessionStorage)');
  assert.ok(!afterwards.includes(adminToken), 'a sign-out deletes the token');
  await enter(page);
  await page.getByText('Your draft is here again').waitFor();
  await branch(view, /^helper/).waitFor();
});

browserTest('a draft of what is no longer in use is offered', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  page.on('dialog', (dialog) => void dialog.accept());
  await answerConfig(page, everything);
  await signIn(view, 'form');
  await branch(view, /^helper/)
    .first()
    .click();
  await page.getByLabel('Name (required)').fill('mine');
  await branch(view, /^mine/).waitFor();
  await page.unroute('**/api/v1/config');
  await answerConfig(page, everything.replaceAll('"helper"', '"theirs"'), 'r-2');
  await reload(page);
  await page.getByText('There is a draft from').waitFor();
  await branch(view, /^theirs/)
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'Take up the draft' }).click();
  await branch(view, /^mine/).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await branch(view, /^theirs/)
    .first()
    .waitFor();
});

browserTest('the privacy filter is shown where it drops a model', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  await answerConfig(page, everything);
  await signIn(view, 'form');
  await branch(view, /^local first/)
    .first()
    .click();
  await page.getByLabel('Sensitivity (required)').selectOption('private');
  await page.getByText('One model is listed here and never asked').waitFor();
  await branch(view, /gpt-4.1 never asked/).click();
  await page.getByText('nothing is ever sent to it').waitFor();
});

browserTest('every field of the contract has its place in a form', contextWith(), async (s) => {
  const view = await s.open();
  const { page } = view;
  await answerConfig(page, everything);
  await signIn(view, 'form');
  const value: unknown = JSON.parse(everything);
  const places = [...fieldsOf(schema, value, '')];
  assert.ok(places.length > 80, `${places.length} places`);
  const pages = await page.getByRole('treeitem').count();
  const seen = new Set<string>();
  for (let at = 0; at < pages; at++) {
    await page.getByRole('treeitem').nth(at).click();
    const closed = page.locator('main button[aria-expanded=false]');
    while ((await closed.count()) > 0) await closed.first().click();
    const ids = await page.evaluate<string[]>(
      `[...document.querySelectorAll('main [id^="field-"]')].map(({ id }) => id)`,
    );
    for (const id of ids) seen.add(id.slice('field-'.length));
  }
  assert.deepEqual(
    places.filter((place) => !seen.has(place)),
    [],
  );
});

/** Every path where the most complete configuration could hold a value, except forbidden pairs. */
function* fieldsOf(field: Field, value: unknown, path: string): Generator<string> {
  if (path !== '') yield path;
  if (field.type === 'list' && Array.isArray(value)) {
    if (field.items.type === 'choice') return;
    for (const [at, one] of value.entries()) yield* fieldsOf(field.items, one, `${path}[${at}]`);
  }
  if (field.type !== 'object' || typeof value !== 'object' || value === null) return;
  const object = value as Record<string, unknown>;
  const condition = field.conditions?.find(({ when }) => when['type'] === object['type']);
  const others = object['type'] === undefined ? [] : (condition?.forbids ?? []);
  for (const [key, inner] of Object.entries(field.fields)) {
    if (others.includes(key)) continue;
    yield* fieldsOf(inner, object[key], memberPath(path, key));
  }
}
