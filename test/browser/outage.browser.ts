/** An outage of models, on the overview: it names cause and action soon, and does not flap. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { FailureKind } from '../../src/domain/failure.ts';
import type { ChannelKey, ModelName } from '../../src/domain/ids.ts';
import { makeWorld, messageId, openAdmin, type World } from '../fake/admin-world.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { browserTest, type Site } from './browser.ts';

/** The real server's overview of a world whose clock the test moves. */
async function startWorld(): Promise<Site & { readonly world: World }> {
  const world = makeWorld();
  world.clockMs = Date.UTC(2026, 0, 5, 3);
  const { ports } = world;
  const up = { state: 'up', reason: null } as const;
  const channels = ports.runningConfig().channels.map((channel) => ({ ...channel, ...up }));
  const runningConfig = () => ({ ...ports.runningConfig(), channels });
  world.ports = { ...ports, runningConfig, backlog: () => [] };
  const admin = await openAdmin(world);
  const end = { [Symbol.asyncDispose]: () => admin[Symbol.asyncDispose]() };
  return { origin: `http://127.0.0.1:${admin.port}`, world, ...end };
}

const model = 'local_runtime/small' as ModelName;

function call({ events }: World, result: 'answer' | FailureKind): void {
  events.modelAnswered({ model, provider: 'local_runtime', result, ms: 4 });
}

/** Adds a message for which the only model is asked once. */
function message(world: World, result: 'answer' | FailureKind): void {
  const { events } = world;
  call(world, result);
  const where = { channel: 'webhook' as ChannelKey, id: messageId, brain: 'main' };
  const decision =
    result === 'answer'
      ? ({ kind: 'reply', text: 'yes', model, why: 'first' } as const)
      : ({ kind: 'apology', apology: 'no_answer', why: 'none' } as const);
  events.turnFinished({ ...where, sender: { id: 'ada', name: null }, decision, ms: 5 });
}

/** Moves the time of svc and of the page, which polls after every third step. */
async function watched(
  { page, world }: { readonly page: Page; readonly world: World },
  steps: number,
  happens: (step: number) => void,
  stepMs = 1_000,
): Promise<readonly string[]> {
  const shown: string[] = [];
  for (let step = 1; step <= steps; step++) {
    world.clockMs += stepMs;
    happens(step);
    if (step % 3 !== 0) continue;
    const answered = page.waitForResponse('**/api/v1/status');
    await page.clock.fastForward(3 * stepMs);
    await (await answered).finished();
    // The answer is on the screen by then.
    await page.clock.runFor(50);
    const words = (await page.locator('main h2').first().textContent()) ?? '';
    if (words !== shown.at(-1)) shown.push(words);
  }
  return shown;
}

browserTest(
  'a model that fails every second call changes the headline once',
  startWorld,
  async ({ site: { world }, open }) => {
    const view = await open();
    const { page } = view;
    await page.clock.install({ time: world.clockMs });
    await page.goto('/ui');
    await page.getByRole('heading', { name: 'Working', exact: true }).waitFor();
    const shown = await watched({ page, world }, 30, (second) => {
      message(world, second % 2 === 1 ? 'answer' : 'server_error');
    });
    assert.ok(shown.length <= 2, shown.join('\n'));
    assert.equal(
      shown.at(-1),
      'Working, but some messages get no answer from brain main ' +
        '(small on Ollama: it answered with a server error)',
    );
    await page.getByText('15 of 30 messages got no answer in the last 5 minutes.').waitFor();
    await page.getByText('15 of 30 calls failed in the last 5 minutes').waitFor();
    await page.getByText('Notice').first().waitFor();
    assert.equal(await page.getByText('Urgent').count(), 0);
  },
);

browserTest(
  'a model that answers each message at its third call is a notice, and nothing is red',
  startWorld,
  async ({ site: { world }, open }) => {
    const view = await open();
    const { page } = view;
    await page.clock.install({ time: world.clockMs });
    await page.goto('/ui');
    await page.getByRole('heading', { name: 'Working', exact: true }).waitFor();
    const shown = await watched({ page, world }, 30, () => {
      for (const result of ['server_error', 'server_error'] as const) call(world, result);
      message(world, 'answer');
    });
    assert.deepEqual([...new Set(shown)], ['Working, but small (Ollama) fails at some calls']);
    const notice = page.getByText('small (Ollama) fails at some calls, and retries answer');
    assert.match(
      await notice.innerText(),
      /server error\. 60 of 90 calls failed in the last 5 minutes\.$/,
    );
    assert.equal(await page.getByText('Urgent').count(), 0);
    assert.equal(await page.getByText('does not answer').count(), 0);
  },
);

