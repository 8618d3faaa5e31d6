/** Kills each process of the application: the others continue, and it comes back. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { suite } from 'node:test';
import { gone } from '../support/run-svc.ts';
import { sharedServing, signedIn, type Serving } from './serving.ts';
import { applicationPage, applicationTest } from './stage.ts';
import { until } from '../support/waiting.ts';

/** A new message gets an answer. */
async function answers({ world }: Serving): Promise<void> {
  const before = world.receiver.received.length;
  assert.equal(await world.say('When do you open?'), 200);
  await until('it is answered', () => world.receiver.received.length > before);
}

/** Kills the service. @returns the next one, stopped before it listens; SIGCONT continues it */
async function haltedBeforeItListens({ world, desktop }: Serving): Promise<number> {
  for (;;) {
    const next = await desktop.comes('core', desktop.kill('core'));
    process.kill(next, 'SIGSTOP');
    // The system accepts connections for a listening process even while it is stopped.
    if (!(await takesConnections(Number(new URL(world.origin).port)))) return next;
    process.kill(next, 'SIGCONT');
  }
}

function takesConnections(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: '127.0.0.1', port });
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  void promise.finally(() => socket.destroy());
  return promise;
}

suite('an application whose processes are killed', () => {
  const serving = sharedServing({ storage: { path: 'svc.db' } });

  applicationTest('the service: the window says so, and leads back by itself', async () => {
    const { world, desktop } = await serving();
    desktop.start();
    const page = await desktop.page();
    await signedIn(page, world);
    const { promise: thought, resolve: think } = Promise.withResolvers<void>();
    await world.model.script({ answer: 'It opens at nine.', after: thought });
    assert.equal(await world.say('Who answers this one?'), 200);
    await world.model.call(0);
    const others = [desktop.pidOf('shell'), desktop.pidOf('window')];
    assert.ok(!others.includes(null));
    const next = await haltedBeforeItListens(await serving());
    // The window notices the missing service after any delay.
    assert.match(await applicationPage(page), /svc is starting/);
    await desktop.logged(/"signal":"SIGKILL"[^]*"crashed"/);
    think();
    process.kill(next, 'SIGCONT');
    await signedIn(page, world);
    assert.deepEqual([desktop.pidOf('shell'), desktop.pidOf('window')], others);
    const [reply] = await world.receiver.waitFor(1);
    assert.equal(reply!.body['text'], 'It opens at nine.');
  });

  applicationTest('the window: the service goes on, and another window comes', async () => {
    const { world, desktop } = await serving();
    const others = [desktop.pidOf('shell'), desktop.pidOf('core')];
    assert.ok(!others.includes(null));
    const before = desktop.pages();
    const killed = desktop.kill('window');
    await gone(killed);
    await answers(await serving());
    await desktop.comes('window', killed);
    await signedIn(await desktop.page(before), world);
    assert.deepEqual([desktop.pidOf('shell'), desktop.pidOf('core')], others);
  });

  applicationTest('the shell: service and window go on, and the next one finds them', async () => {
    const { world, desktop } = await serving();
    const page = await desktop.page();
    const others = [desktop.pidOf('window'), desktop.pidOf('core')];
    assert.ok(!others.includes(null));
    const killed = desktop.kill('shell');
    await gone(killed);
    await answers(await serving());
    await page.getByRole('link', { name: 'Messages', exact: true }).press('Enter');
    await page
      .getByRole('row', { name: /webhook/ })
      .first()
      .waitFor();
    const before = desktop.pages();
    const next = desktop.start();
    await signedIn(await desktop.page(before), world);
    assert.deepEqual([desktop.pidOf('window'), desktop.pidOf('core')], others);
    await answers(await serving());
    process.kill(desktop.pidOf('shell')!, 'SIGTERM');
    assert.deepEqual(await next.ended, { code: 0, signal: null });
    await desktop.ends();
  });
});
