/** What `/ui` serves, seen by a browser. */
import { live, makeWorld, openAdmin } from '../fake/admin-world.ts';
import { browserTest, type Site } from './browser.ts';

async function start(): Promise<Site> {
  const world = makeWorld();
  live(world.events);
  const admin = await openAdmin(world);
  const close = () => admin[Symbol.asyncDispose]();
  return { origin: `http://127.0.0.1:${admin.port}`, [Symbol.asyncDispose]: close };
}

browserTest('the live view shows the service to every eye and ear', start, async ({ open }) => {
  const view = await open();
  const { page } = view;
  await page.goto('/ui');
  await page.getByText('Working', { exact: true }).waitFor();
  await view.assertAccessible();
});

browserTest('the live view fits a small telephone', start, async ({ open }) => {
  const view = await open({ viewport: { width: 360, height: 740 } });
  await view.page.goto('/ui');
  await view.page.getByText('Working', { exact: true }).waitFor();
  await view.assertFits();
  await view.assertAccessible();
});