browserTest(
  'a model that goes down is named within 15 seconds, and no longer once nobody asks it',
  startWorld,
  async ({ site: { world }, open }) => {
    const view = await open();
    const { page } = view;
    await page.clock.install({ time: world.clockMs });
    await page.goto('/ui');
    const of = { page, world };
    const one = (result: 'answer' | FailureKind) => (): void => message(world, result);
    assert.deepEqual(await watched(of, 60, one('answer')), ['Working']);
    const down = await watched(of, 15, one('connect_failed'));
    const silent =
      'Not working: no model answers for brain main ' +
      '(small on Ollama: the address could not be reached)';
    assert.equal(down.at(-1), silent);
    await page.getByText('Ollama is not running').first().waitFor();
    const quiet = await watched(of, 6, () => {}, 130_000);
    assert.deepEqual(quiet, ['Working']);
    const back = await watched(of, 90, one('answer'));
    assert.equal(back.at(-1), 'Working');
    assert.ok(back.length <= 3, back.join('\n'));
    await page
      .getByText(/90 of|none of/)
      .first()
      .waitFor();
    await view.assertAccessible();
  },
);

/** svc with two models, asked one after the other; `down` stops the first. */
async function startTwo() {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const first = stack.use(await startFakeOllama({ answer: 'It opens at nine.' }));
  const second = stack.use(await startFakeOllama({ answer: 'At nine.' }));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const base = webhookConfig({
    port,
    adminPort,
    modelUrl: first.url,
    receiverUrl: receiver.url,
  });
  const models = [first, second].map(({ url }, n) => {
    const model_id = n === 0 ? 'first' : 'second';
    return { provider: 'local_runtime', model_id, locality: 'local', base_url: url };
  });
  const documentWith = (asked: typeof models) => {
    return { ...base, brains: [{ ...base.brains[0], dispatch: 'sequential', models: asked }] };
  };
  const file = await writeConfig(folder.path, documentWith(models));
  const program = stack.use(await serve(file, port));
  const all = stack.move();
  return {
    origin: `http://127.0.0.1:${adminPort}`,
    down: () => first.script({ fail: 'refused' }),
    /** Removes the first model from the configuration. */
    async drop(): Promise<void> {
      await writeConfig(folder.path, documentWith(models.slice(1)));
      program.child.kill('SIGHUP');
    },
    async say(n: number): Promise<void> {
      await post(program.url, { sender_id: 'ada', text: 'hello' }, { 'webhook-id': `m${n}` });
      await receiver.waitFor(n);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

browserTest(
  'a model in whose place another one answers is a notice, with how often it did',
  startTwo,
  async ({ site, open }) => {
    const view = await open();
    const { page } = view;
    await page.goto('/ui');
    await site.say(1);
    await site.down();
    await page.getByText('none of 1 call failed in the last 5 minutes').waitFor();
    for (let n = 2; n <= 11; n++) await site.say(n);
    const { models } = (await (await fetch(`${site.origin}/api/v1/status`)).json()) as {
      models: readonly { standing: string; answeredByOthers: number }[];
    };
    assert.deepEqual(
      models.map(({ standing, answeredByOthers }) => [standing, answeredByOthers]),
      [
        ['failing', 10],
        ['up', 1],
      ],
    );
    const words = 'Working, but first (Ollama) does not answer';
    await page.getByRole('heading', { name: words }).waitFor();
    const concern = page.getByRole('listitem').filter({ hasText: 'first (Ollama)' });
    await concern.getByText('Notice').waitFor();
    await concern.getByText(/Other models answered 10 messages in its place/).waitFor();
    await view.assertAccessible();
    await view.assertFits();
    await view.picture('model stood in for');
    await site.drop();
    await page.getByRole('heading', { name: 'Working', exact: true }).waitFor();
    await page.goto('/ui?view=providers');
    const gone = page.getByRole('row', { name: 'first (Ollama)' });
    await gone.getByText('not in use now').waitFor();
    await view.assertAccessible();
    await view.picture('model not in use');
  },
);
