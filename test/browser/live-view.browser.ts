/** The live view on a running svc: by mouse, by keyboard and on a telephone. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { browserTest } from './browser.ts';
import { agree, operatorToken, startLiveStage, type LiveStage } from './live-stage.ts';
import { until } from '../support/waiting.ts';

const telephone = { viewport: { width: 360, height: 740 } };

async function signIn(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByLabel('Administrator token').fill(operatorToken);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  // The dialog returns the focus some frames after it closed, when it disappears.
  await page.locator('[role="dialog"]').waitFor({ state: 'detached' });
}

/** Sends these messages, and waits for all answers. */
async function talk(site: LiveStage, texts: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  const before = site.receiver.received.length;
  for (const text of texts) ids.push(await site.say(text));
  await site.receiver.waitFor(before + texts.length);
  return ids;
}

browserTest(
  'the overview tells what happens, and each number leads on',
  startLiveStage,
  async ({ site, open }) => {
    const view = await open();
    const { page } = view;
    await page.goto('/ui');
    await page.getByText('Working', { exact: true }).waitFor();
    await page.getByText('Nothing needs you.').waitFor();
    await talk(site, ['one', 'two', 'three']);
    await page.getByText(/^3 since /).waitFor();
    await messagesOf(page, /[123]/).waitFor();
    await page.getByText('dropped by the privacy filter').waitFor();
    await view.assertAccessible();
    await page.getByRole('link', { name: /Messages in the last minute/ }).click();
    await page.getByText('3 messages.').waitFor();
    assert.match(page.url(), /view=messages&within=1m$/);
  },
);

/** The chart of messages a minute, with this maximum. */
const messagesOf = (page: Page, most: RegExp) =>
  page.getByRole('img', {
    name: new RegExp(`^Messages a minute since .*: ${most.source} at most`),
  });

browserTest(
  'lines cover an hour, a day or a month, and no list is read to draw them',
  startLiveStage,
  async ({ site, open }) => {
    const view = await open();
    const { page } = view;
    const lists: string[] = [];
    page.on('request', (request) => {
      if (/\/api\/v1\/(messages|deliveries)/.test(request.url())) lists.push(request.url());
    });
    await page.goto('/ui');
    await talk(site, ['one', 'two']);
    await messagesOf(page, /[12]/).waitFor();
    await page.getByText(/^Not answered since /).waitFor();
    await page.getByRole('button', { name: '24 h' }).click();
    await page.getByRole('img', { name: /^Messages in 15 min .*: 2 at most/ }).waitFor();
    assert.match(page.url(), /span=day/);
    await page.reload();
    await page.getByRole('button', { name: '24 h', pressed: true }).waitFor();
    await page.getByRole('button', { name: '30 d' }).click();
    await page.getByRole('img', { name: /^Messages in 6 h / }).waitFor();
    await view.assertAccessible();
    await page.goto('/ui?view=providers&span=day');
    await page
      .getByRole('img', { name: /^Answers of a \(Ollama\) in 15 min .*: 2 at most/ })
      .waitFor();
    await view.assertAccessible();
    assert.deepEqual(lists, []);
  },
);

browserTest(
  'messages come as they are sent, wait while paused, and go by filters',
  startLiveStage,
  async ({ site, open }) => {
    const view = await open();
    const { page } = view;
    await page.goto('/ui?view=messages');
    await page.getByText('None so far.').waitFor();
    await page.getByText('svc send "Hello"').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await talk(site, ['one', '/new']);
    await page.getByRole('row').nth(2).waitFor();
    await page.getByRole('row', { name: 'answered by svc' }).waitFor();
    await page.getByRole('row', { name: 'answered' }).getByText('a (Ollama)').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await talk(site, ['two', 'three']);
    const fresh = page.getByRole('button', { name: '2 new' });
    await fresh.waitFor();
    assert.equal(await page.getByRole('row').count(), 3);
    await fresh.click();
    await page.getByText('4 messages.').waitFor();
    await view.assertAccessible();
    await page.getByLabel('Outcome').selectOption('command');
    await page.getByText('1 message.').waitFor();
    assert.match(page.url(), /outcome=command/);
    await page.reload();
    await page.getByText('1 message.').waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByText('4 messages.').waitFor();
  },
);

/** Keeps the page from events until the result is resolved, so that a list is read before them. */
async function holdEvents(page: Page): Promise<{ readonly resolve: () => void }> {
  const began = Promise.withResolvers<void>();
  await page.route('**/api/v1/events*', async (route) => {
    await began.promise;
    await route.continue();
  });
  return began;
}

const whileRead = Promise.withResolvers<void>();

