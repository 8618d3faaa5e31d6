/** The first run on a page, from nothing to an answer, and its failures. */
import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Page } from 'playwright-core';
import type { FakeModel, Script } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram, type FakeTelegram } from '../fake/telegram.ts';
import { until } from '../support/waiting.ts';
import { browserTest, pressOn, type Stage } from './browser.ts';
import { enter, isThere, startSetup, stepOf, type Around, type SetupStage } from './setup-stage.ts';

type Made = SetupStage & {
  readonly models: string[];
  readonly runtime: FakeModel;
  readonly telegram: FakeTelegram;
};

type Options = Omit<Around, 'ollama' | 'telegram'> & {
  readonly models?: string[];
  readonly script?: Script;
};

/** With a local runtime, and a messenger's platform. */
const start =
  ({
    models = ['llama3.2:latest'],
    script = { answer: 'Hello from the model.' },
    ...more
  }: Options = {}) =>
  async (): Promise<Made> => {
    const runtime = await startFakeOllama(script, { models });
    const telegram = await startFakeTelegram();
    const stage = await startSetup({ ...more, ollama: runtime.url, telegram });
    return {
      ...stage,
      models,
      runtime,
      telegram,
      async [Symbol.asyncDispose]() {
        await stage[Symbol.asyncDispose]();
        await telegram[Symbol.asyncDispose]();
        await runtime[Symbol.asyncDispose]();
      },
    };
  };

/** Goes from the first page to the choice of a channel. */
async function toChannel(stage: Stage<Made>) {
  const view = await enter(stage, 360);
  const { page } = view;
  await stepOf(view, 'The model that answers');
  await view.assertAccessible();
  await pressOn(page, 'llama3.2');
  await page.getByText('Hello from the model.').waitFor();
  await view.assertAccessible();
  await pressOn(page, /^Go on with it$/);
  await stepOf(view, 'Where messages come from');
  return view;
}

const said = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

browserTest('a webhook: from nothing to a first message and its answer', start(), async (stage) => {
  const { site } = stage;
  const view = await toChannel(stage);
  const { page } = view;
  await pressOn(page, 'Webhook');
  await stepOf(view, 'Where its secrets are kept');
  await said(page, 'The file names its secrets, and never holds one.');
  await view.assertAccessible();
  await pressOn(page, 'I set them in the environment');
  await stepOf(view, 'The file');
  assert.ok(!isThere(site.file), 'nothing is written before the last step');
  await view.assertFits();
  await view.assertAccessible();
  await pressOn(page, /^Write it, and start$/);
  await stepOf(view, 'The first message');
  await said(page, 'The answer:');
  await said(page, 'Hello from the model.');
  await view.assertAccessible();
  await view.assertFits();
  await view.picture('setup first message');
  await pressOn(page, 'Done');
  await stepOf(view, 'Running');
  await said(page, /svc is running/);
  const link = page.getByRole('link', { name: /\/ui$/ });
  const answered = await fetch((await link.getAttribute('href'))!);
  assert.equal(answered.status, 200, 'the live view is where the page says');
  await answered.text();
  await view.assertAccessible();
  await view.picture('setup running');
  const written = JSON.parse(await readFile(site.file, 'utf8')) as { channels: object[] };
  assert.equal(written.channels.length, 1);
});

browserTest('a step has the keyboard as soon as it is shown', start(), async (stage) => {
  const { page } = await toChannel(stage);
  const atOnce = page.evaluate<boolean>(`new Promise((resolve) => {
    const isIt = ({ innerText }) => innerText.startsWith('Where its secrets are kept');
    new MutationObserver(() => {
      const heading = [...document.querySelectorAll('h2')].find(isIt);
      if (heading !== undefined) resolve(document.activeElement === heading);
    }).observe(document.body, { childList: true, characterData: true, subtree: true });
  })`);
  await pressOn(page, 'Webhook');
  assert.ok(await atOnce, 'what is reached from here on is not taken the focus from');
});

browserTest('a webhook: another message can be said, and is answered', start(), async (stage) => {
  const view = await toChannel(stage);
  const { page } = view;
  await pressOn(page, 'Webhook');
  await pressOn(page, 'I set them in the environment');
  await pressOn(page, /^Write it, and start$/);
  await said(page, 'The answer:');
  await page.getByLabel('Say something').fill('When do you open?');
  await page.getByLabel('Say something').press('Enter');
  await said(page, 'When do you open?');
  await said(page, 'The answer:');
});

browserTest(
  'a messenger: token, pairing in place, first message',
  start({ keychain: 'ready' }),
  async (stage) => {
    const { site } = stage;
    const { telegram } = site;
    const view = await toChannel(stage);
    const { page } = view;
    await pressOn(page, 'Telegram');
    await stepOf(view, 'Your bot on Telegram');
    const field = page.getByLabel('TELEGRAM_TOKEN', { exact: true });
    await field.fill('110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsbad');
    await field.press('Enter');
    await page.getByRole('alert').waitFor();
    await view.assertAccessible();
    assert.equal(await field.inputValue(), '', 'the wrong one is gone');
    await field.fill(telegram.token);
    await field.press('Enter');
    await said(page, /It is @?svc_test_bot/);
    assert.ok(!(await page.content()).includes(telegram.token));
    await pressOn(page, /^Go on as/);
    await pressOn(page, 'Keep them in the keychain of this system');
    await stepOf(view, 'Who may talk to it');
    await view.assertAccessible();
    await pressOn(page, 'Only people whom I let in by a code');
    await pressOn(page, /^Write it, and start$/);
    await said(page, /Write to .*svc_test_bot now/);
    const chat = telegram.privateChat(telegram.person('Ada'));
    telegram.say(chat, 'Hello?');
    await page.getByLabel('The code').waitFor();
    const code = await codeIn(telegram);
    await view.assertAccessible();
    await page.getByLabel('The code').fill(code);
    await page.getByLabel('The code').press('Enter');
    await said(page, /Ada may talk from now on/);
    telegram.say(chat, 'Are you open?');
    await said(page, 'The answer:');
    await said(page, 'Are you open?');
    assert.equal(site.kept().get('TELEGRAM_TOKEN'), telegram.token);
    const told = `${site.log()} ${await readFile(site.file, 'utf8')} ${await page.content()}`;
    assert.ok(!told.includes(telegram.token), 'it is in no page, log or file');
  },
);

