/** The page of the first run, over a fake session that decides its steps. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SignIn } from '../../src/admin/http/sign-in.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { writeRedirectFile } from '../../src/lib/person-browser.ts';
import {
  openWizardServer,
  type WizardApplication,
  type WizardServer,
} from '../../apps/setup/browser/wizard-server.ts';
import { fakeSession, plainPage, type FakeSession } from '../fake/setup-session.ts';
import { browserTest, noAnswer, pressOn, type Site, type Stage, type View } from './browser.ts';

type SetupSite = Site & { readonly server: WizardServer; readonly session: FakeSession };

const start = (): Promise<SetupSite> => startIn(null);

/** @param page of the application around the first run; null: there is none */
async function startIn(applicationPage: string | null): Promise<SetupSite> {
  const session = fakeSession(plainPage, applicationPage === null ? 'terminal' : 'window');
  const application = applicationPage === null ? null : applicationWith(applicationPage);
  const server = await openWizardServer({
    session,
    webRoot: join(import.meta.dirname, '../../web/dist'),
    onShown: () => {},
    onTraded: () => {},
    onFault: (error) => assert.fail(String(error)),
    ...(application !== null && { application }),
  });
  assert.ok('url' in server);
  const { origin } = new URL(server.url);
  const dispose = () => server[Symbol.asyncDispose]();
  return { server, session, origin, [Symbol.asyncDispose]: dispose };
}

function applicationWith(page: string): WizardApplication {
  const signIn = new SignIn(systemClock.steady, () => {});
  return { signIn, page, showWindow: () => ({ kind: 'asked' }) };
}

/** A page that was opened by its link. */
async function enter({ site, open }: Stage<SetupSite>, width = 1_000): Promise<View> {
  const view = await open({ viewport: { width, height: 700 } });
  await view.page.goto(site.server.offer());
  await view.page.getByRole('heading', { level: 2, name: site.session.page.title }).waitFor();
  return view;
}

const keyPage = {
  step: 'channel',
  title: 'The token of the bot',
  lines: [],
  fields: [
    { name: 'name', label: 'Name', kind: 'text', value: 'desk', isOptional: true },
    { name: 'token', label: 'Token', kind: 'secret', value: '', isOptional: false },
  ],
  choices: [
    { id: 'ask', label: 'Ask it', hint: null, takes: ['name', 'token'], role: 'forward' },
    { id: 'back', label: 'Back', hint: null, takes: [], role: 'back' },
  ],
} as const;

browserTest('a step shows what it says, and takes what is chosen', start, async (stage) => {
  const view = await enter(stage);
  const { page } = view;
  const { session } = stage.site;
  const steps = page.getByRole('navigation', { name: 'Steps' });
  assert.equal(await steps.locator('[aria-current=step]').innerText(), 'Model');
  session.onAnswer = () => session.show({ step: 'answer', title: 'A first question', choices: [] });
  const choice = page.getByRole('button', { name: 'llama3.2' });
  assert.equal(await choice.getAttribute('aria-describedby').then((id) => id !== null), true);
  await choice.press('Enter');
  await page.getByRole('heading', { level: 2, name: 'A first question' }).waitFor();
  assert.deepEqual(session.taken, [{ choice: 'llama', fields: {} }]);
  const focused = await page.evaluate<string>('document.activeElement.textContent');
  assert.equal(focused, 'A first question', 'the keyboard and the reader go on there');
  await view.assertAccessible();
});

browserTest('every kind of line is shown as what it is', start, async (stage) => {
  const view = await enter(stage, 360);
  const { page } = view;
  stage.site.session.show({
    title: 'All of them',
    lines: [
      { kind: 'text', text: 'A sentence.' },
      { kind: 'good', text: 'It answered.' },
      { kind: 'bad', text: 'It does not answer.' },
      { kind: 'quote', text: '<b>bold</b> \u202E words '.repeat(20) },
      { kind: 'code', text: 'ollama pull llama3.2' },
      { kind: 'code', text: `export LONG=${'x'.repeat(90)}` },
      { kind: 'code', text: 'http://127.0.0.1:2112/ui' },
      { kind: 'code', text: 'http://127.0.0.1:2112/ui" onclick="x' },
    ],
  });
  await page.getByRole('alert').filter({ hasText: 'It does not answer.' }).waitFor();
  assert.equal(await page.locator('b').count(), 0, 'what a model said is text');
  assert.match(await page.locator('pre').first().innerText(), /^ollama pull llama3.2\nexport LONG/);
  const link = page.getByRole('link', { name: /ui/ });
  assert.equal(await link.getAttribute('href'), 'http://127.0.0.1:2112/ui');
  assert.equal(await link.count(), 1);
  await view.assertFits();
  await view.assertAccessible();
  await view.picture('setup lines');
});

