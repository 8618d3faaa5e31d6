/** Signing in to the application, and access to the shell's page. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { codeMs } from '../../src/admin/http/sign-in.ts';
import { openPageStage, until } from '../fake/page-stage.ts';

const serving = { at: 'serving', origin: 'http://127.0.0.1:2112', canWrite: true } as const;
const pages = 'http://127.0.0.1:2112/ui#code';

test('a link leads to the pages of the core, once', async () => {
  await using stage = await openPageStage();
  const { server, ask, application } = stage;
  application.pagesAt = pages;
  application.state = serving;
  const link = server.offer();
  assert.match(link, /^http:\/\/127\.0\.0\.1:\d+\/open\/[\w-]{22}$/);
  const first = await ask(link);
  assert.equal(first.status, 303);
  assert.equal(first.headers.location, pages);
  assert.equal(first.headers['cache-control'], 'no-store');
  assert.equal(stage.usedTwice(), 0);
  const second = await ask(link);
  assert.equal(second.status, 403);
  assert.match(second.text, /used before/);
  assert.equal(second.headers.location, undefined);
  assert.ok(!second.text.includes(server.page.split('/')[4]!), 'the key is told to nobody');
  assert.equal(stage.usedTwice(), 1);
});

test('a link waits for a core that starts, and leads to the page where none serves', async () => {
  await using stage = await openPageStage();
  const { server, ask, application } = stage;
  const start = Promise.withResolvers<void>();
  application.held = start.promise;
  const waiting = ask(server.offer());
  await until(() => application.asked.length === 1);
  application.pagesAt = pages;
  start.resolve();
  assert.equal((await waiting).headers.location, pages);
  application.pagesAt = null;
  application.held = null;
  const led = await ask(server.offer());
  assert.equal(new URL(led.headers.location!, server.origin).href, server.page);
  assert.equal((await stage.follow(led)).status, 200);
});

test('a second use while the first waits leads nobody in', async () => {
  await using stage = await openPageStage();
  const { server, ask, application } = stage;
  application.held = Promise.withResolvers<void>().promise;
  application.pagesAt = pages;
  const link = server.offer();
  const first = ask(link);
  await until(() => application.asked.length === 1);
  assert.equal((await ask(link)).status, 403);
  const told = await first;
  assert.equal(told.status, 403);
  assert.match(told.text, /used before/);
  assert.equal(stage.usedTwice(), 1);
});

test('after a second use the page is elsewhere, also for who was led there or waits', async () => {
  await using stage = await openPageStage();
  const { server, ask, press, application, follow } = stage;
  const link = server.offer();
  application.state = { at: 'needs_you', why: { of: 'in_use', message: 'It is.' } };
  const led = await ask(link);
  assert.equal((await follow(led)).status, 200);
  application.state = { at: 'starting' };
  const before = server.page;
  const waiting = ask(`${before}wait`);
  await until(() => application.waiting > 1);
  application.held = Promise.withResolvers<void>().promise;
  application.pagesAt = pages;
  const pressed = press(`${before}pages`);
  await until(() => application.asked.length > 1);
  assert.equal((await ask(link)).status, 403);
  for (const late of [waiting, pressed]) {
    assert.deepEqual([(await late).status, (await late).headers.location], [404, undefined]);
  }
  assert.equal((await follow(led)).status, 404);
  assert.notEqual(server.page, before);
  assert.equal((await ask(server.page)).status, 200);
});

test('a link that is too old, replaced, or none leads nowhere, and withdraws nothing', async () => {
  await using stage = await openPageStage();
  const { server, ask, application, clock } = stage;
  application.pagesAt = pages;
  const [replaced, late] = [server.offer(), server.offer()];
  assert.match((await ask(replaced)).text, /too old/);
  clock.steadyMs += codeMs + 1;
  assert.match((await ask(late)).text, /too old/);
  assert.match((await ask('/open/AAAAAAAAAAAAAAAAAAAAAA')).text, /leads nowhere/);
  assert.equal((await ask('/open/')).status, 403);
  assert.equal(stage.usedTwice(), 0);
  assert.deepEqual(application.asked, []);
});

test('what a browser loads ahead, or asks the head of, uses no code', async () => {
  await using stage = await openPageStage();
  const { server, ask, application } = stage;
  application.pagesAt = pages;
  const link = server.offer();
  for (const headers of [{ 'sec-purpose': 'prefetch;prerender' }, { purpose: 'prefetch' }]) {
    assert.equal((await ask(link, { headers })).status, 503);
  }
  assert.equal((await ask(link, { method: 'HEAD' })).status, 404);
  assert.equal((await ask(link, { method: 'POST' })).status, 404);
  assert.equal((await ask(link)).status, 303);
});

test('without the key of now there is nothing', async () => {
  await using stage = await openPageStage();
  await using other = await openPageStage();
  const { ask, press, server } = stage;
  const key = other.server.page.split('/')[4]!;
  assert.match(key, /^[\w-]{22}$/);
  for (const path of ['/', '/app/', `/app/${key}/`, `/app/${key}`, '/app//', '/favicon.ico']) {
    const { status, text } = await ask(path);
    assert.equal(status, 404, path);
    assert.match(text, /Start svc as you did before/);
  }
  assert.equal((await press(`/app/${key}/quit`)).status, 404);
  assert.equal((await ask(`${server.page}nowhere`)).status, 404);
  assert.equal((await ask(`${server.page}log/more`)).status, 404);
  assert.equal((await ask(server.page)).status, 200);
  assert.deepEqual(stage.application.asked, []);
});

test('a target that is no path of a URL leads nowhere, and is no fault', async () => {
  await using stage = await openPageStage();
  for (const path of ['//', '//[/x', '/\\\\', '//a:b/']) {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const asked = request(stage.origin, { path }, (response) => {
      resolve(response.resume().statusCode);
    });
    asked.on('error', reject).end();
    assert.equal(await promise, 404, path);
  }
});

test('another host name is refused everywhere, and so is who takes it for a proxy', async () => {
  await using stage = await openPageStage();
  const { ask, press, server, application } = stage;
  application.pagesAt = pages;
  const link = server.offer();
  for (const host of ['svc.example', 'localhost', '127.0.0.1', '127.0.0.1:1']) {
    for (const path of [server.page, link, '/']) {
      assert.equal((await ask(path, { headers: { host } })).status, 421, `${host} ${path}`);
    }
    assert.equal((await press('quit', {}, { host })).status, 421);
  }
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const { hostname, port } = new URL(server.origin);
  const path = 'http://elsewhere.example/';
  const asked = request({ hostname, port, path, headers: { host: 'elsewhere.example' } });
  asked.on('response', (response) => resolve(response.resume().statusCode ?? 0));
  asked.on('error', reject).end();
  assert.equal(await promise, 421);
  assert.equal((await ask(link)).status, 303, 'the link was not used up');
  assert.deepEqual(application.asked, ['pages']);
});

test('a page from elsewhere presses no button', async () => {
  await using stage = await openPageStage();
  const { press, ask, application, origin } = stage;
  const foreign = [
    { origin: 'http://elsewhere.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:2112' },
    { 'sec-fetch-site': 'cross-site' },
    { 'content-type': 'text/plain' },
    { 'content-type': 'multipart/form-data; boundary=x' },
  ];
  for (const headers of foreign) {
    const { status } = await press('restart', {}, headers);
    assert.ok(status === 403 || status === 415, String(status));
  }
  assert.equal((await ask('restart', { headers: { origin } })).headers.location, './');
  assert.deepEqual(application.asked, []);
  assert.equal((await press('restart', {}, { 'sec-fetch-site': 'same-origin' })).status, 303);
  assert.deepEqual(application.asked, ['restart']);
});

test('every answer forbids scripts and framing, and far too much is not read', async () => {
  await using stage = await openPageStage();
  const { ask, press, server } = stage;
  const replies = [
    await ask(server.page),
    await ask('/nowhere'),
    await ask('/open/x'),
    await press('open-folder'),
    await press('configuration', { text: 'x'.repeat(4 * 1_048_576), revision: '' }),
  ];
  for (const { headers, text } of replies) {
    const policy = String(headers['content-security-policy']);
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /script-src|unsafe/);
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['referrer-policy'], 'same-origin');
    assert.doesNotMatch(text, /<script/);
  }
  assert.equal(replies.at(-1)!.status, 413);
});

test('a page that waits is led on when the service is there, or shown the next state', async () => {
  await using stage = await openPageStage();
  const { ask, application } = stage;
  const shown = await ask('./');
  assert.match(shown.text, /http-equiv="refresh" content="0; url=wait"/);
  const waiting = ask('wait');
  await until(() => application.waiting > 1);
  application.state = { at: 'crashed', how: 'It ended.', lastLines: [], nextTryAt: Date.now() };
  assert.equal((await waiting).headers.location, './?waited');
  const next = ask('wait');
  await until(() => application.waiting > 1);
  application.pagesAt = pages;
  application.state = serving;
  assert.equal((await next).headers.location, pages);
  assert.doesNotMatch((await ask('./')).text, /http-equiv="refresh"/);
});

test('who waited is led on by a service that came before they asked again', async () => {
  await using stage = await openPageStage();
  const { ask, application } = stage;
  const waiting = ask('wait');
  await until(() => application.waiting > 1);
  application.state = { at: 'starting' };
  const { location = '' } = (await waiting).headers;
  application.pagesAt = pages;
  application.state = serving;
  assert.equal((await ask(location)).headers.location, pages);
  assert.equal((await ask('./')).status, 200, 'who asks for it by itself sees it');
});

test('who waits while the shell ends is told that it does', async () => {
  const stage = await openPageStage();
  const { ask, application } = stage;
  const waiting = ask('wait');
  await until(() => application.waiting > 1);
  await stage[Symbol.asyncDispose]();
  assert.match((await waiting).text, /You can close this window/);
});
