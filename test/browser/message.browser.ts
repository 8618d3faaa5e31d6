/** The page of one message: its end and the reason, its trace, and its links. */
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import type { Script } from '../fake/model-server.ts';
import { runCommand } from '../support/in-process.ts';
import { browserTest } from './browser.ts';
import { operatorToken, startLiveStage } from './live-stage.ts';
import { signIn, startOperatorStage } from './operator-stage.ts';
import { until } from '../support/waiting.ts';

const telephone = { viewport: { width: 360, height: 740 } };

/** Each model gives another answer. */
const disagree: Script = ({ body }) => {
  return { answer: `${(body as { model: string }).model} says so` };
};

/** The sentence at the head of the page. */
const ending = (page: Page, words: string): Locator => page.getByText(words, { exact: true });

/** Whether the sentence has the colour of that state. */
async function assertTone(of: Locator, tone: 'good' | 'wait' | 'bad'): Promise<void> {
  await of.waitFor();
  assert.equal(await of.locator(`xpath=ancestor::*[contains(@class,"text-${tone}")]`).count(), 1);
}

/** The text that the page put into the clipboard. */
async function copied(page: Page): Promise<unknown> {
  await page.getByRole('button', { name: 'Copy as JSON' }).click();
  await page.getByText('Copied.').waitFor();
  return JSON.parse(await page.evaluate<string>('navigator.clipboard.readText()'));
}

browserTest(
  'models that do not agree are no answer, and each of their answers is there to read',
  () => startLiveStage(disagree),
  async ({ site, open }) => {
    const id = await site.say('When do you open?');
    const view = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = view;
    await page.goto(`/ui?view=message&id=${id}`);
    const head = 'No consensus: 3 answers, none agreed; the apology is delivered';
    await assertTone(ending(page, head), 'bad');
    await page.getByText('78 tokens in, 87 out', { exact: true }).waitFor();
    await page.getByText(/a \(Ollama\): answer \(rank 1\), 26 tokens in, 29 out/).waitFor();
    await page.getByRole('button', { name: 'Copy as JSON' }).waitFor();
    const told = await copied(page);
    const { out } = await runCommand(['trace', id, '--json', '--config', site.file]);
    assert.deepEqual(told, JSON.parse(out));
    assert.doesNotMatch(out, /says so/, 'a trace holds no text');
    const text = await fetch(`${site.origin}/api/v1/messages/${id}/text`);
    assert.equal(text.status, 401);
    await signIn(page);
    assert.equal(await page.getByText('a says so').count(), 0);
    await page.getByRole('button', { name: 'Reveal what was said' }).click();
    await page.getByRole('heading', { name: 'Answers that were not sent' }).waitFor();
    for (const model of ['a', 'b', 'c']) {
      await page.getByText(`${model} (Ollama), alone`, { exact: true }).waitFor();
      await page.getByText(`${model} says so`, { exact: true }).waitFor();
    }
    await page.getByText(/^Reply .*, an apology by svc itself$/).waitFor();
    await view.assertAccessible();
    await view.assertTargets();
    const audit = (await (await fetch(`${site.origin}/api/v1/audit`, asOperator)).json()) as {
      rows: readonly { action: string; target: unknown }[];
    };
    assert.ok(audit.rows.some(({ action }) => action === 'read_message'));
  },
);

const asOperator = { headers: { authorization: `Bearer ${operatorToken}` } };

browserTest(
  'a message whose answer is not delivered says why, and what waits since when',
  startLiveStage,
  async ({ site, open }) => {
    site.receiver.script.push(...Array.from({ length: 9 }, () => 500));
    const id = await site.say('hello');
    const view = await open(telephone);
    const { page } = view;
    await page.goto(`/ui?view=message&id=${id}`);
    const told = page.getByText(
      /^Answered by a \(Ollama\); not delivered: the receiver answers 500, (next try|tried again)/,
    );
    await assertTone(told, 'wait');
    await view.assertFits();
    await view.assertAccessible();
    await view.assertTargets();
  },
);

browserTest(
  'the model of an agent is named, and its tools with what they were asked and gave',
  startOperatorStage,
  async ({ site, open }) => {
    await site.say('calc');
    await site.say('time');
    await site.receiver.waitFor(2);
    const rows = async () => {
      const answer = await fetch(`${site.origin}/api/v1/messages`);
      return ((await answer.json()) as { rows: readonly { id: string; state: string }[] }).rows;
    };
    await until('both are answered', async () => {
      return (await rows()).every(({ state }) => state === 'answered');
    });
    const [time, calc] = await rows();
    const view = await open();
    const { page } = view;
    await page.goto('/ui?view=messages');
    await page
      .getByRole('cell', { name: /llama3\.2/ })
      .nth(1)
      .waitFor();
    await page.goto(`/ui?view=message&id=${calc!.id}`);
    await page.getByText(/^Answered by llama3.2 \(Ollama\); /).waitFor();
    await page.getByRole('definition').filter({ hasText: 'llama3.2 (Ollama)' }).waitFor();
    await page.getByText('tool calc, allowed: done (grant 1)').waitFor();
    assert.equal(await page.getByText('6 * 7').count(), 0);
    const whose = Promise.withResolvers<void>();
    await page.route('**/api/v1/messages/origins?*', async (route) => {
      await whose.promise;
      await route.continue();
    });
    await signIn(page);
    const reveal = page.getByRole('button', { name: 'Reveal what was said' });
    const place = await reveal.boundingBox();
    whose.resolve();
    await page.getByRole('link', { name: 'In its conversation' }).waitFor();
    assert.deepEqual(await reveal.boundingBox(), place, 'it moves under a press');
    await reveal.click();
    await page.getByText('{"expression":"6 * 7"}').waitFor();
    await page.getByRole('definition').filter({ hasText: /^42$/ }).waitFor();
    await page.getByText(/allowed: grant 1/).waitFor();
    await view.assertAccessible();
    await view.assertTargets();
    await page.goto(`/ui?view=message&id=${time!.id}`);
    await page.getByText('tool time, not granted: denied (grant 3)').waitFor();
  },
);

browserTest(
  'a message is tried in the builder, and no address holds what was said',
  startLiveStage,
  async ({ site, open }) => {
    const said = 'When do you open, dear?';
    const id = await site.say(said);
    const view = await open();
    const { page } = view;
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await page.goto(`/ui?view=message&id=${id}`);
    await page.getByText(/^Answered by a \(Ollama\)/).waitFor();
    await signIn(page);
    view.expectFault(/401 \(Unauthorized\)/);
    await page.getByRole('link', { name: 'Try this in the builder' }).click();
    await page.getByText('This is what was said in').waitFor();
    assert.equal(await page.getByLabel('What a sender says').inputValue(), said);
    // The message went to a private brain.
    await page.getByText('What is written here was said in private').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Keep as a test case' }).isDisabled());
    await page.getByRole('button', { name: 'Ask the draft', exact: true }).click();
    await page.getByText('this is the reply').waitFor();
    await view.assertAccessible();
    await view.assertTargets();
    addresses.push(page.url());
    for (const address of addresses) assert.doesNotMatch(decodeURIComponent(address), /dear/);
    await page.getByRole('link', { name: `message ${id}` }).click();
    await page.getByRole('heading', { name: `Message ${id}` }).waitFor();
  },
);