/** The code that the person received in the chat. */
function codeIn({ sent }: FakeTelegram): Promise<string> {
  const all = sent as readonly { readonly text: string }[];
  return until('the code in the chat', () => {
    const codes = all.map(({ text }) => /\b([A-Z0-9]{4}-?[A-Z0-9]{4})\b/.exec(text)?.[1]);
    return codes.find((one) => one !== undefined) ?? null;
  });
}

browserTest('no model at first, then one appears', start({ models: [] }), async (stage) => {
  const view = await enter(stage, 360);
  const { page } = view;
  await said(page, /but it has no model yet/);
  await said(page, 'ollama pull llama3.2');
  await view.assertAccessible();
  await view.assertFits();
  await pressOn(page, 'Look again');
  await said(page, /but it has no model yet/);
  stage.site.models.push('llama3.2:latest');
  await pressOn(page, 'Look again');
  await pressOn(page, 'llama3.2');
  await said(page, 'Hello from the model.');
});

browserTest('no model runtime at first, then one runs', start(), async (stage) => {
  const { runtime } = stage.site;
  const view = await toChannel(stage);
  const { page } = view;
  await pressOn(page, 'Back');
  await pressOn(page, 'Choose another model');
  await runtime.script({ fail: 'refused' });
  await pressOn(page, 'Look again');
  await said(page, 'No model runtime answers on this machine.');
  await view.assertAccessible();
  await runtime.script({ answer: 'Here again.' });
  await pressOn(page, 'Look again');
  await pressOn(page, 'llama3.2');
  await said(page, 'Here again.');
});

browserTest('a model that fails says what to do about it', start(), async (stage) => {
  await stage.site.runtime.script({ fail: '503' });
  const view = await enter(stage);
  const { page } = view;
  await pressOn(page, 'llama3.2');
  await page.getByRole('alert').filter({ hasText: 'llama3.2 gave no answer' }).waitFor();
  await view.assertAccessible();
  await pressOn(page, 'Choose another model');
  await stepOf(view, 'The model that answers');
});

const never: Script = { answer: 'late', after: new Promise(() => {}) };

browserTest(
  'a slow model says so, and another can be chosen',
  start({ script: never }),
  async (stage) => {
    const view = await enter(stage);
    const { page } = view;
    await pressOn(page, 'llama3.2');
    await said(page, /a first answer loads the model/);
    await view.assertAccessible();
    await pressOn(page, 'Choose another model');
    await stepOf(view, 'The model that answers');
    assert.ok(!isThere(stage.site.file));
  },
);

browserTest(
  'a locked keychain is told, and looked at again',
  start({ keychain: 'locked' }),
  async (stage) => {
    const view = await toChannel(stage);
    const { page } = view;
    await pressOn(page, 'Webhook');
    await page
      .getByRole('alert')
      .filter({ hasText: /locked/i })
      .waitFor();
    await view.assertAccessible();
    await pressOn(page, 'Look at the keychain again');
    await page
      .getByRole('alert')
      .filter({ hasText: /locked/i })
      .waitFor();
    await pressOn(page, 'I set them in the environment');
    await stepOf(view, 'The file');
  },
);

const before = JSON.stringify({ channels: [], brains: [], routes: [], kept: 'by hand' });
const withFile = start({ prepare: (folder) => writeFile(join(folder, 'svc.json'), before) });

browserTest('a file that is there is never lost', withFile, async (stage) => {
  const { file } = stage.site;
  const view = await enter(stage);
  const { page } = view;
  await said(page, /is there already. It is never overwritten/);
  await view.assertAccessible();
  await pressOn(page, 'Make a new one');
  await pressOn(page, 'llama3.2');
  await pressOn(page, /^Go on with it$/);
  await pressOn(page, 'Webhook');
  await pressOn(page, 'I set them in the environment');
  assert.equal(await readFile(file, 'utf8'), before);
  await pressOn(page, 'Write it, and start nothing');
  await stepOf(view, 'Written');
  const folder = dirname(file);
  const others = (await readdir(folder)).filter((name) => name !== 'svc.json');
  const texts = await Promise.all(others.map((name) => readFile(join(folder, name), 'utf8')));
  assert.ok(texts.includes(before), `it is kept as one of ${others.join()}`);
});

browserTest('leaving writes nothing', start(), async (stage) => {
  const view = await toChannel(stage);
  await pressOn(view.page, 'Back');
  await stepOf(view, 'A first answer');
  await pressOn(view.page, /^Leave/);
  await stepOf(view, 'Left');
  assert.ok(!isThere(stage.site.file));
  assert.deepEqual(await stage.site.session.ended, { kind: 'left' });
});
