import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shellPage } from '../../../test/fake/shell.ts';
import { startFakeOllama } from '../../../test/fake/ollama.ts';
import { post, startFirstRun, type FirstRunStage } from '../../../test/desktop/first-run-stage.ts';

const model = { answer: 'Hello from the model.' };

/** Answers the questions up to the page that shows the first reply. */
async function walk(stage: FirstRunStage, keep: 'keychain' | 'by_hand') {
  const page = await stage.enter();
  await page.takes('model:0');
  await page.takes('next');
  await page.takes('webhook');
  await page.takes(keep);
  await page.takes('start');
  await page.sees(/^The answer:$/);
  return page;
}

async function isOpen(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/`).then(
    () => true,
    () => false,
  );
}

test('it says who it is, and its pages take a code or what a window is granted', async () => {
  await using runtime = await startFakeOllama(model);
  await using stage = await startFirstRun(runtime.url);
  const { shell, origin } = stage;
  assert.partialDeepStrictEqual(shell.heard, [
    { kind: 'core', role: 'first_run', pid: process.pid },
    { kind: 'at_work', origin, canWrite: true },
  ]);
  const link = await shell.offer();
  assert.equal(link.origin + link.pathname, `${origin}/setup`);
  assert.match(link.hash, /^#[\w-]{22}$/);
  const page = await stage.enter();
  assert.equal(page.page, shellPage);
  assert.partialDeepStrictEqual(await page.state(), { frontend: 'window', goesOn: false });
  const signIn = new URL('/api/v1/sign-in', origin);
  const late = await post(signIn, { code: link.hash.slice(1) });
  assert.equal(late.status, 403, 'a newer one was offered since');
  const granted = await shell.grant();
  const asWindow = { headers: { authorization: `Bearer ${granted}` } };
  assert.equal((await fetch(`${origin}/api/v1/setup`, asWindow)).status, 200);
  shell.say({ kind: 'withdraw' });
  // The core handles messages in order: it reads `withdraw` before the next question.
  await shell.offer();
  assert.equal((await fetch(`${origin}/api/v1/setup`, asWindow)).status, 401);
  const code = { code: (await shell.offer()).hash.slice(1) };
  assert.deepEqual(
    [(await post(signIn, code)).status, (await post(signIn, code)).status],
    [200, 403],
  );
  await shell.next('withdrawn');
});

test('a page that has lost its token asks for a window, once in a while', async () => {
  await using runtime = await startFakeOllama(model);
  await using stage = await startFirstRun(runtime.url);
  const ask = new URL('/api/v1/sign-in/ask', stage.origin);
  await stage.shell.offer();
  assert.equal((await post(ask, {})).status, 204);
  await stage.shell.next('show_wanted');
  const again = await post(ask, {});
  assert.equal(again.status, 429);
  assert.match(again.headers.get('retry-after') ?? '', /^[1-5]$/);
});

test('from the first question to the service of the application', async () => {
  await using runtime = await startFakeOllama(model);
  await using stage = await startFirstRun(runtime.url);
  const { shell, ports } = stage;
  const page = await walk(stage, 'keychain');
  assert.deepEqual([...stage.kept().keys()].toSorted(), ['ADMIN_TOKEN', 'WEBHOOK_SECRET']);
  assert.ok(stage.file()?.includes('"token_env": "ADMIN_TOKEN"'));
  for (const value of stage.kept().values()) assert.ok(!stage.file()?.includes(value));
  assert.ok(await isOpen(ports.webhook), 'its service runs');
  assert.ok(!shell.heard.some(({ kind }) => kind === 'written'));
  const last = await page.takes('done');
  assert.partialDeepStrictEqual(last, { goesOn: true, page: { step: 'last', choices: [] } });
  await shell.next('written');
  assert.ok(await isOpen(ports.webhook), 'until the shell ends it');
  shell.say({ kind: 'stop' });
  assert.deepEqual(await stage.ended, { kind: 'ended' });
  assert.deepEqual([await isOpen(ports.webhook), await isOpen(ports.admin)], [false, false]);
});

test('a shell that comes later is told the same', async () => {
  await using runtime = await startFakeOllama(model);
  await using stage = await startFirstRun(runtime.url);
  const page = await walk(stage, 'keychain');
  await page.takes('done');
  await stage.shell.next('written');
  const before = stage.shell.heard.length;
  await stage.shell.gone();
  await stage.shell.back();
  await stage.shell.next('written');
  const said = stage.shell.heard.slice(before);
  assert.deepEqual(
    said.map(({ kind }) => kind),
    ['core', 'at_work', 'written'],
  );
});

test('without a keychain its own service answers, until the person has it begun anew', async () => {
  await using runtime = await startFakeOllama(model);
  await using stage = await startFirstRun(runtime.url, 'no_provider');
  const page = await walk(stage, 'by_hand');
  const held = await page.takes('done');
  const said = held.page.lines.map(({ text }) => text).join('\n');
  assert.match(said, /WEBHOOK_SECRET: kept nowhere\. svc asks for it the next time\./);
  assert.match(said, /No keychain is there for this user/);
  assert.equal(held.goesOn, false);
  assert.equal(stage.kept().size, 0);
  assert.ok(await isOpen(stage.ports.webhook));
  assert.ok(!stage.shell.heard.some(({ kind }) => kind === 'written'));
  assert.equal((await page.takes('go_on')).goesOn, true);
  await stage.shell.next('written');
});

test('a locked keychain is unlocked for what is to be kept, where the window says so', async () => {
  await using runtime = await startFakeOllama(model);
  await using stage = await startFirstRun(runtime.url, 'locked');
  const page = await stage.enter();
  for (const choice of ['model:0', 'next', 'webhook', 'keychain', 'start']) {
    await page.takes(choice);
  }
  await page.sees(/It is locked\. Mend locked\./);
  assert.equal(stage.file(), null);
  stage.keychain.now = 'ready';
  await page.takes('start');
  await page.sees(/^The answer:$/);
  assert.ok(stage.kept().has('WEBHOOK_SECRET'));
});

test('what is told to stop on the way ends, and writes nothing', async () => {
  await using runtime = await startFakeOllama(model);
  await using stage = await startFirstRun(runtime.url);
  const page = await stage.enter();
  await page.takes('model:0');
  stage.stop();
  assert.deepEqual(await stage.ended, { kind: 'ended' });
  assert.equal(stage.file(), null);
});
