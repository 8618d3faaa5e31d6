/** The application as root, without a display, and as two people at once. */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outcomeOf } from '../support/run-svc.ts';
import { accounts } from './account.ts';
import { applicationTest, openDesktop, type Desktop } from './stage.ts';
import { openWorld, secret } from './world.ts';

const isRoot = process.getuid?.() === 0;

applicationTest(
  'root is told to start it as the person who will use it',
  async () => {
    const { code, err } = await outcomeOf(['desktop'], { env: { HOME: '/nonexistent' } });
    assert.equal(code, 2);
    assert.match(err, /^svc desktop: this is root\. Start it as the person who will use it/);
  },
  !isRoot && 'only root can show what root is told',
);

applicationTest('without a display it ends, and says what to do', async () => {
  await using desktop = await openDesktop();
  const run = desktop.run(['desktop'], { DISPLAY: undefined });
  assert.deepEqual(await run.ended, { code: 1, signal: null });
  assert.match(run.err(), /^svc desktop: There is no display here.*svc serve/);
  const gone = desktop.run(['desktop'], { DISPLAY: ':1047' });
  assert.deepEqual(await gone.ended, { code: 1, signal: null });
  assert.match(gone.err(), /:1047/);
  assert.equal(desktop.pidOf('core'), null);
});

type Two = { readonly shared: string; readonly desktops: readonly Desktop[] };

/** Without a session folder, both store their files in the folder for temporary files. */
async function openTwo(own: AsyncDisposableStack): Promise<Two> {
  const shared = await mkdtemp(join(tmpdir(), 'svc-shared-'));
  own.defer(() => rm(shared, { recursive: true, force: true, maxRetries: 5 }));
  await chmod(shared, 0o1777);
  const env = { WEBHOOK_SECRET: secret, XDG_RUNTIME_DIR: '', TMPDIR: shared };
  const desktops: Desktop[] = [];
  for (const account of accounts.slice(0, 2)) {
    const { document } = own.use(await openWorld());
    desktops.push(own.use(await openDesktop({ account, env, config: JSON.stringify(document) })));
  }
  return { shared, desktops };
}

applicationTest(
  'two people of one machine have one each, and reach nothing of the other',
  async () => {
    await using own = new AsyncDisposableStack();
    const { shared, desktops } = await openTwo(own);
    for (const desktop of desktops) desktop.start();
    const cores = await Promise.all(desktops.map((desktop) => desktop.comes('core')));
    assert.equal(new Set(cores).size, 2);
    for (const [index, desktop] of desktops.entries()) {
      const page = await desktop.page();
      await page.getByRole('heading', { level: 1 }).waitFor();
      const { uid } = accounts[index]!;
      const runtime = await stat(join(shared, `svc-${uid}`));
      assert.deepEqual([runtime.uid, runtime.mode & 0o777], [uid, 0o700]);
    }
  },
  accounts.length < 2 && 'it takes root to be two people',
);
