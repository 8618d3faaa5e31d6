/** The whole `svc desktop`: the shell, its service, and the addresses for the browser. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStage, writeOwn } from './shell-stage.ts';
import { gone } from '../support/run-svc.ts';
import { until } from '../support/waiting.ts';
import { noPerson } from './account.ts';

const skip = noPerson;

/** The target of an address, without opening it. */
async function leadsTo(address: string): Promise<URL> {
  const answer = await fetch(address, { redirect: 'manual' });
  assert.equal(answer.status, 303, await answer.text());
  return new URL(answer.headers.get('location') ?? '', address);
}

/** Sends the code of the page's fragment, as its script does. */
function bring(page: URL): Promise<Response> {
  const { origin, hash } = page;
  return fetch(`${origin}/api/v1/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ code: hash.slice(1) }),
  });
}

test(
  'it shows the pages of its service, and a second start shows them again',
  { skip },
  async () => {
    await using stage = await openStage();
    const first = stage.start();
    const page = await leadsTo(await stage.opened());
    assert.equal(page.pathname, '/ui');
    const brought = await bring(page);
    assert.equal(brought.status, 200);
    const { page: own } = (await brought.json()) as { page: string };
    assert.match(await (await fetch(own)).text(), /<title>/);
    const second = stage.start([]);
    assert.deepEqual(await second.ended, { code: 0, signal: null }, second.err());
    assert.equal((await leadsTo(await stage.opened())).pathname, '/ui');
    const other = stage.start(['--config', join(stage.folder, 'other.json')]);
    assert.equal((await other.ended).code, 1);
    assert.match(other.err(), new RegExp(`it runs already, with ${RegExp.escape(stage.config)}`));
    const core = await stage.core();
    first.child.kill('SIGTERM');
    assert.deepEqual(await first.ended, { code: 0, signal: null }, first.err());
    await gone(core);
    assert.equal(existsSync(stage.socket), false);
    assert.match(await readFile(stage.log, 'utf8'), /core_ended/);
  },
);

test('the session starts it with the file that it runs with', { skip }, async () => {
  await using stage = await openStage();
  // The file is relative to this working directory, and the session starts in another.
  stage.start([]);
  const brought = await bring(await leadsTo(await stage.opened()));
  const { page } = (await brought.json()) as { page: string };
  const { origin } = new URL(page);
  const body = new URLSearchParams({ on: 'yes' });
  const set = await fetch(`${page}autostart`, { method: 'POST', headers: { origin }, body });
  assert.equal(set.status, 200, await set.text());
  const file = join(stage.folder, 'home', '.config', 'autostart', 'svc.desktop');
  const entry = await readFile(file, 'utf8');
  const words = ` desktop --config ${stage.config} --window browser --hidden`;
  assert.ok(entry.includes(words), entry);
});

test('an address that is used twice signs everybody out, also of the page', { skip }, async () => {
  await using stage = await openStage();
  const document: unknown = JSON.parse(await readFile(stage.config, 'utf8'));
  const admin = { token_env: 'ADMIN_TOKEN' };
  await writeOwn(stage.config, JSON.stringify({ ...Object(document), admin }));
  stage.start();
  const address = await stage.opened();
  const thief = await signIn(await leadsTo(address));
  assert.deepEqual(await open(thief), { config: 200, page: 200, pages: 303 });
  assert.equal((await fetch(address, { redirect: 'manual' })).status, 403);
  await until('the thief is signed out', async () => (await open(thief)).config === 401);
  assert.deepEqual(await open(thief), { config: 401, page: 404, pages: 404 });
  await stage.start([]).ended;
  // A code of the core itself gives the same access.
  const led = await leadsTo(await stage.opened());
  const other = await signIn(led);
  assert.deepEqual(await open(other), { config: 200, page: 200, pages: 303 });
  assert.equal((await bring(led)).status, 403);
  await until('the page is elsewhere', async () => (await open(other)).page === 404);
  assert.deepEqual(await open(other), { config: 401, page: 404, pages: 404 });
});

type SignedIn = { readonly origin: string; readonly token: string; readonly page: string };

async function signIn(page: URL): Promise<SignedIn> {
  const brought = await bring(page);
  assert.equal(brought.status, 200);
  const { token, page: own } = (await brought.json()) as Omit<SignedIn, 'origin'>;
  return { origin: page.origin, token, page: own };
}

/** The access of a person who signed in. */
async function open({ origin, token, page }: SignedIn) {
  const headers = { authorization: `Bearer ${token}` };
  const config = await fetch(`${origin}/api/v1/config`, { headers });
  const own = await fetch(page);
  const pressed = await fetch(new URL('pages', page), {
    method: 'POST',
    headers: {
      origin: new URL(page).origin,
      'content-type': 'application/x-www-form-urlencoded',
    },
    redirect: 'manual',
  });
  return { config: config.status, page: own.status, pages: pressed.status };
}

test('a service that is killed is back, at the same address', { skip }, async () => {
  await using stage = await openStage();
  const shell = stage.start();
  const before = await leadsTo(await stage.opened());
  const core = await stage.core();
  process.kill(core, 'SIGKILL');
  assert.ok((await stage.core(core)) > 0);
  await stage.start([]).ended;
  const after = await leadsTo(await stage.opened());
  assert.equal(after.origin, before.origin);
  shell.child.kill('SIGINT');
  assert.equal((await shell.ended).code, 0);
});

test('a shell that is killed leaves the service, and the next one finds it', { skip }, async () => {
  await using stage = await openStage();
  const shell = stage.start();
  const { origin } = await leadsTo(await stage.opened());
  const core = await stage.core();
  shell.child.kill('SIGKILL');
  await shell.ended;
  assert.equal((await fetch(`${origin}/healthz`)).status, 200);
  const next = stage.start([]);
  assert.equal((await leadsTo(await stage.opened())).origin, origin);
  assert.equal(await stage.core(), core);
  next.child.kill('SIGTERM');
  assert.equal((await next.ended).code, 0);
  await gone(core);
});

test('a broken configuration is a page, and with a good one it goes on', { skip }, async () => {
  await using stage = await openStage();
  const good = await readFile(stage.config, 'utf8');
  await writeOwn(stage.config, '{"channels": }');
  stage.start();
  const page = await leadsTo(await stage.opened());
  assert.match(page.pathname, /^\/app\/[\w-]{22}\/$/);
  const text = await (await fetch(page)).text();
  assert.match(text, /a value belongs here/);
  await writeOwn(stage.config, good);
  const pressed = await fetch(new URL('restart', page), {
    method: 'POST',
    headers: { origin: page.origin, 'content-type': 'application/x-www-form-urlencoded' },
    redirect: 'manual',
  });
  assert.equal(pressed.status, 303, await pressed.text());
  await stage.start([]).ended;
  assert.equal((await leadsTo(await stage.opened())).pathname, '/ui');
});

test('without a configuration the first run is shown', { skip }, async () => {
  await using stage = await openStage();
  const shell = stage.start([], { SVC_CONFIG: join(stage.folder, 'home', 'new.json') });
  assert.equal((await leadsTo(await stage.opened())).pathname, '/setup');
  shell.child.kill('SIGTERM');
  assert.equal((await shell.ended).code, 0);
});

test('it ends in order when the display is gone', { skip }, async () => {
  await using stage = await openStage();
  const shell = stage.start();
  await leadsTo(await stage.opened());
  const core = await stage.core();
  stage.endSession();
  assert.equal((await shell.ended).code, 0);
  await gone(core);
  assert.match(await readFile(stage.log, 'utf8'), /session_over/);
});

test('without a display it says so, and leaves nothing behind', { skip }, async () => {
  await using stage = await openStage();
  const shell = stage.start([], { DISPLAY: '' });
  assert.equal((await shell.ended).code, 1);
  assert.match(shell.err(), /There is no display here/);
  assert.equal(existsSync(stage.socket), false);
});

test('two starts at once, over what a killed one left, are one application', { skip }, async () => {
  await using stage = await openStage();
  const killed = stage.start();
  await stage.opened();
  killed.child.kill('SIGKILL');
  await killed.ended;
  assert.equal(existsSync(stage.socket), true);
  const starts = [stage.start([]), stage.start([]), stage.start([])];
  const over = new Set<number>();
  for (const [index, { ended }] of starts.entries()) void ended.then(() => over.add(index));
  await until('two of them have ended', () => over.size === 2);
  const last = starts.find((_start, index) => !over.has(index));
  last?.child.kill('SIGTERM');
  assert.deepEqual(
    await Promise.all(starts.map(async ({ ended }) => (await ended).code)),
    [0, 0, 0],
  );
});

const isRoot = process.getuid?.() === 0;
const notRoot = isRoot ? false : 'SKIPPED: only root can start it as root.';

test('root is told to start it as a person', { skip: notRoot }, async () => {
  const { outcomeOf } = await import('../support/run-svc.ts');
  const { code, err } = await outcomeOf(['desktop']);
  assert.equal(code, 2);
  assert.match(err, /this is root/);
});