browserTest(
  'what is told of a message while the list is read is not undone by an older answer',
  () => startLiveStage(agree(whileRead.promise)),
  async ({ site, open }) => {
    const { page } = await open();
    const answered = Promise.withResolvers<void>();
    let read = 0;
    const began = await holdEvents(page);
    await page.route('**/api/v1/messages?*', async (route) => {
      const response = await route.fetch();
      read++;
      began.resolve();
      await answered.promise;
      await route.fulfill({ response });
    });
    await site.say('one');
    await page.goto('/ui?view=messages');
    await page.getByText('Live', { exact: true }).waitFor();
    await until('it was read before the events and after', () => read >= 2);
    whileRead.resolve();
    await site.receiver.waitFor(1);
    await site.say('two');
    await page.getByText('1 message.').waitFor();
    answered.resolve();
    await page.getByRole('row', { name: 'answered' }).nth(1).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  },
);

browserTest(
  'a list of messages is shown though one that was asked for later was refused before',
  startLiveStage,
  async ({ site, open }) => {
    await talk(site, ['one']);
    const view = await open();
    const { page } = view;
    view.expectFault(/503/);
    const refused = Promise.withResolvers<void>();
    let asked = 0;
    const began = await holdEvents(page);
    await page.route('**/api/v1/messages?*', async (route) => {
      began.resolve();
      if (++asked > 1) return route.fulfill({ status: 503, body: '' });
      await refused.promise;
      await route.continue();
    });
    await page.goto('/ui?view=messages');
    await page.getByText('The service answered with the status 503').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    refused.resolve();
    await page.getByText('1 message.').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  },
);

browserTest(
  'a list of messages is gone through and opened by keyboard',
  startLiveStage,
  async ({ site, open }) => {
    const { page } = await open();
    const ids = await talk(site, ['one', 'two', 'three']);
    await page.goto('/ui?view=messages');
    await page.getByText('3 messages.').waitFor();
    for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: `Message ${ids[1]}` }).waitFor();
    await page.goBack();
    await page.getByText('3 messages.').waitFor();
    await page.keyboard.press('p');
    await page.getByRole('button', { name: 'Go on', pressed: true }).waitFor();
  },
);

const oneBefore = Promise.withResolvers<void>();

browserTest(
  'the trace tells the whole of a message, and its text by its own word',
  () => startLiveStage(agree(oneBefore.promise)),
  async ({ site, open }) => {
    site.receiver.script.push(200, 500);
    await site.say('before');
    const id = await site.say('When do you open?');
    // The trace omits a wait of less than a millisecond.
    const acceptedBy = Date.now();
    await until('time has gone by', () => Date.now() > acceptedBy);
    oneBefore.resolve();
    const view = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { page } = view;
    await page.goto(`/ui?view=message&id=${id}`);
    // The page follows the message to its end, without a reload.
    await page.getByText('Answered by a (Ollama); delivered').waitFor();
    for (const told of [
      'waited in the inbox',
      'privacy filter dropped big (OpenAI API); 3 may be asked',
      /a \(Ollama\): answer \(rank 1\)/,
      /consensus: a \(Ollama\), /,
      'delivery 1: server_error, 500',
      'waited for its next try',
      'delivery 2: delivered',
    ]) {
      await page.getByRole('listitem').filter({ hasText: told }).first().waitFor();
    }
    assert.equal(await page.getByText('When do you open?').count(), 0);
    await page.getByRole('button', { name: 'Copy as JSON' }).click();
    await page.getByText('Copied.').waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    assert.equal((JSON.parse(copied) as { id: string }).id, id);
    await view.assertAccessible();
    await signIn(page);
    await page.getByRole('button', { name: 'Reveal what was said' }).click();
    await page.getByText('When do you open?').waitFor();
    // The reply, and the answer of the model that agreed with it.
    await page.getByText('It opens at nine.').nth(1).waitFor();
    await page.getByText('b (Ollama), which agreed', { exact: true }).waitFor();
    await view.assertAccessible();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Only an operator may see what was said.').waitFor();
    assert.equal(await page.getByText('When do you open?').count(), 0);
  },
);

