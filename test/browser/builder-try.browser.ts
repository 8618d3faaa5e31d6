/** Trying a brain of a draft: real questions, without delivering or storing anything. */
import assert from 'node:assert/strict';
import { startFakeOllama } from '../fake/ollama.ts';
import type { FakeModel, Script } from '../fake/model-server.ts';
import { browserTest } from './browser.ts';
import {
  assertTabFits,
  contextWith,
  enter,
  show,
  signIn,
  type TurnContext,
} from './builder-desk.ts';

browserTest(
  'a draft is tried, kept as a case and run again',
  contextWith(),
  async ({ site, open }) => {
    const { service } = site;
    const view = await open();
    const page = await signIn(view, 'try');
    await page.getByLabel('What a sender says').fill('when do you open?');
    await page.getByText('Earlier turns: none').click();
    await page.getByRole('button', { name: 'Add an earlier turn' }).click();
    await page.getByLabel('Turn 1: the sender').fill('hello');
    await page.getByLabel('The reply').fill('hello yourself');
    await page.getByRole('button', { name: 'Ask the draft' }).click();
    await page.getByRole('heading', { name: 'The reply', exact: true }).waitFor();
    await page.getByText('this is the reply').waitFor();
    assert.equal(await page.getByText('of first').count(), 2);
    await view.assertAccessible();
    await view.assertTargets();
    await page.getByRole('button', { name: 'Keep as a test case' }).click();
    await page.getByText('after 1 earlier turn').waitFor();
    await page.getByRole('button', { name: 'Run all' }).click();
    await page.getByText('The same as the last time').waitFor();
    await show(page, 'JSON');
    await page.locator('.cm-content').click();
    await page.keyboard.press('ControlOrMeta+a');
    const other = service.withOther();
    const history = [{ asked: 'hello', answered: 'hello yourself' }];
    const brains = [
      {
        ...other.brains[0],
        _try: [{ text: 'when do you open?', history, expect: { contains: 'nine' } }],
      },
    ];
    await page.keyboard.insertText(JSON.stringify({ ...other, brains }, null, 2));
    await show(page, 'Try');
    await page.getByText('Expects: contains “nine”').waitFor();
    await page.getByRole('button', { name: 'Run all' }).click();
    await page.getByText('Not the same as the last time').waitFor();
    await page.getByText('Not as expected').waitFor();
    await page.getByText(/^Expected a reply that contains “nine”, but the reply is/).waitFor();
    await page.getByText(/^Before \(.*\): of first$/).waitFor();
    await view.assertAccessible();
    await view.assertTargets();
    assert.equal(service.receiver.received.length, 0, 'nothing was delivered');
    assert.equal(await service.say('and now?'), 'of first', 'the draft is not in use');
  },
);

const models = [
  {
    provider: 'local_runtime',
    model_id: 'near',
    locality: 'local',
    base_url: 'http://127.0.0.1:9',
  },
  {
    provider: 'hosted_runtime',
    model_id: 'far',
    locality: 'cloud',
    base_url: 'http://127.0.0.1:9',
    api_key_env: 'WEBHOOK_SECRET',
  },
];
const brain = { name: 'echo', policy: { kind: 'priority' }, models };

browserTest(
  'a cloud model is warned of before it is asked, and failures are told',
  contextWith({ brains: [{ ...brain, sensitivity: 'public' }] }),
  async ({ open }) => {
    const view = await open({ viewport: { width: 360, height: 740 } });
    const page = await signIn(view, 'try');
    await page.getByText('far: this is a cloud model.', { exact: false }).waitFor();
    await page.getByLabel('What a sender says').fill('hello');
    await page.getByRole('button', { name: 'Ask the draft, which may cost money' }).click();
    await page.getByText('No reply, so the sender is told').waitFor();
    assert.equal(await page.getByText('Failed', { exact: true }).count(), 2);
    await view.assertFits();
    await assertTabFits(page);
    await view.assertAccessible();
    await view.assertTargets();
  },
);

browserTest(
  'a private brain asks no cloud model, and says so',
  contextWith({ brains: [{ ...brain, sensitivity: 'private' }] }),
  async ({ open }) => {
    const page = await signIn(await open(), 'try');
    const ask = page.getByRole('button', { name: 'Ask the draft', exact: true });
    await page.getByLabel('What a sender says').fill('hello');
    await ask.click();
    await page.getByRole('main').getByText('Never asked').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await enter(page);
    await page.getByLabel('What a sender says').fill('hello');
    await ask.waitFor();
    assert.equal(
      await page.getByRole('main').getByText('Never asked').count(),
      0,
      'nothing is left of it',
    );
    assert.equal(await page.getByText('may cost money').count(), 0);
  },
);

/** Each model follows its script; they are asked one after the other. */
const contextAsking =
  (...scripts: readonly Script[]) =>
  async (): Promise<TurnContext & { readonly model: FakeModel }> => {
    const own = new AsyncDisposableStack();
    const fakes: FakeModel[] = [];
    for (const script of scripts) fakes.push(own.use(await startFakeOllama(script)));
    const [near] = models;
    const asked = {
      ...brain,
      dispatch: 'sequential',
      models: fakes.map(({ url }) => ({ ...near, base_url: url })),
    };
    const turnContext = own.use(
      await contextWith({ brains: [{ ...asked, sensitivity: 'private' }] })(),
    );
    return { ...turnContext, model: fakes[0]!, [Symbol.asyncDispose]: () => own.disposeAsync() };
  };

const endless = 'A'.repeat(20_000);

