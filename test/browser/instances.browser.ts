/** The page of instances: several report about themselves to the one that serves the page. */
import assert from 'node:assert/strict';
import type { EnvName } from '../../src/config/secret-value.ts';
import type { ChannelKey } from '../../src/domain/ids.ts';
import { live, makeWorld, openAdmin, type World } from '../fake/admin-world.ts';
import { makeInstances, type OtherInstance } from '../fake/other-instances.ts';
import { browserTest, type Site } from './browser.ts';
import { goToView } from './live-stage.ts';

type InstancesSite = Site & { readonly all: readonly OtherInstance[] };

const bot = 'messenger_a:7' as ChannelKey;

/** Stores everything on a server, and has a route from the messenger. */
function onServer(world: World): void {
  const { ports } = world;
  const plan = ports.runningConfig();
  const storage = { path: null, retentionDays: 30, urlEnv: 'DATABASE_URL' as EnvName };
  const name = 'messenger_a';
  const route = { channel: name, brain: 'open', number: 2, when: null, description: null };
  const routes = [...plan.config.routes, route];
  const since = world.clockMs;
  const bots = { name, type: name, key: bot } as const;
  const waits = { ...bots, isHeld: false, since, lastSeenAt: null } as const;
  const channels = [...plan.channels, { ...waits, state: 'starting', reason: null } as const];
  const config = { ...plan.config, storage, routes };
  world.ports = { ...ports, runningConfig: () => ({ ...plan, config, channels }) };
}

async function start(): Promise<InstancesSite> {
  const all = makeInstances([3, 8, 11]);
  const [asked, holder, late] = all as [OtherInstance, OtherInstance, OtherInstance];
  for (const one of all) {
    one.clockMs = Date.now();
    one.beganAt = one.clockMs - 3_600_000;
    onServer(one);
  }
  holder.posts = ['keeper', bot];
  holder.change = (report) => {
    const channels = report.channels.map((one) => ({ ...one, state: 'up', reason: null }));
    const listeners = report.listeners.map((one) => ({ ...one, bind: '10.0.0.8:8090' }));
    return { ...report, channels, listeners };
  };
  late.ageMs = 7_000;
  for (let n = 0; n < 4; n++) live(holder.events);
  const admin = await openAdmin(asked);
  const close = () => admin[Symbol.asyncDispose]();
  return { all, origin: `http://127.0.0.1:${admin.port}`, [Symbol.asyncDispose]: close };
}

browserTest(
  'each instance is shown with where it is, what it has, and how much; one that is late is marked',
  start,
  async ({ site, open }) => {
    const view = await open();
    const { page } = view;
    await page.goto('/ui');
    await page.getByText(/^Instance 11 is late: it was last heard \d+ s ago\.$/).waitFor();
    const messenger = page.getByRole('row', { name: 'Telegram' });
    await messenger.getByText('at instance 8').waitFor();
    await messenger.getByText('up', { exact: true }).waitFor();
    await page.getByText('http://10.0.0.8:8090/webhook (instance 8)').waitFor();
    await view.assertAccessible();
    await goToView(page, 'Settings', 'Instances');
    const row = (id: number) => page.getByRole('row', { name: new RegExp(`^${id} `) });
    await row(3).getByText('answers here').waitFor();
    const holder = row(8);
    for (const told of ['up', 'Telegram', 'host-8', '1.2.8', '4', '1 h ago']) {
      await holder.getByText(told).first().waitFor();
    }
    await holder.getByText('Keeper, Telegram').waitFor();
    await holder.getByText('admin http://10.0.0.8:2112').waitFor();
    const [, , late] = site.all;
    await row(11).getByText('late', { exact: true }).waitFor();
    await row(11)
      .getByText(/^It was last heard \d+ s ago\.$/)
      .waitFor();
    await view.assertAccessible();
    late!.ageMs = 100;
    late!.change = (report) => ({ ...report, revision: 'r-0002' });
    await row(11).getByText('up', { exact: true }).waitFor();
    await row(11).getByText('another than here').waitFor();
    await view.assertAccessible();
    for (const width of [1280, 1410]) {
      await page.setViewportSize({ width, height: 800 });
      const cut = "(nav => nav.scrollWidth - nav.clientWidth)(document.querySelector('nav'))";
      assert.equal(await page.evaluate(cut), 0, `views are cut at ${width}`);
    }
    await page.setViewportSize({ width: 360, height: 740 });
    await view.assertFits();
  },
);

async function startAlone(): Promise<Site> {
  const admin = await openAdmin(makeWorld());
  const close = () => admin[Symbol.asyncDispose]();
  return { origin: `http://127.0.0.1:${admin.port}`, [Symbol.asyncDispose]: close };
}

browserTest('where svc works alone, no page of instances is offered', startAlone, async (stage) => {
  const view = await stage.open();
  const { page } = view;
  await page.goto('/ui');
  await page.getByRole('heading', { name: 'Channels' }).waitFor();
  const [link, views] = [
    page.getByRole('link', { name: 'Instances' }),
    page.getByRole('navigation').getByRole('link'),
  ];
  assert.ok((await views.count()) > 5);
  assert.equal(await link.count(), 0);
  await page.goto('/ui?view=instances');
  await page.getByText('svc works alone on its storage.').waitFor();
  await view.assertAccessible();
});
