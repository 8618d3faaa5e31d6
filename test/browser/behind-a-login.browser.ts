/** The pages behind a proxy with a login of its own: its browser sends that login along. */
import { once } from 'node:events';
import { createServer, request as ask, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { browserTest } from './browser.ts';
import { operatorToken, startLiveStage, type LiveStage } from './live-stage.ts';
import { signIn } from './operator-stage.ts';

const login = { username: 'ann', password: 'a-password-of-ann' };
const basic = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;

/** Passes what has the login, and what has a bearer: svc judges that itself. */
function behindLogin(origin: string): RequestListener {
  const { hostname, port } = new URL(origin);
  return (request, response) => {
    const { authorization = '' } = request.headers;
    if (authorization !== basic && !authorization.startsWith('Bearer ')) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="svc"' }).end();
      return;
    }
    const { method, url, headers } = request;
    const onward = ask({ hostname, port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.rawHeaders).flushHeaders();
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  };
}

async function startBehindLogin(): Promise<LiveStage> {
  const stage = await startLiveStage();
  const proxy = createServer(behindLogin(stage.origin)).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    ...stage,
    origin: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      proxy.close();
      await stage[Symbol.asyncDispose]();
    },
  };
}

/**
 * Answers the browser's question for the login. Playwright's own credentials would not do: they
 * also answer for requests without any.
 */
async function logIn(page: Page, { origin }: LiveStage): Promise<void> {
  const { protocol, host } = new URL(origin);
  await page.goto(`${protocol}//${login.username}:${login.password}@${host}/healthz`);
}

browserTest(
  'the live view works behind the login of a proxy, before its own sign-in and after',
  startBehindLogin,
  async ({ site, open }) => {
    const { page } = await open();
    await logIn(page, site);
    await page.goto('/ui?view=messages');
    await page.getByText('Live', { exact: true }).waitFor();
    await site.say('one');
    await page.getByRole('row', { name: 'answered' }).waitFor();
    await signIn(page);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('row', { name: 'ada' }).waitFor();
    // The list keeps its rows still while the pointer is over one.
    await page.mouse.move(0, 0);
    await site.say('two');
    await page.getByRole('row', { name: 'answered' }).nth(1).waitFor();
  },
);

browserTest(
  'the builder works behind the login of a proxy, and the login stays',
  startBehindLogin,
  async ({ site, open }) => {
    const { page } = await open();
    await logIn(page, site);
    await page.goto('/builder');
    await page.getByLabel('Administrator token').fill(operatorToken);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('tab', { name: 'Review' }).waitFor();
    await page.goto('/ui?view=messages');
    await page.getByText('Live', { exact: true }).waitFor();
  },
);
