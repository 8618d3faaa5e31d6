/** The shell's own pages in a browser, every one of them without a script. */
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ApplicationState, Stuck } from '../../apps/desktop/desktop.ts';
import { writeRedirectFile } from '../../src/lib/person-browser.ts';
import { openPageStage, until, type PageStage } from '../fake/page-stage.ts';
import { browserTest, pressOn, type Stage, type View } from './browser.ts';

/** The linked page waits; a click must not wait for it. */
const noWait = { noWaitAfter: true };

const start = (): Promise<PageStage> => openPageStage();

const serving = { at: 'serving', origin: 'http://127.0.0.1:1', canWrite: false } as const;

const missing = [
  { name: 'WEBHOOK_SECRET', usedAt: ['channels[0].token_env'], why: 'It is not set.' },
  { name: 'BOT_KEY', usedAt: ['brains[0].models[0].api_key_env'], why: 'It is not set.' },
];

const reasons: Readonly<Record<string, Stuck>> = {
  config: {
    of: 'config',
    problems: [
      { path: 'routes[0].brain', line: 17, message: 'is unknown', remedy: 'Name one that is.' },
      { path: '', line: 0, message: 'the file is empty', remedy: 'Write one JSON object.' },
    ],
  },
  'a missing secret': { of: 'secrets', missing, keychain: 'ready', told: null },
  'a locked keychain': { of: 'secrets', missing, keychain: 'locked', told: 'It is locked.' },
  'no keychain': { of: 'secrets', missing, keychain: 'no_provider', told: 'There is none.' },
  'a taken address': {
    of: 'address',
    field: 'channels[0].webhook.bind',
    address: '127.0.0.1:8090',
    message: 'the address is taken: stop the program that listens there, or choose another port',
  },
  'a database in use': { of: 'in_use', message: 'Another svc uses the database (process 42)' },
  'last words': { of: 'other', code: 'ended_2', message: 'Usage: svc\nNo such thing' },
  'something else': { of: 'other', code: 'disk_full', message: 'The disk is full.' },
};

const states: Readonly<Record<string, ApplicationState>> = {
  'first run': { at: 'first_run', origin: 'http://127.0.0.1:1' },
  starting: { at: 'starting' },
  serving,
  'serving, with changes': { ...serving, canWrite: true },
  'a crash that is tried again': {
    at: 'crashed',
    how: 'svc ended by the signal SIGKILL.',
    lastLines: ['<script>alert(1)</script>', 'x'.repeat(300)],
    nextTryAt: Date.now() + 30_000,
  },
  'a crash for good': { at: 'crashed', how: 'It ended.', lastLines: [], nextTryAt: null },
  stopping: { at: 'stopping' },
  stopped: { at: 'stopped' },
  ...Object.fromEntries(
    Object.entries(reasons).map(([name, why]) => [name, { at: 'needs_you', why } as const]),
  ),
};

type Opening = { readonly room?: string; readonly width?: number; readonly stands?: boolean };

async function openPage(
  { site, open }: Stage<PageStage>,
  { room = '', width = 1_000, stands = true }: Opening = {},
): Promise<View> {
  const view = await open({ viewport: { width, height: 700 } });
  // Playwright cannot inspect a page that is about to navigate, so a waiting page gets no answer.
  if (stands) await view.page.route('**/wait*', (route) => route.fulfill({ status: 204 }));
  await view.page.goto(`${site.server.page}${room}`, { waitUntil: 'commit' });
  await view.page.getByRole('heading', { level: 1 }).waitFor();
  return view;
}

/** The page fits, is accessible, and has one main action. */
async function assertGood(view: View, hasMain: boolean): Promise<void> {
  await view.assertFits();
  await view.assertAccessible();
  const count = await view.page.locator('.main').count();
  assert.ok(hasMain ? count === 1 : count <= 1, `${count} main buttons`);
  assert.equal(await view.page.locator('script').count(), 0);
}

for (const [name, state] of Object.entries(states)) {
  browserTest(`the page says what is so: ${name}`, start, async (stage) => {
    await stage.site.repairs.remember();
    appendFileSync(stage.site.config, '\n');
    stage.site.application.state = state;
    const view = await openPage(stage, { width: 360 });
    await assertGood(view, state.at !== 'stopping' && state.at !== 'stopped');
  });
}

for (const room of ['log', 'log?of=application', 'configuration', 'settings', 'close']) {
  browserTest(`the room can be used: ${room}`, start, async (stage) => {
    const { site } = stage;
    site.application.state = serving;
    writeFileSync(join(site.logs, 'svc.log'), `${'a long line '.repeat(40)}\n`.repeat(80));
    const view = await openPage(stage, { room, width: 360 });
    await assertGood(view, true);
    // The newest lines, at the end of the log, are in sight.
    const log = view.page.getByRole('region', { name: 'The last lines' });
    for (const box of await log.all()) {
      const scrolled = await box.evaluate((pre) => {
        const before = pre.scrollTop;
        pre.scrollTop = pre.scrollHeight;
        return pre.scrollTop - before;
      });
      assert.equal(scrolled, 0);
    }
  });
}

