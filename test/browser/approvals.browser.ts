/** Calls that wait for approval, in the live view: shown, approved, refused, and decided twice. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { asks, lastOf } from '../agents/stage.ts';
import { resultIn } from '../approvals/house.ts';
import type { Script } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { browserTest, pressOn, type Site } from './browser.ts';
import { operatorToken, signIn } from './operator-stage.ts';

type Stage = Site & {
  readonly receiver: Receiver;
  /** Sends an expression to calculate; resolves when the request for approval arrives. */
  readonly ask: (expression: string) => Promise<void>;
  /** Refuses the call as another operator. */
  readonly refuse: () => Promise<void>;
};

const reckoner: Script = (call) => {
  const { content } = lastOf(call);
  const result = resultIn(content);
  return result === null ? asks('calc', { expression: content }) : { answer: `told: ${result}` };
};

async function startStage(): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await scratch());
  const model = opened.use(await startFakeOllama(reckoner));
  const receiver = opened.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const at = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = webhookConfig(at);
  const agent = { tools: ['calc'], governance: [{ tool: 'calc', mode: 'ask' }] };
  const file = await writeConfig(folder.path, {
    ...config,
    brains: [{ ...config.brains[0], agent }],
    storage: { path: 'svc.db' },
    admin: { token_env: 'ADMIN_TOKEN' },
  });
  const program = opened.use(await serve(file, port, { ADMIN_TOKEN: operatorToken }));
  const origin = `http://127.0.0.1:${adminPort}`;
  const stack = opened.move();
  return {
    origin,
    receiver,
    async ask(expression) {
      const before = receiver.received.length;
      await post(program.url, { sender_id: 'ada', sender_name: 'Ada', text: expression });
      await receiver.waitFor(before + 1);
    },
    async refuse() {
      const list = await fetch(`${origin}/api/v1/approvals`);
      const { rows } = (await list.json()) as { rows: readonly { id: string }[] };
      const headers = { authorization: `Bearer ${operatorToken}` };
      const path = `${origin}/api/v1/approvals/${rows[0]!.id}/refuse`;
      assert.equal((await fetch(path, { method: 'POST', headers })).status, 200);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const focused = (page: Page) =>
  page.evaluate<string>('document.activeElement.textContent.trim().slice(0, 80)');

/** The focus stays in this part of the page when its row is gone. */
const isInPart = '() => document.activeElement.closest("main") !== null';

async function openFirst(page: Page): Promise<void> {
  await pressOn(page, /^Open calc/);
  await page.getByRole('button', { name: 'Approve calc …' }).waitFor();
}

browserTest('where nothing waits, it says how an agent is made to ask', startStage, async (it) => {
  const view = await it.open({ viewport: { width: 360, height: 740 } });
  const { page } = view;
  await page.goto('/ui?view=approvals');
  await page.getByText('An agent asks before it uses a tool where a grant').waitFor();
  await view.assertAccessible();
  await view.assertFits();
  await pressOn(page, 'refused');
  await page.getByText('No call was refused').waitFor();
});

browserTest('a call is found, approved and followed', startStage, async (it) => {
  const { ask, receiver } = it.site;
  await ask('6 * 7');
  const view = await it.open({ viewport: { width: 360, height: 740 } });
  const { page } = view;
  await page.goto('/ui');
  const notice = page.getByRole('listitem').filter({ hasText: '1 call waits for a yes' });
  await notice.getByRole('link', { name: 'Look' }).click();
  await page.getByText('Ends', { exact: true }).first().waitFor();
  const models = page.getByRole('navigation', { name: 'Views' }).getByRole('link', {
    name: /^Models/,
  });
  await models.getByText('may need you').waitFor();
  await pressOn(page, /^Open calc/);
  await page.getByText('Only an operator may see what a call asks for').waitFor();
  assert.equal(await page.getByText('"6 * 7"').count(), 0);
  await view.assertAccessible();
  await view.assertFits();

  await signIn(page);
  await page.getByText('"expression": "6 * 7"').waitFor();
  await page.getByText(/Asked for Ada \(ada\) on webhook, in the conversation/).waitFor();
  await view.assertAccessible();
  await view.assertFits();
  await pressOn(page, 'Approve calc …');
  const dialog = page.getByRole('dialog', { name: 'Run calc?' });
  await dialog.getByText('"expression": "6 * 7"').waitFor();
  await view.assertAccessible();
  await view.assertFits();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.match(await focused(page), /^Approve …$/);
  await page.keyboard.press('Enter');
  await pressOn(dialog, 'Approve');
  await dialog.getByText('Approved: done.').waitFor();
  assert.equal(await focused(page), 'Done');
  await view.assertAccessible();
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await receiver.waitFor(2);
  assert.equal(receiver.received[1]!.body['text'], 'told: 42');
  await page.getByText('No call waits for a yes').waitFor();
  await page.waitForFunction(isInPart);
  await pressOn(page, 'approved');
  await page.getByText('by an operator').waitFor();
  await view.assertAccessible();
  await view.assertFits();
  await page.getByRole('link', { name: /^[0-9a-z]{22}$/ }).click();
  await page.getByRole('link', { name: 'calls that wait for a yes' }).waitFor();
});

browserTest('a call is refused, in forced colours', startStage, async (it) => {
  const { ask, receiver } = it.site;
  await ask('1 + 1');
  const view = await it.open({ forcedColors: 'active', colorScheme: 'dark' });
  const { page } = view;
  await page.goto('/ui?view=approvals');
  await signIn(page);
  await openFirst(page);
  await pressOn(page, 'Refuse calc …');
  const dialog = page.getByRole('dialog', { name: 'Refuse calc?' });
  await dialog.getByText('It does not run.').waitFor();
  await view.assertAccessible();
  await pressOn(dialog, 'Refuse');
  await dialog.getByText('Refused: it did not run; the model was told.').waitFor();
  await receiver.waitFor(2);
  assert.match(String(receiver.received[1]!.body['text']), /said no/);
  await view.assertAccessible();
  await view.assertFits();
});

browserTest('who comes second is told who was first', startStage, async (it) => {
  await it.site.ask('1 + 1');
  const view = await it.open();
  const { page } = view;
  await page.goto('/ui?view=approvals');
  await signIn(page);
  await openFirst(page);
  await pressOn(page, 'Approve calc …');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('It runs once').waitFor();
  await it.site.refuse();
  view.expectFault(/status of 409/);
  await pressOn(dialog, 'Approve');
  await dialog.getByText('it was refused by an operator').waitFor();
  await view.assertAccessible();
  await pressOn(dialog, 'Done');
  await page.getByText('No call waits for a yes').waitFor();
  await page.waitForFunction(isInPart);
});

browserTest('the builder says who decides where no approver is listed', startStage, async (it) => {
  const view = await it.open({ viewport: { width: 360, height: 740 } });
  const { page } = view;
  view.expectFault(/401 \(Unauthorized\)/);
  await page.goto('/builder?view=form&at=brains[0].agent');
  await page.getByLabel('Administrator token').fill(operatorToken);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('No approvers are listed: you decide what asks').waitFor();
  await page.getByLabel('Approval hours').waitFor();
  await view.assertAccessible();
  await view.assertFits();
});