browserTest('what is typed into a secret is nowhere once it was sent', start, async (stage) => {
  const view = await enter(stage, 360);
  const { page } = view;
  const { session } = stage.site;
  const bodies: Promise<string>[] = [];
  page.on('response', (response) => bodies.push(response.text()));
  session.show(keyPage);
  const token = page.getByLabel('Token', { exact: true });
  await token.waitFor();
  assert.equal(await token.getAttribute('type'), 'password');
  await pressOn(page, 'Ask it');
  await page.getByText('Fill this in.').waitFor();
  assert.equal(await page.evaluate('document.activeElement.name'), 'token');
  await view.assertAccessible();
  await view.assertFits();
  await token.fill('canary-of-the-test');
  session.onAnswer = () => {
    const said = { kind: 'bad', text: 'It was refused.' } as const;
    session.show({ ...keyPage, lines: [said] });
  };
  await token.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'It was refused.' }).waitFor();
  const fields = { name: 'desk', token: 'canary-of-the-test' };
  assert.deepEqual(session.taken, [{ choice: 'ask', fields }]);
  assert.equal(await token.inputValue(), '');
  assert.equal(
    await page.getByLabel('Name', { exact: true }).inputValue(),
    'desk',
    'the rest stays',
  );
  assert.doesNotMatch(await page.content(), /canary/);
  const kept = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])';
  assert.equal(await page.evaluate(kept), '[{},{},""]');
  assert.doesNotMatch((await Promise.all(bodies.slice(0, -1))).join(), /canary/);
});

browserTest('what goes on says so, and more when it takes long', start, async (stage) => {
  const view = await enter(stage);
  const { page } = view;
  const { session } = stage.site;
  const slow = { text: 'First answers load the model.', afterMs: 1 };
  const choices = [{ id: 'other', label: 'Choose another', hint: null, takes: [], role: 'back' }];
  const work = { text: 'It is asked.', slow };
  session.show({ step: 'answer', title: 'A first question', lines: [], work, choices } as never);
  await page.getByText('First answers load the model.').waitFor();
  await view.assertAccessible();
  const next = { step: 'answer', title: 'A first question', lines: [], choices: [] } as const;
  session.onAnswer = () => session.show(next);
  await pressOn(page, 'Choose another');
  await page.getByText('It is asked.').waitFor({ state: 'detached' });
  assert.deepEqual(session.taken, [{ choice: 'other', fields: {} }]);
});

browserTest(
  'the code leaves the address at once, and is no one’s referrer',
  start,
  async (stage) => {
    const view = await stage.open();
    const { page } = view;
    const url = stage.site.server.offer();
    const code = url.split('#')[1]!;
    const seen: string[] = [];
    view.context.on('request', (request) => {
      seen.push(`${request.url()} ${JSON.stringify(request.headers())}`);
    });
    await page.goto(url);
    await page.getByRole('heading', { level: 2 }).waitFor();
    assert.equal(page.url(), stage.site.server.url);
    assert.equal(await page.evaluate('history.length'), 2, 'about:blank, and this');
    assert.ok(seen.length > 3);
    assert.ok(!seen.some((one) => one.includes(code)), 'it went in one body alone');
    await page.goBack();
    assert.ok(!page.url().includes(code));
  },
);

browserTest('a file leads to the page, and is no one’s referrer either', start, async (stage) => {
  const view = await stage.open();
  view.expectFault(/left its origin: file:/);
  const referrers: string[] = [];
  view.context.on('request', (request) => {
    if (!request.url().startsWith('file:')) referrers.push(request.headers()['referer'] ?? '');
  });
  using file = writeRedirectFile(stage.site.server.offer(), {});
  await view.page.goto(pathToFileURL(file.path).href);
  await view.page.getByRole('heading', { level: 2, name: 'Which model answers?' }).waitFor();
  assert.equal(view.page.url(), stage.site.server.url);
  assert.ok(referrers.length > 2);
  assert.deepEqual(new Set(referrers), new Set(['']));
});

