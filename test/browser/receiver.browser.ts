/** A receiver that refuses replies: the first page says so, and svc tries all of them again. */
import assert from 'node:assert/strict';
import { browserTest } from './browser.ts';
import { signIn, startOperatorStage, type OperatorStage } from './operator-stage.ts';
import { until } from '../support/waiting.ts';

/** Each conversation has its own reply, so that none waits for another. */
async function sayTo({ say }: OperatorStage, ...conversations: readonly string[]): Promise<void> {
  for (const one of conversations) await say('when?', one);
}

const warningText = 'The receiver of webhook replies answers';

browserTest(
  'a receiver that answers 500 is urgent on the first screen, and leads to the deliveries',
  startOperatorStage,
  async (it) => {
    it.site.receiver.script.push(...Array<number>(200).fill(500));
    const view = await it.open();
    const { page } = view;
    await page.goto('/ui');
    await page.getByRole('heading', { name: 'Working' }).waitFor();
    await sayTo(it.site, 'a', 'b', 'c');
    const headline = page.getByRole('heading', { name: 'replies on webhook do not arrive' });
    await headline.waitFor();
    const concern = page.getByRole('listitem').filter({ hasText: warningText });
    await concern.getByText('Urgent').waitFor();
    // The third failure of one reply may raise the warning before the others have failed.
    await concern.getByText(/answers 500 since .+; 3 replies wait, the oldest \d/).waitFor();
    const row = page
      .getByRole('group', { name: 'Channels' })
      .getByRole('row', { name: /^webhook/ });
    await row.getByText('replies do not arrive').waitFor();
    await view.assertAccessible();
    await concern.getByRole('link', { name: 'Look' }).click();
    assert.match(page.url(), /view=deliveries/);
    const group = page.getByRole('listitem').filter({ hasText: 'server error (status 500)' });
    await group.waitFor();
    assert.match(await group.innerText(), /webhook/);
    await view.assertAccessible();
    await view.assertFits();
    await page.goto('/ui?view=flow');
    const channels = page.getByRole('list', { name: 'Channels' });
    await channels.getByText('replies do not arrive').waitFor();
  },
);

browserTest(
  'a receiver that refuses some replies is a notice with its share, and nothing is red',
  startOperatorStage,
  async (it) => {
    it.site.receiver.script.push(200, 200, 200, ...Array<number>(200).fill(422));
    const view = await it.open();
    const { page } = view;
    await page.goto('/ui');
    await page.getByRole('heading', { name: 'Working', exact: true }).waitFor();
    await sayTo(it.site, 'a', 'b', 'c');
    await it.site.receiver.waitFor(3);
    await sayTo(it.site, 'd', 'e', 'f');
    const words = 'Working, but some replies on webhook do not arrive';
    await page.getByRole('heading', { name: words }).waitFor();
    const notice = page.getByRole('listitem').filter({ hasText: 'to deliver on webhook' });
    await notice.getByText('Notice').waitFor();
    await notice.getByText(/of \d+ tries to deliver on webhook were refused with 422/).waitFor();
    await notice.getByText(/Read in the receiver's log why .+ Dead letters/).waitFor();
    assert.equal(await page.getByText('Urgent').count(), 0);
    await view.assertAccessible();
    await view.assertFits();
  },
);

browserTest(
  'once the receiver is back, its replies are tried at once: one, then all',
  startOperatorStage,
  async (it) => {
    const { receiver } = it.site;
    const later = { status: 503, headers: { 'retry-after': '3600' } };
    receiver.script.push(later, later, later, later);
    await sayTo(it.site, 'a', 'b', 'c', 'd');
    await receiver.waitFor(4);
    const view = await it.open();
    const { page } = view;
    await page.goto('/ui?view=deliveries&channel=webhook');
    const group = page.getByRole('listitem').filter({ hasText: 'overloaded (status 503)' });
    await group.getByText('4', { exact: true }).waitFor();
    assert.equal(await page.getByRole('button', { name: /^Try/ }).count(), 0);
    await signIn(page);
    await page
      .getByRole('button', { name: /^Try the reply .+ now$/ })
      .first()
      .click();
    await receiver.waitFor(5);
    await group.getByText('3', { exact: true }).waitFor();
    await group.getByRole('button', { name: 'Try all 3 now' }).click();
    await receiver.waitFor(8);
    await page.getByText('3 replies were sent on the way').waitFor();
    await group.getByText('None waits for this reason any more.').waitFor();
    await view.assertAccessible();
    const answers = receiver.received.slice(4);
    assert.equal(new Set(answers.map(({ body }) => body['conversation_id'])).size, 4);
    assert.ok(answers.every(({ headers }) => headers['svc-attempt'] === '2'));
    await until('nothing is on its way', async () => {
      const told = await fetch(`${it.site.origin}/api/v1/status`);
      const { deliveries } = (await told.json()) as {
        deliveries: readonly { waiting: number }[];
      };
      return deliveries.every(({ waiting }) => waiting === 0);
    });
    assert.equal(receiver.received.length, 8);
  },
);

browserTest(
  'of a receiver that is silent the deliveries do not say that nothing failed',
  startOperatorStage,
  async (it) => {
    it.site.receiver.script.push(...Array<'hang'>(200).fill('hang'));
    await sayTo(it.site, 'a', 'b', 'c');
    await it.site.receiver.waitFor(3);
    const view = await it.open();
    const { page } = view;
    await page.goto('/ui?view=deliveries&channel=webhook');
    const why = page.getByRole('main');
    await why.getByText(/^The receiver of webhook replies answers nothing since /).waitFor();
    await why.getByText('No reply waits for another try.').waitFor();
    assert.equal(await why.getByText('Nothing failed.').count(), 0);
    await view.assertAccessible();
    await view.assertFits();
  },
);
