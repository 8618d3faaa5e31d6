/** Faults that no restart mends: the application's page says what to do, and does it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { suite } from 'node:test';
import type { Page } from 'playwright-core';
import { noKeyring } from '../keyring/session.ts';
import { sharedBy, signedIn } from './serving.ts';
import {
  applicationTest,
  openDesktop,
  press,
  titled,
  type Desktop,
  type DesktopOptions,
} from './stage.ts';
import { openWorld, secret, type World } from './world.ts';

/** The page reports the result of a button, then the person continues. */
async function goOn(page: Page, world: World): Promise<void> {
  await titled(page, 'svc is running');
  await page.getByRole('status').waitFor();
  await press(page, 'Open svc');
  // Until the page has traded its code, it knows no way back from a service that ends.
  await signedIn(page, world);
}

/** Kills the service, and listens at its address before the next one does. */
async function takesPortOf({ port }: World, desktop: Desktop): Promise<Server> {
  for (;;) {
    const next = await desktop.comes('core', desktop.kill('core'));
    process.kill(next, 'SIGSTOP');
    const server = createServer().listen(port, '127.0.0.1');
    const listens = once(server, 'listening').then(() => true);
    const isFirst = await listens.catch(() => false);
    process.kill(next, 'SIGCONT');
    if (isFirst) return server;
  }
}

/** The configuration has a fault, and its secret is missing. */
async function open() {
  await using parts = new AsyncDisposableStack();
  const world = parts.use(await openWorld());
  const right = JSON.stringify(world.document, null, 2);
  const wrong = right.replace('"priority"', '"prioritty"');
  const session: DesktopOptions =
    noKeyring === false ? { keyring: 'unlocked' } : { env: { WEBHOOK_SECRET: secret } };
  const desktop = parts.use(await openDesktop({ ...session, config: wrong }));
  const own = parts.move();
  return { world, desktop, right, wrong, [Symbol.asyncDispose]: () => own.disposeAsync() };
}

/** Several faults in one window, one after the other; each ends with a running service. */
suite('an application that needs its person', () => {
  const opened = sharedBy(open);

  applicationTest('a configuration with a fault is shown, and mended in the window', async () => {
    const { world, desktop, right, wrong } = await opened();
    desktop.start();
    const page = await desktop.page();
    await titled(page, 'The configuration needs a correction');
    assert.match(await page.getByRole('main').innerText(), /line \d+, brains\[0\]\.policy\.kind/);
    await page.getByRole('link', { name: 'Change it here' }).press('Enter');
    const text = page.getByLabel('Text of the configuration');
    assert.equal(await text.inputValue(), wrong);
    await text.fill(right);
    await press(page, 'Save and start again');
    if (noKeyring === false) await titled(page, 'A secret is missing');
    else await goOn(page, world);
    assert.equal(await readFile(desktop.places.config, 'utf8'), right);
  });

  applicationTest(
    'a secret that is missing is pasted in the window, and kept in the keychain alone',
    async () => {
      const { world, desktop } = await opened();
      const page = await desktop.page();
      await titled(page, 'A secret is missing');
      await page.getByLabel('Value of WEBHOOK_SECRET').fill(secret);
      await press(page, 'Keep and start');
      await goOn(page, world);
      assert.equal(await world.say('When do you open?'), 200);
      await world.receiver.waitFor(1);
      const written = await desktop.home.texts();
      assert.ok(written.length > 0);
      for (const { file, text } of written) assert.ok(!text.includes(secret), file);
    },
    noKeyring,
  );

  applicationTest(
    'a keychain that is locked is told, and what is in it is found once it is open',
    async () => {
      const { world, desktop } = await opened();
      const page = await desktop.page();
      await desktop.keyring('locked');
      desktop.kill('core');
      await titled(page, 'The keychain is locked');
      await press(page, 'Unlock the keychain');
      await titled(page, 'The keychain is locked');
      await page.getByRole('alert').waitFor();
      await desktop.keyring('unlocked');
      await press(page, 'Try again');
      await signedIn(page, world);
    },
    noKeyring,
  );

  applicationTest('a port that is taken is told, and another one is taken instead', async () => {
    const { world, desktop } = await opened();
    const page = await desktop.page();
    const other = await takesPortOf(world, desktop);
    try {
      await titled(page, 'An address is taken');
      assert.match(await page.getByRole('main').innerText(), new RegExp(`127.0.0.1:${world.port}`));
      await press(page, 'Use another port');
      await goOn(page, world);
    } finally {
      other.close();
    }
    const now = await readFile(desktop.places.config, 'utf8');
    assert.ok(!now.includes(`127.0.0.1:${world.port}`));
  });
});