browserTest('a second use of the link signs the page out, and says so', start, async (stage) => {
  const view = await stage.open();
  view.expectFault(/status of 401/);
  const url = stage.site.server.offer();
  await view.page.goto(url);
  await view.page.getByRole('heading', { level: 2, name: 'Which model answers?' }).waitFor();
  const other = await stage.open();
  other.expectFault(/status of 403/);
  await other.page.goto(url);
  await other.page.getByText(/This link was used before/).waitFor();
  await view.page.getByText(/was used a second time/).waitFor();
  assert.equal(await view.page.getByRole('button').count(), 0, 'nothing can be done there');
  await view.assertAccessible();
  await view.assertFits();
});

browserTest('a page that is loaded again is let in by a new link alone', start, async (stage) => {
  const view = await enter(stage);
  const { page } = view;
  const asked: string[] = [];
  page.on('dialog', (dialog) => {
    asked.push(dialog.type());
    void dialog.accept();
  });
  await pressOn(page, 'Skip');
  await page.reload();
  await page.getByText(/press Enter in the terminal/).waitFor();
  assert.deepEqual(asked, ['beforeunload'], 'the browser asked before');
  const { hash } = new URL(stage.site.server.offer());
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  await page.getByRole('heading', { level: 2, name: 'Which model answers?' }).waitFor();
  assert.equal(new URL(page.url()).hash, '');
});

browserTest('a token from its own window needs no code', start, async (stage) => {
  const view = await stage.open();
  const handedOver = { token: stage.site.server.grant(), page: null };
  await view.page.addInitScript((given) => {
    Object.assign(globalThis, { svcShell: { signIn: () => Promise.resolve(given) } });
  }, handedOver);
  await view.page.goto(stage.site.server.url);
  await view.page.getByRole('heading', { level: 2, name: 'Which model answers?' }).waitFor();
});

browserTest('an answer to what is gone by now does nothing, and says so', start, async (stage) => {
  const view = await enter(stage);
  const { session } = stage.site;
  view.expectFault(/status of 409/);
  const chosen = view.page.waitForRequest(/answer/);
  await view.page.route(/answer/, async (route) => {
    session.show({ lines: [{ kind: 'text', text: 'Now three run.' }] });
    await route.continue();
  });
  await pressOn(view.page, 'llama3.2');
  await chosen;
  await view.page.getByRole('alert').filter({ hasText: 'look, and choose again' }).waitFor();
  await view.page.getByText('Now three run.').waitFor();
  assert.deepEqual(session.taken, []);
});

browserTest('a service that has gone is told, and the last page stays', start, async (stage) => {
  const view = await enter(stage);
  const { session, server } = stage.site;
  session.show({ step: 'last', title: 'It runs', lines: [], choices: [] });
  await view.page.getByRole('heading', { level: 2, name: 'It runs' }).waitFor();
  await server[Symbol.asyncDispose]();
  await view.page.getByRole('heading', { level: 2, name: 'It runs' }).waitFor();
  assert.equal(await view.page.getByRole('alert').count(), 0);
});

const inApplication = (): Promise<SetupSite> => startIn('http://127.0.0.1:4/app/key/');

browserTest('in the application, no terminal is spoken of', inApplication, async (stage) => {
  const view = await enter(stage, 360);
  const { page } = view;
  page.on('dialog', (dialog) => void dialog.accept());
  await pressOn(page, 'Skip');
  await page.reload();
  await page.getByRole('button', { name: 'Open svc again' }).waitFor();
  assert.doesNotMatch(await page.innerText('main'), /terminal|svc init/);
  await view.assertAccessible();
  await view.assertFits();
  await view.picture('setup loaded again in the application');
});

browserTest('in the application, the last page leads on', inApplication, async (stage) => {
  const view = await enter(stage);
  const { page } = view;
  const way = page.getByRole('link', { name: 'Go on to svc' });
  assert.equal(await way.count(), 0);
  stage.site.session.goesOn = true;
  stage.site.session.show({ step: 'last', title: 'It runs', lines: [], choices: [] });
  await way.waitFor();
  assert.equal(await way.getAttribute('href'), 'http://127.0.0.1:4/app/key/?waited');
  await view.assertAccessible();
});

browserTest('in the application, what has gone leads to its page', inApplication, async (stage) => {
  const view = await enter(stage);
  const { page } = view;
  view.expectFault(noAnswer);
  view.expectFault(/left its origin: http:\/\/127\.0\.0\.1:4\//);
  await page.route('http://127.0.0.1:4/**', (route) => route.fulfill({ body: 'It ended.' }));
  await stage.site.server[Symbol.asyncDispose]();
  await page.getByText('It ended.').waitFor();
});
