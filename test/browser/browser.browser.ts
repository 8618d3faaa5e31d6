/** The checks of `View`, against pages that misbehave. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { securityHeaders } from '../../src/admin/http/answer.ts';
import { browserTest, type Site } from './browser.ts';

const good = '<!doctype html><html lang="en"><title>t</title><main><h1>A page</h1></main></html>';
const bad = '<!doctype html><title>t</title><img src="data:,"><p id="wide">x</p>';

const pale = `<!doctype html><html lang="en"><title>t</title>
  <style>@media (prefers-color-scheme: dark) { p { color: #eee } }</style>
  <main><h1>A page</h1><p>A sentence.</p></main></html>`;
const pages = new Map([
  ['/bad', bad],
  ['/pale', pale],
]);

/** Serves pages with the admin server's policy at `/strict`, and without one elsewhere. */
async function startPages(): Promise<Site> {
  const server = createServer(({ url }, response) => {
    const headers = { ...(url === '/strict' && securityHeaders), 'content-type': 'text/html' };
    response.writeHead(url === '/401' ? 401 : 200, headers).end(pages.get(url!) ?? good);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

browserTest('a breach of the policy, a throw and a way out are faults', startPages, async (s) => {
  const view = await s.open();
  await view.page.goto('/strict');
  await view.page.evaluate(`{
    const script = document.createElement('script');
    try { script.text = 'globalThis.ran = true'; } catch {}
    document.head.append(script);
    new Image().src = 'http://elsewhere.example/';
    fetch('http://127.0.0.1:9/').catch(() => {});
    setTimeout(() => { throw new Error('of the page'); });
  }`);
  await view.faulted(/policy: require-trusted-types-for/);
  await view.faulted(/policy: img-src http:\/\/elsewhere\.example/);
  await view.faulted(/policy: connect-src http:\/\/127\.0\.0\.1:9/);
  await view.faulted(/thrown: Error: of the page/);
  assert.throws(() => view.assertClean(), /what no page may/);
  view.expectFault(/./);
});

browserTest('what leaves its origin is a fault where no policy holds it', startPages, async (s) => {
  const view = await s.open();
  await view.page.goto('/');
  await view.page.evaluate(`{
    new Image().src = 'http://elsewhere.example/';
    try { new WebSocket('ws://elsewhere.example/'); } catch {}
  }`);
  await view.faulted(/left its origin: http:\/\/elsewhere\.example\//);
  await view.faulted(/left its origin: ws:\/\/elsewhere\.example\//);
  view.expectFault(/elsewhere/);
  view.expectFault(/ERR_NAME_NOT_RESOLVED/);
});

browserTest('an expected fault has to come', startPages, async ({ open }) => {
  const view = await open();
  view.expectFault(/status of 401/);
  await view.page.goto('/');
  assert.throws(() => view.assertClean(), /401\/ was expected/);
  await view.page.goto('/401');
  await view.faulted(/status of 401/);
});

browserTest('what axe finds, and what is too wide, fails', startPages, async ({ open }) => {
  const view = await open({ viewport: { width: 360, height: 600 } });
  await view.page.goto('/');
  await view.assertAccessible();
  await view.assertFits();
  await view.page.goto('/bad');
  await assert.rejects(view.assertAccessible(), /image-alt .*: img/);
  await view.assertAccessible('#wide');
  await view.page.evaluate(`document.getElementById('wide').style.width = '400px'`);
  await assert.rejects(view.assertFits(), /wide in a window of 360/);
});

browserTest('letters that are pale in the dark fail, each time', startPages, async ({ open }) => {
  const view = await open();
  await view.page.goto('/');
  await view.assertAccessible();
  await view.page.goto('/pale');
  for (const _ of ['once', 'again']) {
    await assert.rejects(view.assertAccessible(), /in dark[^]*color-contrast .*: p Element has/);
  }
  await view.page.evaluate(`document.querySelector('p').style.color = 'black'`);
  await view.assertAccessible();
  await view.page.evaluate(`document.querySelector('main').style.background = '#333'`);
  await assert.rejects(view.assertAccessible(), /in light[^]*color-contrast/);
});
