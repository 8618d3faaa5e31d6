/** The application with a working configuration: its window, its single instance, its end. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, readdir, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { suite } from 'node:test';
import { gone } from '../support/run-svc.ts';
import { openServing, sharedServing, signedIn } from './serving.ts';
import { applicationTest, pressLast, titled, type Desktop } from './stage.ts';

/** The link that opened the window, from a file that only its person may read. */
async function linkOf({ places: { runtime } }: Desktop): Promise<string> {
  const names = await readdir(runtime);
  const folder = join(
    runtime,
    names.find((name) => name.startsWith('svc-open-'))!,
  );
  const file = join(folder, 'open.html');
  for (const [path, mode] of [
    [runtime, 0o700],
    [folder, 0o700],
    [file, 0o600],
  ] as const) {
    assert.equal((await stat(path)).mode & 0o777, mode, path);
  }
  return /url=([^"]+)/.exec(await readFile(file, 'utf8'))![1]!;
}

suite('an application that serves', () => {
  const shared = sharedServing();

  applicationTest('its window is signed in, and nobody is shown how', async () => {
    const { world, desktop } = await shared();
    const run = desktop.start();
    const page = await desktop.page();
    await signedIn(page, world);
    assert.equal(new URL(page.url()).hash, '');
    assert.deepEqual(await page.context().cookies(), []);
    const kept = await page.evaluate<string>('JSON.stringify([localStorage, sessionStorage])');
    assert.doesNotMatch(kept, /[\w-]{22}/);
    assert.equal(await page.evaluate<number>('history.length'), 1);
    const words = desktop.processes().flatMap(({ words: all }) => all);
    for (const word of words) assert.doesNotMatch(word, /(?:#|\/open\/)[\w-]{22}/);
    assert.doesNotMatch(run.out() + run.err(), /(?:#|\/open\/)[\w-]{22}/);
  });

  applicationTest('a link that comes a second time signs everybody out', async () => {
    const { world, desktop } = await shared();
    const page = await desktop.page();
    await signedIn(page, world);
    const again = await fetch(await linkOf(desktop));
    assert.equal(again.status, 403);
    assert.match(await again.text(), /used/);
    await page.getByText(/was used a second time/).waitFor();
    const before = desktop.pages();
    await page.getByRole('button', { name: 'Open svc again' }).press('Enter');
    await signedIn(await desktop.page(before), world);
  });

  applicationTest('a second start shows the window of the first, and ends', async () => {
    const { world, desktop } = await shared();
    const page = await desktop.page();
    await signedIn(page, world);
    const [shell, core] = [desktop.pidOf('shell'), desktop.pidOf('core')];
    assert.ok(shell !== null && core !== null);
    const before = desktop.pages();
    const second = desktop.run(['desktop']);
    assert.deepEqual(await second.ended, { code: 0, signal: null });
    assert.match(second.err(), /runs already; its window is shown/);
    await signedIn(await desktop.page(before), world);
    assert.deepEqual([desktop.pidOf('shell'), desktop.pidOf('core')], [shell, core]);
    const other = join(desktop.env['HOME']!, 'other.json');
    await desktop.home.write(other, '{}');
    const third = desktop.run(['desktop', '--config', other]);
    assert.deepEqual(await third.ended, { code: 1, signal: null });
    assert.ok(third.err().includes(desktop.places.config), third.err());
  });

  applicationTest('its window shows nothing from elsewhere', async () => {
    const { desktop } = await shared();
    const asked: string[] = [];
    const elsewhere = createServer(({ url = '' }, response) => {
      asked.push(url);
      response.end('from elsewhere');
    }).listen(0, '127.0.0.1');
    try {
      await once(elsewhere, 'listening');
      const { port } = elsewhere.address() as AddressInfo;
      const page = await desktop.page();
      // Other names of this machine too: only 127.0.0.1 belongs to svc.
      for (const host of ['localhost', 'elsewhere.example']) {
        await page.goto(`http://${host}:${port}/a-page`);
        await titled(page, 'This is elsewhere');
      }
      await assert.rejects(page.goto('https://elsewhere.example/a-page'), /ERR_/);
      assert.deepEqual(asked, []);
    } finally {
      elsewhere.closeAllConnections();
      elsewhere.close();
    }
  });

  applicationTest(
    'its window is closed: it asks once, keeps answering, and comes back',
    async () => {
      await using serving = await openServing();
      const { world, desktop } = serving;
      const run = desktop.start();
      const page = await desktop.page();
      await signedIn(page, world);
      const window = desktop.pidOf('window')!;
      await page.close();
      await gone(window);
      assert.equal(await world.say('Are you still there?'), 200);
      await world.receiver.waitFor(1);
      assert.deepEqual(await desktop.run(['desktop']).ended, { code: 0, signal: null });
      const again = await desktop.page([page]);
      await titled(again, 'Keep answering in the background?');
      await pressLast(again, 'Quit svc');
      assert.deepEqual(await run.ended, { code: 0, signal: null });
      await desktop.ends();
      assert.match(await readFile(desktop.places.settings, 'utf8'), /"onClose": ?"quit"/);
    },
  );

  applicationTest('the session ends: what is in hand is finished, and all of it ends', async () => {
    await using serving = await openServing();
    const { world, desktop } = serving;
    const { promise: thought, resolve: think } = Promise.withResolvers<void>();
    await world.model.script({ answer: 'It opens at nine.', after: thought });
    const run = desktop.start();
    await signedIn(await desktop.page(), world);
    assert.equal(await world.say('When do you open?'), 200);
    await world.model.call(0);
    process.kill(desktop.display.pid, 'SIGKILL');
    await desktop.logged(/"state":"stopping"/);
    think();
    assert.deepEqual(await run.ended, { code: 0, signal: null });
    await world.receiver.waitFor(1);
    await desktop.ends();
  });
});
