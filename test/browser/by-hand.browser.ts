/** A takeover of a conversation on its page: taken, answered by a person, and released. */
import assert from 'node:assert/strict';
import { browserTest } from './browser.ts';
import { operatorToken, signIn, startOperatorStage, tabTo } from './operator-stage.ts';

browserTest(
  'a conversation is taken over, answered and given back',
  startOperatorStage,
  async (it) => {
    const { model, receiver, say } = it.site;
    const hangs = Promise.withResolvers<void>();
    await model.script({ answer: 'By the model.', after: hangs.promise });
    await say('my printer burns');
    await model.call(0);
    const view = await it.open();
    const { page } = view;
    await page.goto('/ui?view=conversations');
    await signIn(page);
    await page.getByText('lobby', { exact: true }).click();
    await tabTo(page, /^Take over$/);
    await page.keyboard.press('Enter');
    const held = page.getByText('Held by an operator since');
    await held.waitFor();
    assert.match(await held.innerText(), /goes back to its brain in (5\d min|1 h)/);
    const focused = await page.evaluate<string>('document.activeElement.textContent');
    assert.equal(focused, 'Give back', 'the focus stays on the one button');
    await say('hello?');
    assert.ok(!(await page.content()).includes('my printer burns'));
    await page.getByRole('button', { name: 'Reveal what waits' }).click();
    const waiting = page.getByRole('list', { name: 'What waits, the oldest first' });
    await waiting.getByText('my printer burns').waitFor();
    await waiting.getByText('hello?').waitFor();
    await view.assertAccessible();
    await view.assertFits();
    hangs.resolve();
    await page.getByLabel('Your answer').fill('Pull its plug. I come.');
    await page.getByText('It answers all 2 messages.').waitFor();
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await page.getByText('Nothing waits for an answer.').waitFor();
    await receiver.waitFor(1);
    await say('it is out now');
    await page.getByText('Not shown yet: 1 message.').waitFor();
    await page.getByText(/ · 1 waiting$/).waitFor();
    const second = await it.open();
    await second.page.goto(page.url());
    await signIn(second.page);
    await second.page.getByText('Held by an operator since').waitFor();
    const third = await it.open();
    await third.page.goto('/ui?view=conversations');
    await signIn(third.page);
    const list = third.page.getByRole('group', { name: 'Conversations that are held' });
    await list.getByRole('link').first().waitFor();
    assert.match(await list.innerText(), /webhook\s+1\s+in (5\d min|1 h)/);
    await third.assertAccessible();
    await page.getByRole('button', { name: 'Give back' }).click();
    await page.getByText('Its brain answers.').waitFor();
    await second.page.getByText('Its brain answers.').waitFor();
    await receiver.waitFor(2);
    await page.getByText(/^webhook · 3 turns · .* · 0 waiting$/).waitFor();
    const texts = receiver.received.map(({ body }) => body['text']);
    assert.deepEqual(texts, ['Pull its plug. I come.', 'By the model.']);
    await page.getByRole('button', { name: 'Reveal what was said' }).click();
    const turns = page.getByRole('tabpanel').getByRole('listitem');
    await turns.nth(2).waitFor();
    assert.match(
      await turns.nth(0).innerText(),
      /Answered by hand, together with a later message\./,
    );
    assert.match(await turns.nth(1).innerText(), /By hand\s+Pull its plug/);
    assert.doesNotMatch(await turns.nth(2).innerText(), /hand/);
    await page.getByRole('link', { name: 'a later message' }).click();
    await page.locator('li[aria-current=true]').getByText('hello?').waitFor();
  },
);

browserTest('an answer that is being written outlives the hold', startOperatorStage, async (it) => {
  const { model, receiver, say } = it.site;
  const hangs = Promise.withResolvers<void>();
  await model.script({ answer: 'By the model.', after: hangs.promise });
  await say('my printer burns');
  await model.call(0);
  const view = await it.open();
  const { page } = view;
  await page.goto('/ui?view=conversations');
  await signIn(page);
  await page.getByText('lobby', { exact: true }).click();
  await page.getByRole('button', { name: 'Take over' }).click();
  await page.getByRole('button', { name: 'Reveal what waits' }).click();
  const answer = page.getByLabel('Your answer');
  await answer.fill('Pull its plug.');
  await page.getByRole('button', { name: 'Hide what waits' }).click();
  await page.getByRole('button', { name: 'Reveal what waits' }).click();
  await page.getByText('It answers this message.').waitFor();
  assert.equal(await answer.inputValue(), 'Pull its plug.');
  const other = await it.open();
  await other.page.goto(page.url());
  await signIn(other.page);
  await other.page.getByRole('button', { name: 'Give back' }).click();
  await page.getByText('your answer, which is kept here').waitFor();
  await view.assertAccessible();
  await page.getByRole('button', { name: 'Take over' }).click();
  await page.getByRole('button', { name: 'Reveal what waits' }).click();
  await page.getByText('It answers this message.').waitFor();
  assert.equal(await answer.inputValue(), 'Pull its plug.');
  await page.getByRole('button', { name: 'Send the answer' }).click();
  await receiver.waitFor(1);
  hangs.resolve();
  assert.equal(receiver.received[0]!.body['text'], 'Pull its plug.');
  await page.getByText('Nothing waits for an answer.').waitFor();
  assert.equal(await answer.inputValue(), '');
});

browserTest('a conversation that is deleted leaves the page', startOperatorStage, async (it) => {
  const { model, say, origin } = it.site;
  await model.script({ answer: 'By the model.', after: new Promise(() => {}) });
  await say('my printer burns');
  const view = await it.open();
  const { page } = view;
  await page.goto('/ui?view=conversations');
  await signIn(page);
  await page.getByText('lobby', { exact: true }).click();
  await page.getByRole('button', { name: 'Take over' }).click();
  await page.getByRole('button', { name: 'Reveal what waits' }).click();
  await page.getByText('my printer burns').waitFor();
  view.expectFault(/404 \(Not Found\)/);
  const headers = { authorization: `Bearer ${operatorToken}` };
  const deleted = await fetch(`${origin}/api/v1/conversations/webhook/lobby`, {
    method: 'DELETE',
    headers,
  });
  assert.equal(deleted.status, 200);
  await page.getByText('No such conversation is kept').first().waitFor();
  await page.getByText('my printer burns').waitFor({ state: 'detached' });
  assert.equal(await page.getByRole('button', { name: 'Give back' }).count(), 0);
});