browserTest(
  'a conversation is read by its sessions, kept as a file, and deleted',
  startLiveStage,
  async ({ site, open }) => {
    await talk(site, ['before', '/new', 'after']);
    const view = await open({ acceptDownloads: true });
    const { page } = view;
    await page.goto('/ui?view=conversations');
    await page.getByRole('cell', { name: 'webhook' }).waitFor();
    assert.equal(await page.getByText('lobby').count(), 0);
    await signIn(page);
    await page.getByRole('link', { name: 'lobby' }).click();
    await page.getByRole('heading', { name: 'lobby' }).waitFor();
    assert.doesNotMatch(page.url(), /lobby/);
    await page.getByText(/^Session 2 began .*: a command asked for it\.$/).waitFor();
    await page.getByRole('button', { name: 'Reveal what was said' }).click();
    await page.getByText('after', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Session 1' }).click();
    await page.getByText('before', { exact: true }).waitFor();
    await view.assertAccessible();
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    assert.equal((await downloading).suggestedFilename(), 'conversation-webhook.json');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('Nothing of it can be brought back.').waitFor();
    await view.assertAccessible();
    await page.getByRole('button', { name: 'Keep it' }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No conversation is kept').first().waitFor();
  },
);

browserTest(
  'the flow is drawn from channels to models, with what passes',
  startLiveStage,
  async ({ site, open }) => {
    const view = await open();
    const { page } = view;
    await page.goto('/ui?view=flow');
    await page.getByText('Live', { exact: true }).waitFor();
    await talk(site, ['one', 'two']);
    await page.getByRole('list', { name: 'Channels' }).getByText('2', { exact: true }).waitFor();
    await page.getByRole('list', { name: 'Brains' }).getByText('2', { exact: true }).waitFor();
    await page
      .getByRole('list', { name: 'Models' })
      .getByText('dropped by the privacy filter')
      .waitFor();
    await view.assertAccessible();
    await page.reload();
    await page.getByRole('list', { name: 'Brains' }).getByText('2', { exact: true }).waitFor();
  },
);

browserTest('every view fits a small telephone', startLiveStage, async ({ site, open }) => {
  const [id] = await talk(site, ['one']);
  const view = await open(telephone);
  const { page } = view;
  for (const [place, sight] of [
    ['', 'Working'],
    ['?view=messages', '1 message.'],
    [`?view=message&id=${id}`, 'Answered by a (Ollama); delivered'],
    ['?view=conversations', 'Each conversation'],
    ['?view=flow', 'dropped by the privacy filter'],
  ] as const) {
    await page.goto(`/ui${place}`);
    await page.getByText(sight).first().waitFor();
    await view.assertTargets();
    await view.assertFits();
    await view.assertAccessible();
  }
});

browserTest(
  'a page says that its service is gone, and goes on when it is back',
  startLiveStage,
  async ({ site, open }) => {
    const view = await open();
    const { page } = view;
    await talk(site, ['before']);
    await page.goto('/ui?view=messages');
    await page.getByText('1 message.').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    view.expectFault(/Failed to load resource/);
    await site.stop();
    await page.getByText('Not live').waitFor();
    await page.getByRole('alert').getByText('The service does not answer.').waitFor();
    await page.getByText('1 message.').waitFor();
    await site.start();
    // The page waits longer after each failure, up to half a minute.
    await page.getByText('Live', { exact: true }).waitFor();
    await talk(site, ['after']);
    await page.getByText('2 messages.').waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
  },
);

browserTest(
  'no green mark stands beside a status that is refused, though the events still come',
  startLiveStage,
  async ({ open }) => {
    const view = await open();
    const { page } = view;
    await page.goto('/ui');
    const live = page.getByText('Live', { exact: true });
    await live.waitFor();
    view.expectFault(/Failed to load resource/);
    const path = '**/api/v1/status';
    await page.route(path, (route) => route.fulfill({ status: 503, json: { code: 'busy' } }));
    await page.getByRole('heading', { name: /^svc told nothing new since / }).waitFor();
    await page.getByText('Not live').waitFor();
    assert.equal(await live.count(), 0);
    await page.unroute(path);
    await live.waitFor();
    await page.getByRole('heading', { name: 'Working', exact: true }).waitFor();
  },
);

browserTest(
  'the overview is not green over a service that is gone, nor over models that all fail',
  () => startLiveStage({ status: 401, body: '{}' }),
  async ({ site, open }) => {
    const view = await open();
    const { page } = view;
    await page.goto('/ui');
    await page.getByRole('heading', { name: 'Working', exact: true }).waitFor();
    await site.say('one');
    const silent = 'Not working: no model answers for brain desk';
    await page.getByRole('heading', { name: silent }).waitFor();
    await page.getByText(/^1 (?:in the last|since) /).waitFor();
    view.expectFault(/Failed to load resource/);
    await site.stop();
    await page.getByRole('heading', { name: /^svc does not answer since / }).waitFor();
    assert.equal(await page.getByText(silent).count(), 0);
    await page.getByText(/^1 (?:in the last|since) /).waitFor();
    await view.assertAccessible();
    await page.getByText('Not live').waitFor();
    for (const width of [1280, 1410]) {
      await page.setViewportSize({ width, height: 800 });
      const cut = "(nav => nav.scrollWidth - nav.clientWidth)(document.querySelector('nav'))";
      assert.equal(await page.evaluate(cut), 0, `views are cut at ${width}`);
    }
    await site.start();
    await page.getByRole('heading', { name: 'Working', exact: true }).waitFor();
  },
);