browserTest('a link that was used, and an address of before, are told of', start, async (stage) => {
  const { site, open } = stage;
  const link = site.server.offer();
  await site.ask(link);
  const view = await open({ viewport: { width: 360, height: 700 } });
  view.expectFault(/403 \(Forbidden\)/);
  view.expectFault(/404 \(Not Found\)/);
  await view.page.goto(link);
  await view.page.getByRole('heading', { name: 'This link was used before' }).waitFor();
  await assertGood(view, false);
  await view.page.goto(`${site.origin}/app/AAAAAAAAAAAAAAAAAAAAAA/`);
  await view.page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
  await assertGood(view, false);
});

browserTest(
  'from the file that a browser is given it goes in, and by keys on',
  start,
  async (s) => {
    const { site, open } = s;
    site.application.state = serving;
    using file = writeRedirectFile(site.server.offer(), {});
    const view = await open();
    view.expectFault(/left its origin: file:/);
    await view.page.goto(pathToFileURL(file.path).href);
    await view.page.getByRole('heading', { level: 1, name: 'svc is running' }).waitFor();
    assert.equal(view.page.url(), site.server.page);
    await view.page.getByRole('link', { name: 'Settings' }).press('Enter');
    await view.page.getByLabel('svc ends').check();
    await pressOn(view.page, 'Save');
    await view.page.getByRole('status').getByText('It is saved.').waitFor();
    assert.equal(site.application.facts.onClose, 'quit');
  },
);

browserTest('a pasted secret goes in, and the page goes along until svc runs', start, async (s) => {
  const { site } = s;
  site.application.state = { at: 'needs_you', why: reasons['a missing secret']! };
  const view = await openPage(s, { stands: false });
  await view.page.getByLabel('Value of WEBHOOK_SECRET').fill('a-canary-of-16-characters');
  await view.page.getByLabel('Value of BOT_KEY').fill('another-canary');
  await view.page.getByRole('button', { name: 'Keep and start' }).press('Enter', noWait);
  await until(() => site.application.state.at === 'starting' && site.application.waiting > 1);
  assert.equal(site.keychain.values.size, 2);
  site.application.state = { ...serving, canWrite: true };
  await view.page.getByRole('heading', { name: 'svc is running' }).waitFor();
  await view.page.getByText('They are in the keychain.').waitFor();
  assert.doesNotMatch(await view.page.content(), /canary/);
  await assertGood(view, true);
});

browserTest('without anything to tell it goes to the pages of svc by itself', start, async (s) => {
  const { site, open } = s;
  const view = await open();
  await view.page.goto(site.server.page, { waitUntil: 'commit' });
  await until(() => site.application.waiting > 1);
  site.application.pagesAt = `${site.server.page}settings#pages`;
  site.application.state = serving;
  await view.page.getByRole('heading', { name: 'Settings' }).waitFor();
});

browserTest('a button leads to the pages of svc, at another port', start, async (stage) => {
  const { site } = stage;
  await using core = await openPageStage();
  site.application.state = serving;
  site.application.pagesAt = `${core.server.page}settings`;
  const view = await openPage(stage);
  view.expectFault(/left its origin: http:/);
  await pressOn(view.page, 'Open svc');
  await view.page.waitForURL(site.application.pagesAt);
  await view.page.getByRole('heading', { name: 'Settings' }).waitFor();
});

browserTest('a text that is refused stays with the one who typed it', start, async (stage) => {
  const { site } = stage;
  site.application.state = serving;
  const before = readFileSync(site.config, 'utf8');
  const view = await openPage(stage, { room: 'configuration' });
  view.expectFault(/422/);
  const field = view.page.getByLabel('Text of the configuration');
  assert.equal(await field.inputValue(), before);
  await field.fill(before.replace('"echo"', '"<other>"'));
  await pressOn(view.page, 'Save and start again');
  await view.page.getByRole('alert').waitFor();
  assert.match(await field.inputValue(), /"<other>"/);
  await assertGood(view, true);
  await field.fill(before.replace('llama3.2', 'llama3.3'));
  site.application.onRestart = serving;
  await pressOn(view.page, 'Save and start again');
  await view.page.getByText('It is saved.').waitFor();
  assert.equal(readFileSync(site.config, 'utf8'), before.replace('llama3.2', 'llama3.3'));
});