browserTest(
  'a long answer shows its beginning, and all of it when asked for',
  contextAsking({ answer: endless }),
  async ({ open }) => {
    const view = await open({ viewport: { width: 360, height: 740 } });
    const page = await signIn(view, 'try');
    await page.getByLabel('What a sender says').fill('hello');
    await page.getByRole('button', { name: 'Ask the draft' }).click();
    const said = page.getByRole('group', { name: 'What near (Ollama) said' });
    const beginning = `${'A'.repeat(2_000)} …`;
    await said.waitFor();
    assert.equal(await said.innerText(), beginning);
    assert.equal(
      await page.getByRole('group', { name: 'The text of the reply' }).innerText(),
      beginning,
    );
    await view.assertAccessible();
    await view.assertTargets();
    await page.getByRole('article').getByRole('button', { name: 'Show all 20,000' }).click();
    await page.getByRole('button', { name: 'Show its beginning alone' }).waitFor();
    assert.equal(await said.innerText(), endless);
    await view.assertFits();
    await assertTabFits(page);
  },
);

browserTest(
  'what is written, and a trial under way, are there again after another tab',
  contextAsking({ fail: 'hang' }),
  async ({ site, open }) => {
    const page = await signIn(await open(), 'try');
    const text = page.getByLabel('What a sender says');
    await text.fill('hello');
    await page.getByText('Earlier turns: none').click();
    await page.getByRole('button', { name: 'Add an earlier turn' }).click();
    await page.getByLabel('Turn 1: the sender').fill('before');
    await page.getByRole('button', { name: 'Ask the draft' }).click();
    const call = await site.model.call(0);
    await show(page, 'Form');
    await show(page, 'Try');
    assert.equal(await text.inputValue(), 'hello');
    await page.getByText('1 earlier turn').waitFor();
    await page.getByText('Asking …').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('It was stopped.').waitFor();
    assert.equal(await call.over, 'gone');
  },
);

/** Sends the first word of an answer, and holds the rest. */
function heldBack(answer: string) {
  const gate = Promise.withResolvers<void>();
  const between = (piece: number) => (piece === 0 ? gate.promise : undefined);
  return { step: { answer, between }, goOn: () => gate.resolve() };
}

const first = heldBack('Wrong, and more');
const second = heldBack('Right, and all of it');
const broken = {
  ...first.step,
  async between(piece: number) {
    await first.step.between(piece);
    throw new Error('the connection is cut');
  },
};

browserTest(
  'a reply is seen while a model writes it, and is read out once it is whole',
  contextAsking(broken, second.step),
  async ({ open }) => {
    const view = await open({ viewport: { width: 360, height: 740 } });
    const page = await signIn(view, 'try');
    await page.getByLabel('What a sender says').fill('hello');
    await page.getByRole('button', { name: 'Ask the draft' }).click();
    await page.getByText('Wrong,', { exact: true }).waitFor();
    first.goOn();
    const growing = page.getByText('Right,', { exact: true });
    await growing.waitFor();
    assert.equal(await page.getByText('Wrong').count(), 0);
    await page.getByRole('heading', { name: 'The reply so far' }).waitFor();
    const nearestLive = 'xpath=ancestor::*[@aria-live][1]';
    assert.equal(await growing.locator(nearestLive).getAttribute('aria-live'), 'off');
    await view.assertAccessible();
    await view.assertTargets();
    const before = await growing.boundingBox();
    second.goOn();
    await page.getByRole('heading', { name: 'The reply', exact: true }).waitFor();
    const whole = page.getByText('Right, and all of it', { exact: true }).first();
    assert.equal(await whole.locator(nearestLive).getAttribute('aria-live'), 'polite');
    const after = await whole.boundingBox();
    assert.deepEqual([after?.x, after?.y], [before?.x, before?.y], 'it stays where it was read');
    await view.assertFits();
    await assertTabFits(page);
  },
);

browserTest(
  'of a long reply that grows the end is seen, until it is stopped',
  contextAsking({
    answer: `${endless} end`,
    between: (piece) => (piece === 1 ? Promise.withResolvers<void>().promise : undefined),
  }),
  async ({ site, open }) => {
    const view = await open({ viewport: { width: 360, height: 740 } });
    const page = await signIn(view, 'try');
    await page.getByLabel('What a sender says').fill('hello');
    await page.getByRole('button', { name: 'Ask the draft' }).click();
    const growing = page.getByRole('group', { name: 'The reply so far' });
    await growing.getByText(/ end$/).waitFor();
    const isAtEnd = await growing.evaluate(
      ({ scrollHeight, clientHeight, scrollTop }) =>
        scrollHeight > clientHeight && Math.abs(scrollTop) < 1,
    );
    assert.ok(isAtEnd, 'the end is in view');
    await view.assertAccessible();
    await assertTabFits(page);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('It was stopped.').waitFor();
    assert.equal(await site.model.calls[0]!.over, 'gone');
  },
);

browserTest(
  'the name of a model is chosen from those that its provider lists',
  contextWith(),
  async ({ open }) => {
    const view = await open();
    const page = await signIn(view, 'form');
    await page.getByRole('treeitem', { name: /^llama3/ }).click();
    const name = page.getByLabel('Model (required)');
    await name.click();
    await page.getByText(/It has \d+ models\./).waitFor();
    const list = await name.getAttribute('list');
    await page
      .locator(`[id="${list}"] option[value="qwen3:latest"]`)
      .waitFor({ state: 'attached' });
    await view.assertAccessible();
    await page.getByLabel('Base URL').fill('http://127.0.0.1:9');
    await name.click();
    await page.getByText('Type the name, since the provider lists none').waitFor();
  },
);
